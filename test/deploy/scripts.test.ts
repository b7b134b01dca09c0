/** Each stage has its npm script, and CI calls `npm test` and nothing else. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { hangLimitMs } from '../support/clock/hang-limit';

const ROOT = resolve(__dirname, '..', '..');
const stages = execFileSync(process.execPath, [resolve(ROOT, 'scripts', 'test.mjs'), '--list'], {
  encoding: 'utf8',
  timeout: hangLimitMs(10_000),
})
  .trim()
  .split('\n');

/** What `npm test` runs in its short form, and its own script in the long one. */
const HAVE_LONG_FORM = ['faults'];
/** The long form of all stages. */
const ALL_LONG = ['test:long', 'exec node scripts/test.mjs --long'];

// `exec`: npm signals the shell that it starts, and a shell that waited would die of that alone and leave its child behind.
test('every stage has its npm script, and no other script is named like one', () => {
  const { scripts } = JSON.parse(readFileSync(resolve(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  const named = Object.entries(scripts).filter(([name]) => name.startsWith('test:'));
  const long = (stage: string) => (HAVE_LONG_FORM.includes(stage) ? ' --long' : '');
  expect(named).toEqual([ALL_LONG, ...stages.map((stage) => [`test:${stage}`, `exec node scripts/test.mjs ${stage}${long(stage)}`])]);
});

test('.ci/run calls npm test and nothing else', () => {
  const lines = readFileSync(resolve(ROOT, '.ci', 'run'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(lines).toEqual(['set -euo pipefail', 'cd "$(dirname "${BASH_SOURCE[0]}")/.."', 'exec npm test']);
});
