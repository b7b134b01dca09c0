/** Three instances on one Redis leave the last part of a limit to its class, with and without Redis, whatever they cache or lease. */

import { callReservations } from '../../../src/server/transport/grpc/call-server';
import { OK, RlsClient } from '../../support/clients/rls-client';
import { httpRequest } from '../../support/clients/http-client';
import { hangLimitMs } from '../../support/clock/hang-limit';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';

const TIMEOUT_MS = 120_000;
const INSTANCES = 3;
const LIMIT = 300;
const ALGORITHMS = ['token_bucket', 'leaky_bucket', 'fixed_window', 'sliding_window_log', 'sliding_window_counter'];
const RESERVE = 'reserve: { entry: priority, for: { high: 40%, critical: 20% } }';

/** Nothing comes back within the test: a year passes for each limit. */
const CONFIG = writeConfig(`
domain: d
leases: auto
descriptors:
${ALGORITHMS.map(
  (algorithm) =>
    `  - { key: ${algorithm}, rate_limit: { unit: year, requests_per_unit: ${LIMIT}, algorithm: ${algorithm}${algorithm === 'leaky_bucket' ? `, burst: ${LIMIT - 1}` : ''} }, ${RESERVE} }`,
).join('\n')}
  - { key: without, rate_limit: { unit: year, requests_per_unit: 1000000, algorithm: fixed_window } }
  - { key: large, rate_limit: { unit: year, requests_per_unit: 1000000, algorithm: fixed_window }, ${RESERVE} }
  - { key: slots, in_flight: { max: ${LIMIT}, hold: 1h }, ${RESERVE} }
`);

let redis: RedisServer;
let weirs: WeirProcess[];
let clients: RlsClient[];

beforeEach(async () => {
  redis = await startRedis();
  const env = { REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s', REDIS_BREAKER_FAILURES: '2', REDIS_BREAKER_OPEN: '1m' };
  weirs = await Promise.all(Array.from({ length: INSTANCES }, () => startWeir({ config: CONFIG, env: { ...env, FAILURE_MODE: 'local' } })));
  clients = weirs.map(({ grpcPort }) => new RlsClient(grpcPort));
}, TIMEOUT_MS);

afterEach(async () => {
  for (const client of clients) client.close();
  await Promise.all(weirs.map((weir) => weir.stop()));
  await redis.stop();
});

interface Asked {
  readonly key: string;
  readonly priority?: string;
  readonly calls: number;
  readonly to?: readonly RlsClient[];
}

/** Some at a time, in turn to each instance; returns how many are admitted. */
async function admittedOf({ key, priority, calls, to = clients }: Asked): Promise<number> {
  let admitted = 0;
  let next = 0;
  const ask = async () => {
    while (next < calls) {
      const client = to[next % to.length]!;
      next += 1;
      const entries = { [key]: 'v', ...(priority !== undefined && { priority }) };
      const answer = await client.ask('d', [{ entries }], { timeoutMs: hangLimitMs(5_000) });
      if (answer.overall_code === OK) admitted += 1;
    }
  };
  await Promise.all(Array.from({ length: 12 }, ask));
  return admitted;
}

async function metric({ debugPort }: WeirProcess, name: string): Promise<number> {
  const { body } = await httpRequest(`http://127.0.0.1:${debugPort}/metrics`);
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(body)?.[1]);
}

