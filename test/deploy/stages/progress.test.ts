/** `npm test` shows how far each of its stages is. */

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

test('progress lines have the name, the files and the time; stages without jest have the time alone', async () => {
  const script = `
    import { reportProgress } from './scripts/test/progress.mjs';
    const stop = ['unit', 'lint'].map((name) => reportProgress({ name, file: name === 'unit' ? ${JSON.stringify(file)} : '/nowhere', everyMs: 5, print: (line) => { console.log(line); } }));
    setTimeout(() => stop.forEach((each) => each()), 200);`;
  const { exitCode, stdout } = await runCommand(process.execPath, ['--input-type=module', '-e', script]);
  expect(exitCode).toBe(0);
  const lines = new Set(stdout.trim().split('\n'));
  expect(lines).toEqual(new Set(['... unit: 1 of 1 files, 0:00', '... lint: 0:00']));
});
