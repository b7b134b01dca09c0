/** Random requests on random configurations: Weir answers each as the model that was written from the text. */

import { MemoryStore } from '../../src/store/memory-store';
import { casesOf } from '../support/form';
import { randomFrom } from '../support/random';
import { openClockedRedis } from '../support/redis-store';
import { startRedis } from '../support/redis-server';
import { askInProcess } from './in-process';
import type { Modes } from './model-limit';
import { randomConfig } from './random-configs';
import { reportLines, runConformance, type ConformanceReport } from './run-conformance';
import type { Store } from '../../src/store/store';

const REQUESTS = casesOf(10_000);
const REQUESTS_REDIS = casesOf(2_000);
const REQUESTS_BY_MODE = casesOf(2_000);
/** Of each run: many enough for any shape, few enough that their counters fill. */
const REQUESTS_PER_CONFIG = 50;
const TIMEOUT_MS = 60_000;

const START_SECONDS = 1_795_226_160;
/** What passes between two requests, in milliseconds: nothing, a little, and now and then the edge of a long window. */
const STEPS_MS = [0, 0, 0, 0, 1, 100, 999, 1000, 7_000];
const JUMPS_MS = [60_000, 3_600_000, 86_400_000, 604_800_000, 2_592_000_000];

interface RunOptions {
  readonly requests: number;
  readonly modes?: Modes;
  readonly open: (nowUs: () => number) => { readonly store: Store; readonly setNow?: (nowUs: number) => Promise<void> };
}

async function run({ requests, modes, open }: RunOptions): Promise<ConformanceReport> {
  const random = randomFrom();
  const configs = Array.from({ length: requests / REQUESTS_PER_CONFIG }, (_, n) => randomConfig({ random, domain: `d${n}` }));
  let nowMs = START_SECONDS * 1000;
  const opened = open(() => nowMs * 1000);
  const ask = askInProcess({ store: opened.store, texts: configs.map((config) => JSON.stringify(config)), nowUs: () => nowMs * 1000, ...(modes && { modes }) });
  const report = await runConformance({
    ask,
    configs,
    random,
    requests,
    nowSeconds: () => nowMs / 1000,
    beforeEach: async () => {
      nowMs += random(500) === 0 ? JUMPS_MS[random(JUMPS_MS.length)]! : STEPS_MS[random(STEPS_MS.length)]!;
      await opened.setNow?.(nowMs * 1000);
    },
    withHugeHits: true,
    ...(modes && { modes }),
  });
  process.stderr.write(`${reportLines(report).join('\n')}\n`);
  return report;
}

const embedded: RunOptions['open'] = (nowUs) => ({ store: new MemoryStore({ nowUs, bucketsMax: 1_000_000 }) });

function expectAllAsWeir(report: ConformanceReport): void {
  expect(report.unexplained).toEqual([]);
  expect([...report.byAmendment]).toEqual([]);
  expect(report.asWeir).toBe(report.requests);
}

test(
  `${REQUESTS} random requests on random configurations are answered as the model answers them`,
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
  'also under SHADOW_MODE=$shadow, QUOTA_MODE=$quota',
  async (modes) => {
    expectAllAsWeir(await run({ requests: REQUESTS_BY_MODE, modes, open: embedded }));
  },
  TIMEOUT_MS,
);

test(
  `${REQUESTS_REDIS} are so with Redis`,
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
