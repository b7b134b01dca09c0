/** Three instances on one Redis leave each member of a divided limit its share beside one that floods, over-grant nothing, and survive an outage. */

import { setTimeout as pause } from 'node:timers/promises';
import { OK, RlsClient } from '../../support/clients/rls-client';
import { hangLimitMs } from '../../support/clock/hang-limit';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { dividedLimits } from '../../support/decisions/divided-limits';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { makeTestClient } from '../../support/redis/redis-store';

const TIMEOUT_MS = 120_000;
const INSTANCES = 3;
const WINDOW_S = 2;
const LIMIT = 60;
/** Of the window's limit, so that the share of two members is enough for the one that asks for little. */
const SMALL = 10;

const CONFIG = writeConfig(`
domain: d
leases: auto
descriptors:
  - key: model
    rate_limit: { unit: second, unit_multiplier: ${WINDOW_S}, requests_per_unit: ${LIMIT}, algorithm: fixed_window }
    fair: { entry: tenant }
`);

let redis: RedisServer;
let weirs: WeirProcess[];
let clients: RlsClient[];

beforeAll(async () => {
  redis = await startRedis();
  const env = { REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s', FAILURE_MODE: 'local' };
  weirs = await Promise.all(Array.from({ length: INSTANCES }, () => startWeir({ config: CONFIG, env })));
  clients = weirs.map(({ grpcPort }) => new RlsClient(grpcPort));
}, TIMEOUT_MS);

afterAll(async () => {
  for (const client of clients) client.close();
  await Promise.all(weirs.map((weir) => weir.stop()));
  await redis.stop();
});

interface Counts {
  asked: number;
  admitted: number;
}

/** Asks in turn at each instance until the signal, and pauses between the calls. */
function asking(tenant: string | undefined, { callers, pauseMs, until: end }: { callers: number; pauseMs: number; until: AbortSignal }) {
  const counts: Counts = { asked: 0, admitted: 0 };
  const ask = async () => {
    while (!end.aborted) {
      const client = clients[counts.asked % INSTANCES]!;
      counts.asked += 1;
      const entries = { model: 'large', ...(tenant !== undefined && { tenant }) };
      const answer = await client.ask('d', [{ entries }], { timeoutMs: hangLimitMs(5_000) });
      if (answer.overall_code === OK) counts.admitted += 1;
      await pause(pauseMs);
    }
  };
  return { counts, done: Promise.all(Array.from({ length: callers }, ask)) };
}

const allDivided = async () => (await Promise.all(weirs.map(dividedLimits))).every((count) => count === 1);

test(
  'one member floods, and another gets all that it asks for, whichever instance it asks; without names, too',
  async () => {
    const end = new AbortController();
    const flood = asking('flood', { callers: 8, pauseMs: 5, until: end.signal });
    const nameless = asking(undefined, { callers: 8, pauseMs: 5, until: end.signal });
    // Less than its share: SMALL in a window.
    const small = asking('small', { callers: 1, pauseMs: (WINDOW_S * 1_000) / SMALL, until: end.signal });
    await until(allDivided);
    const begun = { small: { ...small.counts }, all: flood.counts.admitted + nameless.counts.admitted };
    const startMs = performance.now();
    await pause(4 * WINDOW_S * 1_000);
    const windows = (performance.now() - startMs) / (WINDOW_S * 1_000);
    const admitted = small.counts.admitted - begun.small.admitted;
    const asked = small.counts.asked - begun.small.asked;
    const others = flood.counts.admitted + nameless.counts.admitted - begun.all;
    end.abort();
    await Promise.all([flood.done, nameless.done, small.done]);
    expect(flood.counts.asked).toBeGreaterThan(5 * flood.counts.admitted);
    // Some of its requests meet a full window where a busy machine lets the flood ebb for a window. Without shares it would be one of the flood.
    expect(asked).toBeGreaterThan(SMALL);
    expect(admitted / asked).toBeGreaterThan(0.5);
    expect(admitted / asked).toBeGreaterThan(2 * (flood.counts.admitted / flood.counts.asked));
    // A limit in each window, and those at both ends.
    expect(admitted + others).toBeLessThanOrEqual(LIMIT * (Math.ceil(windows) + 1));
  },
  TIMEOUT_MS,
);

test(
  'what members asked for is in Redis with a time to live, and nothing else',
  async () => {
    const root = await makeTestClient(redis.port).connect();
    const keys = await root.keys('weir:fair:*');
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) expect(await root.pTTL(key)).toBeGreaterThan(0);
    await until(async () => (await root.keys('weir:fair:*')).length === 0, { timeoutMs: 60_000 });
    root.destroy();
  },
  TIMEOUT_MS,
);

test(
  'without Redis decisions go on by the failure mode, the shares end, and they come back with it',
  async () => {
    const end = new AbortController();
    const members = ['a', 'b'].map((tenant) => asking(tenant, { callers: 6, pauseMs: 5, until: end.signal }));
    await until(allDivided);
    redis.kill('SIGKILL');
    await until(async () => (await Promise.all(weirs.map(dividedLimits))).every((count) => count === 0), { timeoutMs: 60_000 });
    const before = members.map(({ counts }) => counts.admitted);
    await until(() => members.every(({ counts }, i) => counts.admitted > before[i]!));
    await redis.restart();
    await until(allDivided, { timeoutMs: 60_000 });
    end.abort();
    await Promise.all(members.map(({ done }) => done));
  },
  TIMEOUT_MS,
);
