/** `npm test` shows in one line what runs and what remains. */

import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand } from '../../support/processes/command';

const file = path.join(mkdtempSync(path.join(tmpdir(), 'weir-progress-')), 'unit.progress');

test('jest writes the number of finished files', async () => {
  const jest = [
    'node_modules/jest/bin/jest.js',
    'test/unit/lib/backoff.test.ts',
    '--roots',
    '<rootDir>/test/unit',
    '--runInBand',
    '--reporters=<rootDir>/scripts/test/progress-reporter.cjs',
  ];
  expect(await runCommand(process.execPath, jest, { env: { WEIR_PROGRESS_FILE: file } })).toMatchObject({ exitCode: 0 });
  expect(readFileSync(file, 'utf8')).toBe('1 of 1 files');
});

test('a line has the time, the stages that are done, those that run with their files, and those that remain', async () => {
  const running = JSON.stringify([
    { name: 'unit', file },
    { name: 'lint', file: '/nowhere' },
  ]);
  const script = `
    import { showProgress } from './scripts/test/progress.mjs';
    const stop = showProgress({ read: () => ({ done: 1, running: ${running}, waiting: ['docs'] }), isTerminal: false, everyMs: 5 });
    setTimeout(stop, 200);`;
  const { exitCode, stdout } = await runCommand(process.execPath, ['--input-type=module', '-e', script]);
  expect(exitCode).toBe(0);
  const lines = new Set(stdout.trim().split('\n'));
  expect(lines).toEqual(new Set(['0:00  1 of 4 stages done; running: unit 1 of 1 files, lint; then: docs']));
});

test('a terminal has one line, which changes', async () => {
  const script = `
    import { showProgress } from './scripts/test/progress.mjs';
    const stop = showProgress({ read: () => ({ done: 1, running: [], waiting: ['docs'] }), isTerminal: true, everyMs: 5 });
    setTimeout(stop, 200);`;
  const { stdout } = await runCommand(process.execPath, ['--input-type=module', '-e', script]);
  expect(stdout).not.toContain('\n');
  expect(stdout.split('\r\x1b[K').length).toBeGreaterThan(2);
});
