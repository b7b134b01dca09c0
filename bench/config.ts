/** `npm run bench -- config [--short] [-- --rules N,…]`: the cost of a start and of a reload by the number of rules. */

import path from 'node:path';
import { parseArgs } from 'node:util';
import { SHAPES, type Shape } from './config/config-shapes';
import { ConfiguredWeir, type ReloadFigures, type StartFigures } from './config/configured-weir';
import type { LoadJob, LoadResult } from './load/run-load';
import { findCores, pin, type Cores } from './support/cores';
import { describeEnvironment, loadAverage } from './support/environment';
import { publishSection } from './support/generated-doc';
import { spread, table, threeDigits, whole } from './support/markdown';
import { spreadOf } from './support/statistics';
import { startWorker, type WorkerProcess } from './support/worker-process';

const RESULTS = path.join(__dirname, 'results.md');
const MIB = 1024 * 1024;

interface Size {
  readonly rules: readonly number[];
  readonly starts: number;
  readonly reloads: number;
  /** The load runs for this long, and for twice as long with 100,000 rules. */
  readonly loadMs: number;
}

/** Some five minutes. */
const FULL: Size = { rules: [10, 10_000, 100_000], starts: 5, reloads: 5, loadMs: 5_000 };
/** Shows that the benchmark works. */
const SHORT: Size = { rules: [10, 1_000], starts: 1, reloads: 1, loadMs: 1_500 };
const PER_SECOND = 2_000;
const MANY_RULES = 100_000;

interface Measured {
  readonly shape: Shape;
  readonly rules: number;
  readonly starts: readonly StartFigures[];
  readonly reloads: readonly ReloadFigures[];
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { short: { type: 'boolean', default: false }, rules: { type: 'string' } } });
  const size = values.short ? SHORT : FULL;
  const rules = values.rules?.split(',').map(Number) ?? size.rules;
  if (rules.some((count) => !Number.isInteger(count) || count < 2)) {
    console.error('--rules takes whole numbers of at least 2, such as 10,10000.');
    process.exitCode = 1;
    return;
  }
  const loadBefore = loadAverage();
  const measured = await measure({ ...size, rules });
  const markdown = render(measured, { ...size, loadBefore });
  console.log(`\n${markdown}\n`);
  // The published figures are those of a full run.
  if (!values.short && values.rules === undefined)
    publishSection({ file: RESULTS, name: 'config', command: 'npm run bench -- config', markdown });
}

async function measure({ rules: counts, starts, reloads, loadMs }: Size): Promise<readonly Measured[]> {
  const cores = findCores();
  const generator = startWorker<LoadJob, LoadResult>('load/generator.ts');
  for (const pid of [generator.pid, process.pid]) pin(pid, cores?.load);
  const measured: Measured[] = [];
  try {
    for (const rules of counts) {
      for (const shape of SHAPES) {
        console.log(`${new Date().toISOString()} ${whole(rules)} rules, ${shape} …`);
        measured.push({
          shape,
          rules,
          starts: await measureStarts({ shape, rules, cores }, starts),
          reloads: await measureReloads(
            { shape, rules, cores },
            { generator, count: reloads, loadMs: rules < MANY_RULES ? loadMs : 2 * loadMs },
          ),
        });
      }
    }
  } finally {
    generator.stop();
  }
  return measured;
}

interface Configured {
  readonly shape: Shape;
  readonly rules: number;
  readonly cores: Cores | undefined;
}

async function measureStarts(configured: Configured, count: number): Promise<StartFigures[]> {
  const figures: StartFigures[] = [];
  for (let start = 0; start < count; start += 1) {
    const weir = await ConfiguredWeir.start({ ...configured, timesTurns: false });
    await weir.stop();
    figures.push(weir.start);
  }
  return figures;
}

interface ReloadsInput {
  readonly generator: WorkerProcess<LoadJob, LoadResult>;
  readonly count: number;
  readonly loadMs: number;
}

/** The first reload runs code that is not compiled yet; it is not reported. */
async function measureReloads(configured: Configured, { generator, count, loadMs }: ReloadsInput): Promise<ReloadFigures[]> {
  const weir = await ConfiguredWeir.start({ ...configured, timesTurns: true });
  try {
    const figures: ReloadFigures[] = [];
    for (let reload = 0; reload <= count; reload += 1)
      figures.push(await weir.reload({ requests: 2_000 + reload, generator, perSecond: PER_SECOND, loadMs }));
    return figures.slice(1);
  } finally {
    await weir.stop();
  }
}

function render(measured: readonly Measured[], { starts, reloads, loadMs, loadBefore }: Size & { readonly loadBefore: string }): string {
  const { date, node, cores, processor } = describeEnvironment({ redis: '' });
  const of = <T>(all: readonly T[], figure: (each: T) => number): string => spread(spreadOf(all.map(figure)), threeDigits);
  const startRows = measured.map(({ rules, shape, starts: all }) => [
    whole(rules),
    shape,
    of(all, ({ cpuMs }) => cpuMs / 1000),
    of(all, ({ wallMs }) => wallMs / 1000),
    of(all, ({ peakBytes }) => peakBytes / MIB),
  ]);
  const reloadRows = measured.map(({ rules, shape, reloads: all }) => [
    whole(rules),
    shape,
    of(all, ({ inForceMs }) => inForceMs / 1000),
    of(all, ({ cpuMs }) => cpuMs / 1000),
    of(all, ({ longestTurnMs }) => longestTurnMs),
    of(all, ({ p99BeforeMs }) => p99BeforeMs),
    of(all, ({ p99Ms }) => p99Ms),
  ]);
  return `## Start and reload by the number of rules

\`npm run bench -- config\`, ${date}: Node ${node}, ${cores} cores (${processor}); load average ${loadBefore} before, ${loadAverage()} after, including
the run itself. Weir has one core; the load and the bench share the other. Medians; the lowest and the highest are in brackets.
\`flat\`: all rules on the first level. \`nested\`: all but one below one node.

### Start

\`deploy/bin/ratelimit\` with the embedded store, warm-up included, until the first call is answered; started ${starts} times.

${table(['rules', 'shape', 'CPU s', 'wall s', 'peak RSS MiB'], startRows)}

### Reload

One limit of the file is changed, ${reloads} times, while ${whole(PER_SECOND)} calls a second come (open loop, ${loadMs / 1000} s; ${(2 * loadMs) / 1000} s at ${whole(MANY_RULES)} rules).

${table(['rules', 'shape', 'in force after s', 'CPU s', 'longest turn ms', 'p99 before ms', 'p99 during ms'], reloadRows)}

- **in force after**: from the rename of the new file until a decision by the new limit. **CPU**: processor time of the process in that time, its
  calls included. **longest turn**: of the event loop of the thread that decides, without waits for a processor.`;
}

void main();
