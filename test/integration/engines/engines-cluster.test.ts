/** Nodes of a cluster that redirect without end, forget scripts or name nodes that do not exist cost bounded work, and no limit is exceeded. */

import { status, type ServiceError } from '@grpc/grpc-js';
import { OK, RlsClient } from '../../support/clients/rls-client';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startFakeEngine, type EngineBehaviour, type FakeEngine } from '../../support/redis/fake-engine';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';

const LIMIT = 5;
const TENANTS = 12;
const CONFIG = writeConfig(
  `{ domain: d, hash_tag: tenant, descriptors: [{ key: tenant, rate_limit: { unit: year, requests_per_unit: ${LIMIT} } }] }`,
);
/** Most tries of a call: the first, and those after a redirect. */
const TRIES_MAX = 6;
const TIMEOUT_MS = 60_000;

let redis: RedisServer;
let [one, other]: readonly FakeEngine[] = [];
let weir: WeirProcess;
let client: RlsClient;

beforeAll(async () => {
  redis = await startRedis();
  [one, other] = [await startFakeEngine(redis.port, {}), await startFakeEngine(redis.port, {})];
  become({ one: {}, other: {} });
  const env = {
    REDIS_TYPE: 'cluster',
    REDIS_URL: `127.0.0.1:${one.port}`,
    REDIS_OP_TIMEOUT: '1s',
    FAILURE_MODE: 'unavailable',
    DENY_CACHE_MAX: '0',
    LEASES: 'off',
  };
  weir = await startWeir({ config: CONFIG, env });
  client = new RlsClient(weir.grpcPort);
}, TIMEOUT_MS);

afterAll(async () => {
  client.close();
  await weir.stop();
  await one!.stop();
  await other!.stop();
  await redis.stop();
});

/** Both nodes say that the first has all slots. */
function become(nodes: { readonly one: EngineBehaviour; readonly other: EngineBehaviour }): void {
  one!.become({ ownerPort: one!.port, ...nodes.one });
  other!.become({ ownerPort: one!.port, ...nodes.other });
}

let round = 0;

/** Asks for more than the limit of each tenant, all at once. */
async function load() {
  round += 1;
  const askAll = async (tenant: string) => {
    const calls = Array.from({ length: LIMIT + 3 }, () => client.ask('d', [{ entries: { tenant } }]));
    const answers = await Promise.allSettled(calls);
    return {
      admitted: answers.filter((answer) => answer.status === 'fulfilled' && answer.value.overall_code === OK).length,
      codes: answers.flatMap((answer) => (answer.status === 'rejected' ? [(answer.reason as ServiceError).code] : [])),
    };
  };
  const all = await Promise.all(Array.from({ length: TENANTS }, (_, i) => askAll(`${round}-${i}`)));
  return { admitted: all.map(({ admitted }) => admitted), codes: all.flatMap(({ codes }) => codes) };
}

function scripts(): number {
  return [one!, other!].reduce((sum, { commands }) => sum + (commands.get('EVALSHA') ?? 0) + (commands.get('EVAL') ?? 0), 0);
}

/** Until the nodes decide again. */
async function decides(): Promise<void> {
  await until(async () => {
    const { codes } = await load();
    return codes.length === 0;
  });
}

const EXACT = new Array<number>(TENANTS).fill(LIMIT);

test.each<[string, () => { readonly one: EngineBehaviour; readonly other: EngineBehaviour }]>([
  ['nodes that forget scripts at once', () => ({ one: { forgetsScripts: 'NOSCRIPT' }, other: { forgetsScripts: 'NOSCRIPT' } })],
  [
    'a node that redirects every call to another, although its slots are said to be its own',
    () => ({ one: { movedTo: () => other!.port }, other: {} }),
  ],
])('%s decide all requests, exactly', async (_what, nodes) => {
  become(nodes());
  await decides();
  expect(await load()).toEqual({ admitted: EXACT, codes: [] });
});

test.each<[string, () => { readonly one: EngineBehaviour; readonly other: EngineBehaviour }]>([
  ['nodes that redirect to each other without end', () => ({ one: { movedTo: () => other!.port }, other: { movedTo: () => one!.port } })],
  ['nodes that redirect to others that do not exist', () => ({ one: { movedTo: closedPort }, other: {} })],
])('%s decide nothing and cost few tries, and later decide exactly', async (_what, nodes) => {
  become(nodes());
  // Until the calls of each tenant, which share a script, reach a node.
  await until(async () => {
    const asked = scripts();
    await load();
    return scripts() - asked >= TENANTS;
  });
  const before = scripts();
  const { admitted, codes } = await load();
  expect(admitted).toEqual(new Array(TENANTS).fill(0));
  expect(new Set(codes)).toEqual(new Set([status.UNAVAILABLE]));
  // The calls of a tenant share each try. Heartbeats and probes of new connections are scripts, too.
  expect(scripts() - before).toBeLessThan(TENANTS * TRIES_MAX + 50);
  become({ one: {}, other: {} });
  await decides();
  expect(await load()).toEqual({ admitted: EXACT, codes: [] });
});

let nextPort = 1;

/** Ports below 1,024, which no test listens on. */
function closedPort(): number {
  nextPort = (nextPort % 1_000) + 1;
  return nextPort;
}
