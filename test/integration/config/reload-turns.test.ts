/** No turn of the event loop is long while 20,000 rules are loaded. */

import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { slowness } from '../../support/clock/slowness';
import { isLong } from '../../support/random/form';
import { until } from '../../support/clock/until';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { figure } from '../../support/docs/figure';

/** The longest turn that is promised takes 10 ms; a machine that has other work makes each one longer by its caches and its clock. */
const TURN_MS_MAX = isLong ? 10 : 25;

/** What is in the way of one reload only is the machine's: what Weir does, it does in each. So one that keeps the bound is enough. */
const RELOADS_MAX = 8;

const RULES = 20_000;

const RELOAD_TIMEOUT_MS = 60_000;

type Shape = (generation: number) => string;

function descriptorsOf(indent: string, generation: number): string {
  const lines = Array.from(
    { length: RULES },
    (_, i) =>
      `${indent}- key: merchant\n${indent}  value: m${i}\n${indent}  rate_limit:\n${indent}    unit: minute\n${indent}    requests_per_unit: ${i + generation}\n`,
  );
  return lines.join('');
}

const nested: Shape = (generation) =>
  `domain: d\ndescriptors:\n  - key: plan\n    value: gold\n    descriptors:\n${descriptorsOf('      ', generation)}`;

const SHAPES: Readonly<Record<string, Shape>> = {
  nested,
  flat: (generation) => `domain: d\ndescriptors:\n${descriptorsOf('  ', generation)}`,
  wildcards: (generation) => nested(generation).replace(/value: (m\d+)/g, 'value: "$1*"'),
  // Anchors and aliases are for the reader of all of YAML.
  'one map for all': (generation) =>
    `domain: d\ndescriptors:\n  - key: first\n    rate_limit: &limit { unit: minute, requests_per_unit: ${generation} }\n${Array.from({ length: RULES / 4 }, (_, i) => `  - { key: k, value: v${i}, rate_limit: *limit }\n`).join('')}`,
  'long strings': (generation) =>
    `domain: d\ndescriptors:\n${Array.from({ length: 100 }, (_, i) => `  - key: k\n    value: "${'x'.repeat(60_000)}${i}"\n    rate_limit: { unit: minute, requests_per_unit: ${generation} }\n`).join('')}`,
};

const SHORT_SHAPES = ['nested', 'one map for all'];

let home: string;

beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'weir-turns-'));
});

afterEach(() => {
  rmSync(home, { recursive: true });
});

/** Milliseconds, the longest first, since it was asked last. */
async function longestTurns(weir: WeirProcess): Promise<number[]> {
  const file = path.join(home, 'turns.json');
  rmSync(file, { force: true });
  weir.kill('SIGUSR2');
  await until(() => existsSync(file));
  return JSON.parse(readFileSync(file, 'utf8')) as number[];
}

test.each(isLong ? Object.keys(SHAPES) : SHORT_SHAPES)(
  'no turn of the event loop is long while rules are loaded: %s',
  async (name) => {
    const shape = SHAPES[name]!;
    const file = path.join(home, 'limits.yaml');
    writeFileSync(file, shape(1));
    const weir = await startWeir({
      config: file,
      command: [process.execPath, '--require', path.resolve('test/support/clock/turn-clock.cjs'), 'dist/main.js', 'serve'],
      env: { BACKEND_TYPE: 'memory', TURN_CLOCK_FILE: path.join(home, 'turns.json') },
    });
    const longest: number[] = [];
    const reload = async (generation: number): Promise<void> => {
      writeFileSync(`${file}.new`, shape(generation));
      renameSync(`${file}.new`, file);
      await until(() => weir.output().includes(`generation ${generation} is in force`), { timeoutMs: RELOAD_TIMEOUT_MS });
    };
    // The first one is also that of code that is not compiled yet.
    await reload(2);
    await longestTurns(weir);
    for (let generation = 3; generation < 3 + RELOADS_MAX && !(Math.min(...longest) < TURN_MS_MAX); generation += 1) {
      await reload(generation);
      longest.push((await longestTurns(weir))[0]!);
    }
    figure(`longest turns ${longest.map((ms) => ms.toFixed(1)).join(', ')} ms`);
    expect(Math.min(...longest)).toBeLessThan(TURN_MS_MAX * slowness());
    expect(await weir.stop()).toBe(0);
  },
  (2 + RELOADS_MAX) * RELOAD_TIMEOUT_MS,
);

test(
  'a text that takes too much memory is rejected, and the log says why',
  async () => {
    const file = path.join(home, 'limits.yaml');
    writeFileSync(file, nested(1));
    // Half of it is the thread's. What is plain has room in it, and is in force at the start.
    const weir = await startWeir({
      config: file,
      command: [process.execPath, '--max-old-space-size=96', 'dist/main.js', 'serve'],
      env: { BACKEND_TYPE: 'memory' },
    });
    writeFileSync(file, SHAPES['one map for all']!(2).repeat(4));
    await until(() => weir.output().includes('MiB of memory to be read; '), { timeoutMs: RELOAD_TIMEOUT_MS });
    expect(weir.output()).toMatch(
      /with 1 problem in 1 file: generation 1, the last good one, stays in force\n.*limits\.yaml: takes more than \d+ MiB of memory to be read; /,
    );
    expect(await weir.stop()).toBe(0);
  },
  2 * RELOAD_TIMEOUT_MS,
);

test('the clock sees a long turn', async () => {
  const file = path.join(home, 'limits.yaml');
  writeFileSync(file, 'domain: d\n');
  const hold = path.join(home, 'hold.cjs');
  writeFileSync(hold, 'process.on("SIGCONT", () => { const end = performance.now() + 300; while (performance.now() < end); });');
  const weir = await startWeir({
    config: file,
    command: [process.execPath, '--require', path.resolve('test/support/clock/turn-clock.cjs'), '--require', hold, 'dist/main.js', 'serve'],
    env: { BACKEND_TYPE: 'memory', TURN_CLOCK_FILE: path.join(home, 'turns.json') },
  });
  await longestTurns(weir);
  weir.kill('SIGCONT');
  await until(async () => (await longestTurns(weir)).some((ms) => ms > TURN_MS_MAX));
  await weir.stop();
});
