/** The page of sizes has the figures that the benchmarks measured. */

import { readFileSync } from 'node:fs';
import { runCommand } from '../../support/processes/command';

const SCRIPT = `
import { readFileSync } from 'node:fs';
import { withFigures } from './scripts/generate/sizing.mjs';
const [page, results] = ['docs/sizing.md', 'bench/results.md'].map((file) => readFileSync(file, 'utf8'));
process.stdout.write(withFigures(page, results));
`;

test('the figures of docs/sizing.md are those of the benchmarks, and its example is computed from them', async () => {
  const { stdout, stderr } = await runCommand(process.execPath, ['--input-type=module', '-e', SCRIPT]);
  expect(stderr).toBe('');
  if (stdout !== readFileSync('docs/sizing.md', 'utf8'))
    throw new Error('docs/sizing.md is out of date; run node scripts/generate/sizing.mjs');
});
