/** Weir accepts the configuration language of envoyproxy/ratelimit and makes its decisions, except for listed differences, on both stores. */

import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import type { Store } from '../../../src/state/store/port/store';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { openClockedRedis, type ClockedRedis } from '../../support/redis/redis-store';
import { askInProcess } from '../service/in-process';
import { answeredText, resetsText, toAsked } from './notation';
import { ROWS, START, type Row } from './rows';

let redis: RedisServer;
let clocked: ClockedRedis;

beforeAll(async () => {
  redis = await startRedis();
  clocked = await openClockedRedis(redis);
});

afterAll(async () => {
  const count = Object.values(ROWS).reduce((sum, rows) => sum + rows.length, 0);
  process.stderr.write(
    `the conformance table has ${count} rows: ${Object.entries(ROWS)
      .map(([part, rows]) => `${part} ${rows.length}`)
      .join(', ')}\n`,
  );
  await clocked.close();
  await redis.stop();
});

interface Opened {
  readonly store: Store;
  readonly setNow?: (nowUs: number) => Promise<void>;
}

async function run({ config, settings = {}, at = START, steps }: Row, open: (nowUs: () => number) => Promise<Opened>): Promise<void> {
  const { shadow = false, quota = false, mergeDomainConfig = false, calendarMonth = false } = settings;
  let nowUs = at * 1_000_000;
  const opened = await open(() => nowUs);
  const texts = typeof config === 'string' ? [config] : config;
  const ask = askInProcess({
    store: opened.store,
    texts,
    nowUs: () => nowUs,
    modes: { shadow, quota },
    compile: { mergeDomainConfig, calendarMonth },
  });
  const answer = async (asked: string) => {
    await opened.setNow?.(nowUs);
    return ask(toAsked(asked));
  };
  for (const step of steps) {
    if ('pass' in step) nowUs += step.pass * 1_000_000;
    else if ('resets' in step) expect([step.asked, resetsText(await answer(step.asked))]).toEqual([step.asked, step.resets]);
    else expect([step[0], answeredText(await answer(step[0]))]).toEqual([...step]);
  }
}

describe.each(Object.entries(ROWS))('%s', (_part, rows) => {
  test.each(rows)('$shows', async (row) => {
    await run(row, (nowUs) => Promise.resolve({ store: new MemoryStore({ nowUs, bucketsMax: 1_000 }) }));
    await run(row, async () => {
      await clocked.client.flushDb();
      return clocked;
    });
  });
});