test(
  'each class gets exactly its part, in any order and mixed, and denials of one do not deny another',
  async () => {
    for (const key of [...ALGORITHMS, 'slots']) {
      // 50 of the whole limit go to the highest class first: the others have to leave them out.
      const first = await admittedOf({ key, priority: 'critical', calls: 50 });
      const [plain, forged] = await Promise.all([admittedOf({ key, calls: 200 }), admittedOf({ key, priority: 'CRITICAL', calls: 200 })]);
      // While requests without a class are denied again and again.
      const [again, high] = await Promise.all([admittedOf({ key, calls: 200 }), admittedOf({ key, priority: 'high', calls: 200 })]);
      const [none, critical] = await Promise.all([
        admittedOf({ key, priority: 'high', calls: 100 }),
        admittedOf({ key, priority: 'critical', calls: 100 }),
      ]);
      expect([key, first, plain + forged, again, high, none, critical]).toEqual([key, 50, 130, 0, 60, 0, 60]);
    }
    for (const weir of weirs) expect(await metric(weir, 'weir_deny_cache_denials_total')).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);

test(
  'no instance charges hits of a reserve ahead, where it would without one',
  async () => {
    const charged = () => metric(weirs[0]!, 'weir_lease_hits_charged_total');
    const [client] = clients as [RlsClient];
    const askUntil = async (key: string, isOver: (asked: number) => Promise<boolean>) => {
      let asked = 0;
      await until(async () => {
        asked += await admittedOf({ key, calls: 24, to: [client] });
        return isOver(asked);
      });
      return asked;
    };
    const needed = await askUntil('without', async () => (await charged()) > 0);
    const before = await charged();
    const asked = await askUntil('large', (sum) => Promise.resolve(sum >= 2 * needed));
    expect(asked).toBeGreaterThanOrEqual(2 * needed);
    expect(await charged()).toBe(before);
  },
  TIMEOUT_MS,
);

test(
  'reservations leave the part of other classes, and what they give back is for all',
  async () => {
    const step = (name: 'Reserve' | 'Commit' | 'Release', id: string, { hits, priority }: { hits?: number; priority?: string } = {}) => {
      const entries = [{ key: 'fixed_window', value: 'v' }, ...(priority === undefined ? [] : [{ key: 'priority', value: priority }])];
      const sent = { domain: 'd', descriptors: [{ entries }], id, ...(hits !== undefined && { hits: String(hits) }) };
      return callReservations(name, sent, { address: `127.0.0.1:${weirs[0]!.grpcPort}`, timeoutMs: hangLimitMs(5_000) });
    };
    const grantedOf = async (...args: Parameters<typeof step>) => Number((await step(...args)).granted_hits);
    const key = 'fixed_window';
    // 100 of the 180 hits without a class are used: one more than the other 80 does not fit.
    expect(await admittedOf({ key, calls: 100 })).toBe(100);
    expect(await grantedOf('Reserve', 'more', { hits: 81 })).toBe(0);
    expect(await grantedOf('Reserve', 'batch', { hits: 80 })).toBe(80);
    expect(await admittedOf({ key, calls: 10 })).toBe(0);
    // Half of the whole limit may be held, and 80 are.
    expect(await grantedOf('Reserve', 'checkout', { hits: 200, priority: 'critical' })).toBe(70);
    // Used hits are a fact: 50 more than were granted.
    await step('Commit', 'batch', { hits: 130 });
    // Asked of no class that is to pass below: other instances remember a denial for a second.
    await step('Release', 'checkout', { priority: 'critical' });
    expect(await admittedOf({ key, calls: 10 })).toBe(0);
    expect(await admittedOf({ key, priority: 'high', calls: 20 })).toBe(10);
    expect(await admittedOf({ key, priority: 'critical', calls: 80 })).toBe(60);
  },
  TIMEOUT_MS,
);

test(
  'without Redis each instance leaves that part of its share, and what was used before counts',
  async () => {
    for (const weir of weirs) await until(async () => (await metric(weir, 'weir_instances')) === INSTANCES, { timeoutMs: 40_000 });
    const [client] = clients as [RlsClient];
    // Used by the highest class before the outage: more than the part of others.
    expect(await admittedOf({ key: 'fixed_window', priority: 'critical', calls: 270, to: [client] })).toBe(270);
    redis.kill('SIGKILL');
    const to = [client];
    // The share is four fifths of a third: of 300 it is 80, of the 240 of class high 64, and of the 180 of others 48.
    const plain = await admittedOf({ key: 'token_bucket', calls: 120, to });
    const high = await admittedOf({ key: 'token_bucket', priority: 'high', calls: 120, to });
    const critical = await admittedOf({ key: 'token_bucket', priority: 'critical', calls: 120, to });
    expect([plain, high, critical]).toEqual([48, 16, 16]);
    // 30 of the 300 are left, a share of 8, for the highest class alone, though another one opened the account.
    const late = [
      await admittedOf({ key: 'fixed_window', calls: 20, to }),
      await admittedOf({ key: 'fixed_window', priority: 'critical', calls: 20, to }),
    ];
    expect(late).toEqual([0, 8]);
    await redis.restart();
  },
  TIMEOUT_MS,
);
