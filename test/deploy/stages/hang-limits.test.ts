/** No test or hook has a limit that is shorter than that of config/jest-preset.cjs. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { hangLimitMs } from '../../support/clock/hang-limit';
import { slowness } from '../../support/clock/slowness';
import { runCommand } from '../../support/processes/command';

const SLOW_TESTS = `
  const slow = () => new Promise((resolve) => setTimeout(resolve, 100));
  beforeAll(slow, 1);
  afterEach(slow, 1);
  test('alone', slow, 1);
  it('under its other name', slow, 1);
  test.each([1, 2])('of a table %i', slow, 1);
  test.only('the only one', slow, 1);
`;

test('a test that takes longer than the limit that it names passes', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-hang-limits-'));
  try {
    writeFileSync(path.join(folder, 'all.test.ts'), SLOW_TESTS.replace('test.only', 'test'));
    writeFileSync(path.join(folder, 'only.test.ts'), SLOW_TESTS);
    const jest = ['node_modules/jest/bin/jest.js', '--runInBand', '--json', '--roots', folder];
    const { exitCode, stdout, stderr } = await runCommand(process.execPath, jest);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(stdout)).toMatchObject({ numPassedTests: 6, numPendingTests: 4, numFailedTests: 0 });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a limit against hangs is ten times that of a quiet machine, up to twelve minutes, and never shorter than it was', () => {
  expect([100, 20_000, 240_000, 800_000].map(hangLimitMs)).toEqual([1_000, 200_000, 720_000, 800_000]);
});

test('a machine is never faster than its processor time', () => {
  expect(slowness()).toBeGreaterThanOrEqual(1);
});
