/** The second chance of `npm test`: files that failed run once more, alone, with the same seed, and are named when they pass. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand } from '../support/processes/command';

const ROOT = path.resolve(__dirname, '..', '..');
const RANDOM = path.join(ROOT, 'test', 'support', 'random', 'random');
const TIMEOUT_MS = 60_000;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-second-chance-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Result {
  readonly passed: number;
  readonly failed: number;
  readonly flaky?: number;
  readonly flakyTests?: readonly string[];
}

/** Runs jest on the folder as a stage, then gives the second chance; the stage's result, and what was printed. */
async function runStage({ secondChance = true }: { readonly secondChance?: boolean } = {}): Promise<{
  readonly result: Result;
  readonly printed: readonly string[];
}> {
  const results = path.join(folder, 'results');
  mkdirSync(results);
  const script = `
    import { runJest } from './scripts/test/run-jest.mjs';
    import { giveSecondChance } from './scripts/test/second-chance.mjs';
    const stage = ${JSON.stringify({ name: 'example', folders: [path.relative(ROOT, folder)], secondChance, timeoutS: 50 })};
    const how = { node: process.execPath, env: {}, show: 'pipe', resultsFolder: ${JSON.stringify(results)} };
    const printed = [];
    const [result] = await giveSecondChance([{ stage, ...(await runJest(stage, how)) }], {
      repeat: ({ file }) => runJest({ ...stage, folders: [], files: [file] }, how),
      print: (line) => printed.push(line),
    });
    console.log(JSON.stringify({ result, printed }));`;
  const { stdout, stderr } = await runCommand(process.execPath, ['--input-type=module', '-e', script], {
    env: { WEIR_RUN_SEED: '7' },
    timeoutMs: TIMEOUT_MS,
  });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as { result: Result; printed: string[] };
}

/** A test file that passes from its run number `passesFrom` on. */
function writeTest(name: string, { passesFrom }: { readonly passesFrom: number }): void {
  const runs = JSON.stringify(path.join(folder, `${name}.runs`));
  writeFileSync(
    path.join(folder, `${name}.test.ts`),
    `
    import { appendFileSync, readFileSync } from 'node:fs';
    import { seeded } from '${RANDOM}';
    test('${name} works', () => {
      appendFileSync(${runs}, seeded(1).seed + '\\n');
      const runs = readFileSync(${runs}, 'utf8').trim().split('\\n').length;
      if (runs < ${passesFrom}) throw new Error('the host was too busy');
    });`,
  );
}

function seedsOf(name: string): readonly string[] {
  return readFileSync(path.join(folder, `${name}.runs`), 'utf8')
    .trim()
    .split('\n');
}

test(
  'a test that passes on its second run is listed as flaky with its first failure, and keeps its seed',
  async () => {
    writeTest('steady', { passesFrom: 1 });
    writeTest('shaky', { passesFrom: 2 });
    const { result } = await runStage();
    expect(result).toMatchObject({ passed: 1, failed: 0, flaky: 1 });
    expect(result.flakyTests).toHaveLength(1);
    expect(result.flakyTests![0]).toMatch(/shaky\.test\.ts: shaky works\n.*the host was too busy/);
    const [first, second] = seedsOf('shaky');
    expect(second).toBe(first);
    expect(seedsOf('steady')).not.toContain(first);
    expect(seedsOf('steady')).toHaveLength(1);
  },
  TIMEOUT_MS,
);

test(
  'a test that fails twice counts as failed',
  async () => {
    writeTest('shaky', { passesFrom: 2 });
    writeTest('broken', { passesFrom: 3 });
    const { result } = await runStage();
    expect(result).toMatchObject({ passed: 0, failed: 1, flaky: 1 });
    expect(seedsOf('broken')).toHaveLength(2);
  },
  TIMEOUT_MS,
);

test(
  'after four failed files no file has a second chance',
  async () => {
    for (const name of ['a', 'b', 'c', 'd']) writeTest(name, { passesFrom: 2 });
    const { result, printed } = await runStage();
    expect(result).toMatchObject({ passed: 0, failed: 4 });
    expect(result.flaky).toBeUndefined();
    expect(printed).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  'a stage whose tests do not depend on time has no second chance',
  async () => {
    writeTest('shaky', { passesFrom: 2 });
    const { result } = await runStage({ secondChance: false });
    expect(result).toMatchObject({ passed: 0, failed: 1 });
    expect(seedsOf('shaky')).toHaveLength(1);
  },
  TIMEOUT_MS,
);

test(
  'a file that breaks outside of its tests has a second chance too',
  async () => {
    writeFileSync(path.join(folder, 'broken.test.ts'), "throw new Error('no port is free'); test('never runs', () => undefined);");
    const { result, printed } = await runStage();
    expect(result).toMatchObject({ passed: 0, failed: 1 });
    expect(printed.join('\n')).toContain('broken.test.ts');
  },
  TIMEOUT_MS,
);
