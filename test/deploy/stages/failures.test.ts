/** `npm test` prints each failure once, in at most a hundred lines, and says how busy the machine was. */

import { runCommand } from '../../support/processes/command';
import { ExampleStage } from '../../support/stages/example-stage';

/** "At most about a hundred lines", with the line of the file and those around. */
const LINES_MAX = 110;

let stage: ExampleStage;

beforeEach(() => {
  stage = new ExampleStage();
});

afterEach(() => {
  stage.remove();
});

test('a diff of two Buffers prints a hundred lines once, and the file has all of it', async () => {
  stage.write('buffers', "test('equal', () => { expect(Buffer.alloc(20_000, 1)).toEqual(Buffer.alloc(20_000, 2)); });");
  const { output } = await stage.run();
  expect(output.split('\n').length).toBeLessThan(LINES_MAX);
  expect(output.match(/expect\(received\)/g)).toHaveLength(1);
  expect(output).toMatch(/lines left out; all of it is in .*failures\.txt/);
  expect(stage.failures().split('\n').length).toBeGreaterThan(20_000);
  expect(stage.failures()).toContain('buffers.test.ts: equal');
});

test('many failures print a few lines each after the first ten', async () => {
  stage.write('many', "test.each(Array.from({ length: 40 }, (_, i) => i))('number %i', () => { throw new Error('line\\n'.repeat(90)); });");
  const { output } = await stage.run();
  expect(output.split('\n').length).toBeLessThan(10 * LINES_MAX + 30 * 14);
  expect(output).toContain('number 39');
});

test('a line for each file says whether it passed, with what its tests logged and without the stack of that', async () => {
  stage.write('fine', "test('fine', () => { console.log('seen'); });");
  const { output, result } = await stage.run();
  expect(result).toMatchObject({ passed: 1, failed: 0 });
  expect(output).toMatch(/PASS .*fine\.test\.ts \(\d+\.\d s\)\nseen\n/);
  expect(output).not.toMatch(/^\s+at /m);
});

test('the summary has the longest stage first, and the load average of one that was slow or stopped', async () => {
  const script = `
    import { printSummary } from './scripts/test/result.mjs';
    const result = (name, quietS, seconds, more = {}) => ({ name, stage: { name, quietS }, passed: 1, failed: 0, skipped: 0, seconds, load: 14.24, ...more });
    printSummary([
      result('quick', 10, 11, { processorS: 12.3 }),
      result('slow', 10, 35),
      result('hangs', 2, 600, { passed: 0, failed: 1, note: 'did not end within 600 s and was stopped', stopped: true }),
    ], { seconds: 700 });`;
  const { stdout, stderr } = await runCommand(process.execPath, ['--input-type=module', '-e', script]);
  expect(stderr).toBe('');
  const lines = stdout.split('\n').filter((line) => /^(?:quick|slow|hangs)/.test(line));
  expect(lines).toEqual([
    expect.stringMatching(/^hangs .*\(did not end within 600 s and was stopped; 300\.0 times .*; load average up to 14\.2 on \d+ cores\)$/),
    expect.stringMatching(/^slow .*\(3\.5 times as long as on a quiet machine; load average up to 14\.2 on \d+ cores\)$/),
    expect.stringMatching(/^quick +11\.0 s, processor +12 s +1 passed, 0 failed$/),
  ]);
});
