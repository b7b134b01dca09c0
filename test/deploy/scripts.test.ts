/** The scripts of package.json are few, and CI runs `npm test` and then the rest of the tests. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const ROOT = resolve(__dirname, '..', '..');
const SCRIPTS_MAX = 16;

test('package.json has at most 16 scripts, each of which replaces the shell that npm starts', () => {
  const { scripts } = JSON.parse(readFileSync(resolve(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  expect(Object.keys(scripts).length).toBeLessThanOrEqual(SCRIPTS_MAX);
  // npm signals the shell. A shell that waited would die of that alone and leave its child behind.
  for (const command of Object.values(scripts)) expect(command).toMatch(/^exec node scripts\/[a-z]+\.mjs(?: --[a-z-]+)*$/);
});

test('.ci/run calls npm test, then npm run test:all, and nothing else', () => {
  const lines = readFileSync(resolve(ROOT, '.ci', 'run'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(lines).toEqual(['set -euo pipefail', 'cd "$(dirname "${BASH_SOURCE[0]}")/.."', 'npm test', 'npm run test:all']);
});
