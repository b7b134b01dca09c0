/** Weir answers and counts random requests on random configurations as an independent model does. */

import { DenyCacheStore } from '../../../src/state/resilience/deny-cache';
import { UsageSnapshot } from '../../../src/state/resilience/usage-snapshot';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { casesOf } from '../../support/random/form';
import { randomFrom } from '../../support/random/random';
import { openClockedRedis } from '../../support/redis/redis-store';
import { startRedis } from '../../support/redis/redis-server';
import { askInProcess } from './in-process';
import { openStatistics } from './in-process-statistics';
import type { Modes } from '../model/model-limit';
import { randomConfig } from '../random/random-configs';
import { reportLines, runConformance, type ConformanceReport } from './run-conformance';
import type { Store } from '../../../src/state/store/port/store';
import { keepFigure } from '../../support/docs/figure';

const REQUESTS = casesOf(10_000);
/** Enough for a remembered denial among them, with any seed. */
const REQUESTS_REMEMBERED = 4 * REQUESTS;
const REQUESTS_REDIS = casesOf(2_000);
const REQUESTS_BY_MODE = casesOf(2_000);
/** Of each run: many enough for any shape, few enough that their counters fill. */
const REQUESTS_PER_CONFIG = 50;
const TIMEOUT_MS = 60_000;

const START_SECONDS = 1_795_226_160;
/** What passes between two requests, in milliseconds: nothing, a little, and now and then the edge of a long window. */
const STEPS_MS = [0, 0, 0, 0, 1, 100, 999, 1000, 7_000];
const JUMPS_MS = [60_000, 3_600_000, 86_400_000, 604_800_000, 2_592_000_000];

const COUNTED_BY_THE_PORT = ['ratelimit.service.call.should_rate_limit.service_error'];

interface RunOptions {
  readonly requests: number;
  readonly modes?: Modes;
  /** Default: so many that each has `REQUESTS_PER_CONFIG`. */
  readonly configs?: number;
  /** What may pass between two requests; default: `STEPS_MS`. */
  readonly stepsMs?: readonly number[];
  readonly descriptorsMax?: number;
  readonly remembersDenials?: boolean;
  readonly open: (nowUs: () => number) => { readonly store: Store; readonly setNow?: (nowUs: number) => Promise<void> };
}

async function run({
  requests,
  modes,
  configs: count = requests / REQUESTS_PER_CONFIG,
  stepsMs = STEPS_MS,
  open,
  ...rest
}: RunOptions): Promise<ConformanceReport> {
  const random = randomFrom();
  const configs = Array.from({ length: count }, (_, n) => randomConfig({ random, domain: `d${n}` }));
  let nowMs = START_SECONDS * 1000;
  const opened = open(() => nowMs * 1000);
  const statistics = openStatistics({ globalShadow: modes?.shadow === true });
  const ask = askInProcess({
    store: opened.store,
    texts: configs.map((config) => JSON.stringify(config)),
    nowUs: () => nowMs * 1000,
    record: statistics.record,
    ...(modes && { modes }),
  });
  const report = await runConformance({
    ask,
    configs,
    random,
    requests,
    nowSeconds: () => nowMs / 1000,
    beforeEach: async () => {
      nowMs += random(500) === 0 ? JUMPS_MS[random(JUMPS_MS.length)]! : stepsMs[random(stepsMs.length)]!;
      await opened.setNow?.(nowMs * 1000);
    },
    withHugeHits: true,
    ...rest,
    readStatistics: () => statistics.read(),
    uncounted: COUNTED_BY_THE_PORT,
    ...(modes && { modes }),
  });
  process.stderr.write(`${reportLines(report).join('\n')}\n`);
  keepFigure(`${requests.toLocaleString('en')} requests`);
  return report;
}

const embedded: RunOptions['open'] = (nowUs) => ({ store: new MemoryStore({ nowUs, bucketsMax: 1_000_000 }) });

const remembering: RunOptions['open'] = (nowUs) => {
  const nowMs = () => nowUs() / 1000;
  const lastKnown = new UsageSnapshot({ nowMs, bucketsMax: 10_000 });
  return { store: new DenyCacheStore(embedded(nowUs).store, { nowMs, bucketsMax: 100_000, lastKnown, onDenied: () => undefined }) };
};

function expectAllAsWeir(report: ConformanceReport): void {
  expect(report.unexplained).toEqual([]);
  expect([...report.byAmendment]).toEqual([]);
  expect(report.asWeir).toBe(report.requests);
  expect(report.countedUnexplained).toEqual([]);
  expect(report.statistics?.counted.length).toBeGreaterThan(report.requests / 10);
  expect(report.statistics?.notWeirs).toEqual([]);
}

test(
  `Weir answers ${REQUESTS} random requests on random configurations as the model does`,
  async () => {
    const report = await run({ requests: REQUESTS, open: embedded });
    expectAllAsWeir(report);
    // The amendments are seen: a model that knows none of them gives other answers.
    expect(report.asReference).toBeLessThan(report.requests * 0.9);
  },
  TIMEOUT_MS,
);

test.each<Modes>([
  { shadow: true, quota: false },
  { shadow: false, quota: true },
  { shadow: true, quota: true },
])(
  'Weir agrees with the model under SHADOW_MODE=$shadow, QUOTA_MODE=$quota',
  async (modes) => {
    expectAllAsWeir(await run({ requests: REQUESTS_BY_MODE, modes, open: embedded }));
  },
  TIMEOUT_MS,
);

test(
  `Weir answers and counts ${REQUESTS_REMEMBERED} requests as the model does with the deny cache on`,
  async () => {
    // On few rules and in little time, so that denials come again while they are remembered.
    const report = await run({
      requests: REQUESTS_REMEMBERED,
      configs: 10,
      stepsMs: [0, 0, 1, 20, 200],
      descriptorsMax: 1,
      remembersDenials: true,
      open: remembering,
    });
    expectAllAsWeir(report);
    expect(report.statistics?.counted.some((name) => name.endsWith('.over_limit_with_local_cache'))).toBe(true);
  },
  TIMEOUT_MS,
);

test(
  `Weir answers ${REQUESTS_REDIS} requests as the model does with Redis`,
  async () => {
    const redis = await startRedis();
    const clocked = await openClockedRedis(redis);
    try {
      expectAllAsWeir(await run({ requests: REQUESTS_REDIS, open: () => clocked }));
    } finally {
      await clocked.close();
      await redis.stop();
    }
  },
  TIMEOUT_MS,
);
