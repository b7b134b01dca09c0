/** A new plan is in force in all processes within a second, and a penalty counts the denials of all of them. */

import { keyOf } from '../../../src/state/control/control-record';
import { readRecord } from '../../../src/state/control/read-record';
import { slowness } from '../../support/clock/slowness';
import { httpRequest } from '../../support/clients/http-client';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { instanceOnRedis, NOTE, type Instance } from '../../support/control/control-harness';
import { figure } from '../../support/docs/figure';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';

const FREE = 200;
const BIG = 600;

const CONFIG = `
domain: shop
algorithm: fixed_window
plans:
  free: { rate_limit: { unit: year, requests_per_unit: ${FREE} } }
  big: { rate_limit: { unit: year, requests_per_unit: ${BIG} } }
descriptors:
  - { key: merchant, tenant: true, default_plan: free }
  - { key: tried, rate_limit: { unit: year, requests_per_unit: 10, candidate: { requests_per_unit: 4 } } }
  - { key: punished, rate_limit: { unit: year, requests_per_unit: 1 }, penalty: { denials: 6, within: 1h, block: 10m } }
`;

let redis: RedisServer;
let instances: readonly WeirProcess[];
let admin: Instance;

beforeAll(async () => {
  redis = await startRedis();
  const env = { REDIS_URL: `127.0.0.1:${redis.port}`, CONTROL_DATA: 'true', REDIS_OP_TIMEOUT: '1s' };
  const config = writeConfig(CONFIG);
  instances = await Promise.all([startWeir({ config, env }), startWeir({ config, env })]);
  admin = await instanceOnRedis(redis.port);
});

afterAll(async () => {
  await admin.close();
  await Promise.all(instances.map((instance) => instance.stop()));
  await redis.stop();
});

async function ask({ httpPort }: WeirProcess, key: string, value = 'm'): Promise<number> {
  const body = { domain: 'shop', descriptors: [{ entries: [{ key, value }] }] };
  return (await httpRequest(`http://127.0.0.1:${httpPort}/json`, { body })).status;
}

async function metric(name: string): Promise<number> {
  const pages = await Promise.all(instances.map(({ debugPort }) => httpRequest(`http://127.0.0.1:${debugPort}/metrics`)));
  return pages.reduce((sum, { body }) => sum + Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(body)?.[1] ?? 0), 0);
}

interface Load {
  readonly admitted: readonly number[];
  readonly failed: () => number;
  stop(): Promise<void>;
}

/** Asks both processes all the time, one call after the other in each. */
function load(): Load {
  const admitted = instances.map(() => 0);
  let failed = 0;
  let isStopped = false;
  const askers = instances.map(async (instance, i) => {
    while (!isStopped) {
      const status = await ask(instance, 'merchant');
      if (status === 200) admitted[i] = (admitted[i] ?? 0) + 1;
      else if (status !== 429) failed += 1;
    }
  });
  return {
    admitted,
    failed: () => failed,
    stop: async () => {
      isStopped = true;
      await Promise.all(askers);
    },
  };
}

test('a new plan is in force in both processes within 1 s under load, without a failed call or a hit beyond the larger limit', async () => {
  const running = load();
  const total = () => running.admitted.reduce((sum, each) => sum + each, 0);
  await until(() => total() === FREE, { timeoutMs: 20_000 });
  const before = [...running.admitted];
  await admin.service.write({ changes: [{ put: readRecord({ kind: 'tenant', domain: 'shop', tenant: 'm', plan: 'big' }) }], audit: NOTE });
  const writtenMs = performance.now();
  await until(() => running.admitted.every((each, i) => each > (before[i] ?? 0)), { timeoutMs: 5_000 });
  const tookMs = performance.now() - writtenMs;
  await until(() => total() === BIG, { timeoutMs: 20_000 });
  const free = readRecord({ kind: 'tenant', domain: 'shop', tenant: 'm', plan: 'free' });
  await admin.service.write({ changes: [{ put: free }], audit: NOTE });
  await until(async () => (await metric('weir_plan_decisions_total{domain="shop",plan="free",result="over_limit"}')) > 100, {
    timeoutMs: 10_000,
  });
  await running.stop();
  expect(total()).toBe(BIG);
  expect(running.failed()).toBe(0);
  expect(tookMs).toBeLessThan(1_000 * slowness());
  figure(`in force after ${Math.ceil(tookMs)} ms`);
});

test('a plan that the configuration does not have is counted and logged, and the default plan applies', async () => {
  const tenant = readRecord({ kind: 'tenant', domain: 'shop', tenant: 'n', plan: 'gold' });
  await admin.service.write({ changes: [{ put: tenant }], audit: NOTE });
  const [weir] = instances;
  await until(
    async () => (await ask(weir!, 'merchant', 'n')) === 200 && (await metric('weir_unknown_plan_decisions_total{domain="shop"}')) > 0,
  );
  expect(weir!.output()).toContain(
    'control data give a tenant the plan "gold", which the domain "shop" does not have, so the default plan applies',
  );
});

test('a candidate denies nobody, and the metrics of all processes say what it would have denied', async () => {
  const statuses: number[] = [];
  for (let i = 0; i < 10; i += 1) statuses.push(await ask(instances[i % 2]!, 'tried'));
  expect(statuses).toEqual(Array.from({ length: 10 }, () => 200));
  expect(await metric('weir_candidate_hits_total{domain="shop",key1="tried"}')).toBe(10);
  expect(await metric('weir_candidate_over_limit_hits_total{domain="shop",key1="tried"}')).toBe(6);
});

test('denials in all processes together lead to a block that operators see and lift', async () => {
  expect(await ask(instances[0]!, 'punished')).toBe(200);
  for (let i = 0; i < 6; i += 1) expect(await ask(instances[i % 2]!, 'punished')).toBe(429);
  await until(async () => (await metric('weir_control_records{kind="block"}')) === 2, { timeoutMs: 5_000 });
  const { records } = await admin.service.scan({ kind: 'block', limit: 10 });
  expect(records).toMatchObject([
    {
      record: {
        author: 'weir',
        reason: 'penalty: 6 denials within 3600 s by the rule punished',
        entries: [{ key: 'punished', value: 'm' }],
      },
    },
  ]);
  expect(await metric('weir_penalty_blocks_total')).toBeGreaterThan(0);
  expect((await admin.service.audit({ trail: 'penalties', order: 'newest', limit: 1 })).entries).toMatchObject([{ author: 'weir' }]);
  await admin.service.write({ changes: [{ delete: keyOf(records[0]!.record) }], audit: NOTE });
  await until(async () => (await metric('weir_control_records{kind="block"}')) === 0, { timeoutMs: 5_000 });
});
