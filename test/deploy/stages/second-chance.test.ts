/** A test that failed on a busy machine runs once more, alone and with the same seed. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { runCommand } from '../../support/processes/command';
import { ExampleStage } from '../../support/stages/example-stage';

const RANDOM = path.resolve(__dirname, '..', '..', 'support', 'random', 'random');

let stage: ExampleStage;

beforeEach(() => {
  stage = new ExampleStage();
});

afterEach(() => {
  stage.remove();
});

/** A test file that passes from its run number `passesFrom` on. Before, it does `first`. */
function writeTest(
  name: string,
  { passesFrom, first = "throw new Error('the host was too busy')" }: { readonly passesFrom: number; readonly first?: string },
): void {
  const runs = JSON.stringify(path.join(stage.folder, `${name}.runs`));
  stage.write(
    name,
    `
    import { appendFileSync, readFileSync } from 'node:fs';
    import { seeded } from '${RANDOM}';
    test('${name} works', async () => {
      appendFileSync(${runs}, seeded(1).seed + '\\n');
      const runs = readFileSync(${runs}, 'utf8').trim().split('\\n').length;
      if (runs < ${passesFrom}) ${first};
    });`,
  );
}

function seedsOf(name: string): readonly string[] {
  return readFileSync(path.join(stage.folder, `${name}.runs`), 'utf8')
    .trim()
    .split('\n');
}

test('a test that passes on its second run is listed as flaky with its first failure, and keeps its seed', async () => {
  writeTest('steady', { passesFrom: 1 });
  writeTest('shaky', { passesFrom: 2 });
  const { result } = await stage.run();
  expect(result).toMatchObject({ passed: 1, failed: 0, flaky: 1 });
  expect(result.flakyTests).toHaveLength(1);
  expect(result.flakyTests![0]).toMatch(/shaky\.test\.ts: shaky works\n.*the host was too busy/);
  const [first, second] = seedsOf('shaky');
  expect(second).toBe(first);
  expect(seedsOf('steady')).not.toContain(first);
  expect(seedsOf('steady')).toHaveLength(1);
});

test('each failed file has its second chance, whatever their number, and one that fails twice counts as failed', async () => {
  for (const name of ['a', 'b', 'c', 'd', 'e']) writeTest(name, { passesFrom: 2 });
  writeTest('broken', { passesFrom: 3 });
  const { result, printed } = await stage.run();
  expect(result).toMatchObject({ passed: 0, failed: 1, flaky: 5 });
  expect(seedsOf('broken')).toHaveLength(2);
  expect(printed.join('\n')).toMatch(/broken\.test\.ts: failed again: broken works: .*the host was too busy/);
});

test('after the time of all repetitions, the other files stay failed and are named', async () => {
  for (const name of ['a', 'b']) writeTest(name, { passesFrom: 2 });
  const { result, printed } = await stage.run({ totalS: 0 });
  expect(result).toMatchObject({ passed: 0, failed: 2 });
  expect(printed.join('\n')).toMatch(/not repeated, because .* minutes have passed: .*[ab]\.test\.ts, .*[ab]\.test\.ts/);
});

test('a stage that was stopped is repeated, and is flaky when it passes', async () => {
  writeTest('endless', { passesFrom: 2, first: 'await new Promise(() => undefined)' });
  // The first run, which is not counted as one, begins so that the stage is stopped in its test.
  const { result } = await stage.run({ limitS: 20 });
  expect(result).toMatchObject({ passed: 1, failed: 0, flaky: 1 });
  expect(result.flakyTests).toEqual(['example: did not end within 20 s and was stopped; it passed when it was repeated alone']);
});

test('a file that breaks outside of its tests has a second chance too', async () => {
  stage.write('broken', "throw new Error('no port is free'); test('never runs', () => undefined);");
  const { result, printed } = await stage.run();
  expect(result).toMatchObject({ passed: 0, failed: 1 });
  expect(printed.join('\n')).toContain('broken.test.ts');
});

test('the shortest come first; a linter that found something is not repeated, and one that was stopped is', async () => {
  const script = `
    import { giveSecondChance } from './scripts/test/second-chance.mjs';
    const failed = { passed: 0, failed: 1, skipped: 0 };
    const of = (file, seconds) => ({ failures: [{ file, test: 'one', text: 'no' }], tests: [{ file, name: 'one', status: 'failed', seconds, figures: [] }] });
    const results = [
      { name: 'lint', stage: { name: 'lint' }, seconds: 9, note: 'exit code 1', ...failed },
      { name: 'format', stage: { name: 'format' }, seconds: 600, note: 'was stopped', stopped: true, ...failed },
      { name: 'long', stage: { name: 'long' }, seconds: 90, ...failed, ...of('long.test.ts', 80) },
      { name: 'short', stage: { name: 'short' }, seconds: 90, ...failed, ...of('short.test.ts', 2) },
    ];
    const repeated = [];
    const ended = await giveSecondChance(results, {
      repeat: ({ stage, file }) => {
        repeated.push(file ?? stage.name);
        return { passed: 1, failed: 0, skipped: 0 };
      },
      print: () => undefined,
    });
    console.log(JSON.stringify({ repeated, failed: ended.filter(({ failed }) => failed > 0).map(({ name }) => name) }));`;
  const { stdout, stderr } = await runCommand(process.execPath, ['--input-type=module', '-e', script]);
  expect({ stdout, stderr }).toEqual({
    stdout: `${JSON.stringify({ repeated: ['short.test.ts', 'long.test.ts', 'format'], failed: ['lint'] })}\n`,
    stderr: '',
  });
});
