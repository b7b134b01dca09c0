/** Three processes with up to 256 callers and mixed algorithms charge exactly the admitted hits. */

import { isLong } from '../../support/random/form';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { OK, RlsClient, type AskedDescriptor } from '../../support/clients/rls-client';
import { randomFrom, type Random } from '../../support/random/random';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';

const PROCESSES = 3;
const TIMEOUT_MS = 120_000;
/** How long callers ask at full speed. */
const CALLS_MS = isLong ? 3_000 : 1_500;

/** Of the limit `fast`. */
const BURST = 20;

/** Limits by key: none refills, nor does a window end, within the test, so what is used is what was admitted. */
const CAPACITIES = { bucket: 400, leaky: 300, window: 350, log: 250, counter: 320 } as const;

type Kind = keyof typeof CAPACITIES;

const KINDS = Object.keys(CAPACITIES) as Kind[];

const CONFIG = writeConfig(`
domain: d
descriptors:
  - key: bucket
    rate_limit: { unit: year, requests_per_unit: 5, burst: 400, algorithm: token_bucket }
  - key: leaky
    rate_limit: { unit: year, requests_per_unit: 5, burst: 299, algorithm: leaky_bucket }
  - key: window
    rate_limit: { unit: year, unit_multiplier: 50, requests_per_unit: 350, algorithm: fixed_window }
  - key: log
    rate_limit: { unit: day, requests_per_unit: 250, algorithm: sliding_window_log }
  - key: counter
    rate_limit: { unit: year, unit_multiplier: 50, requests_per_unit: 320, algorithm: sliding_window_counter }
  - key: fast
    rate_limits:
      - { unit: second, requests_per_unit: 50, burst: ${BURST}, algorithm: token_bucket }
      - { unit: second, requests_per_unit: 40, algorithm: sliding_window_log }
`);

let redis: RedisServer;
let processes: WeirProcess[];

beforeAll(async () => {
  redis = await startRedis();
  const env = { REDIS_URL: `redis://127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s' };
  processes = await Promise.all(Array.from({ length: PROCESSES }, () => startWeir({ config: CONFIG, env })));
});

afterAll(async () => {
  await Promise.all(processes.map((process) => process.stop()));
  await redis.stop();
});

interface Asked {
  readonly kind: Kind;
  readonly value: string;
  readonly hits: number;
}

/** One to four descriptors, sometimes the same twice, of one to three hits each. */
function randomRequest(random: Random, { keys, round }: { keys: number; round: string }): Asked[] {
  return Array.from({ length: 1 + random(4) }, () => ({
    kind: KINDS[random(KINDS.length)]!,
    value: `${round}-${random(keys)}`,
    hits: 1 + random(3),
  }));
}

function toDescriptor({ kind, value, hits }: Asked): AskedDescriptor {
  return { entries: { [kind]: value }, hits_addend: { value: String(hits) } };
}

test.each([
  { callers: 64, keys: 1, requests: 40 },
  { callers: 256, keys: 1, requests: 15 },
  { callers: 64, keys: 25, requests: 60 },
  { callers: 256, keys: 25, requests: 20 },
])(
  '$callers callers on $keys key(s) of each kind are charged exactly the admitted hits',
  async ({ callers, keys, requests }) => {
    const random = randomFrom();
    const round = `${callers}-${keys}`;
    const admitted = new Map<string, number>();
    let denied = 0;
    const clients = processes.map(({ grpcPort }) => new RlsClient(grpcPort));
    const call = async (client: RlsClient): Promise<void> => {
      for (let i = 0; i < requests; i += 1) {
        const asked = randomRequest(random, { keys, round });
        const { overall_code: code } = await client.ask('d', asked.map(toDescriptor));
        if (code !== OK) denied += 1;
        else for (const { kind, value, hits } of asked) admitted.set(`${kind}=${value}`, (admitted.get(`${kind}=${value}`) ?? 0) + hits);
      }
    };
    await Promise.all(Array.from({ length: callers }, (_, i) => call(clients[i % PROCESSES]!)));
    if (keys === 1) expect(denied).toBeGreaterThan(0);
    for (const kind of KINDS) {
      for (let key = 0; key < keys; key += 1) {
        const value = `${round}-${key}`;
        const { statuses } = await clients[0]!.ask('d', [toDescriptor({ kind, value, hits: 0 })]);
        const used = CAPACITIES[kind] - statuses[0]!.limit_remaining;
        expect({ kind, value, used }).toEqual({ kind, value, used: admitted.get(`${kind}=${value}`) ?? 0 });
      }
    }
    for (const client of clients) client.close();
  },
  TIMEOUT_MS,
);

interface Admission {
  readonly sentMs: number;
  readonly answeredMs: number;
}

test.each([64, 256])(
  '%i callers on one key stay within the bound of the bucket and of the log in any window',
  async (callers) => {
    const clients = processes.map(({ grpcPort }) => new RlsClient(grpcPort));
    await Promise.all(clients.map((client) => client.ask('d', [{ entries: { fast: 'warm-up' } }])));
    const admissions: Admission[] = [];
    const startedMs = performance.now();
    const call = async (client: RlsClient): Promise<void> => {
      while (performance.now() - startedMs < CALLS_MS || admissions.length <= BURST) {
        const sentMs = performance.now();
        const { overall_code: code } = await client.ask('d', [{ entries: { fast: `hot-${callers}` } }]);
        if (code === OK) admissions.push({ sentMs, answeredMs: performance.now() });
      }
    };
    await Promise.all(Array.from({ length: callers }, (_, i) => call(clients[i % PROCESSES]!)));
    for (const client of clients) client.close();
    // More than the burst: the bucket has refilled meanwhile. How much, depends on the speed of the machine.
    expect(admissions.length).toBeGreaterThan(BURST);
    expectWithinBounds(admissions);
  },
  TIMEOUT_MS,
);

/** Whatever was sent and answered within a window was decided within it, so the bounds hold for it. */
function expectWithinBounds(admissions: readonly Admission[]): void {
  const answered = admissions.map(({ answeredMs }) => answeredMs).sort((a, b) => a - b);
  for (const { sentMs: fromMs } of admissions) {
    for (const toMs of answered.filter((time) => time > fromMs)) {
      const count = admissions.filter(({ sentMs, answeredMs }) => sentMs >= fromMs && answeredMs <= toMs).length;
      const seconds = (toMs - fromMs) / 1000;
      if (count > BURST + 50 * seconds) throw new Error(`token bucket: ${count} admitted within ${seconds} s`);
      if (seconds < 1 && count > 40) throw new Error(`log: ${count} admitted within ${seconds} s`);
    }
  }
}
