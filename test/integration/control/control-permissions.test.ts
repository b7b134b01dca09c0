/** The documented rights suffice for control data and the admin API, and each is needed. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { keyOf } from '../../../src/state/control/control-record';
import { RedisControlStore } from '../../../src/state/control/redis/redis-control-store';
import { RedisStore } from '../../../src/state/store/redis/redis-store';
import { callAdmin, type AdminRequest } from '../../support/admin/admin-client';
import { tokenLine, TOKENS } from '../../support/admin/admin-server';
import { httpRequest } from '../../support/clients/http-client';
import { until } from '../../support/clock/until';
import { blockOf, NOTE } from '../../support/control/control-harness';
import { readAclLine, readControlCommands } from '../../support/docs/acl-line';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { makeTestClient, storeOptions, type TestClient } from '../../support/redis/redis-store';
import { freePort } from '../../support/servers/ports';
import { hangLimitMs } from '../../support/clock/hang-limit';

const CONFIG = path.resolve(__dirname, '..', '..', '..', 'deploy', 'tenants', 'payments.yaml');
const { rules, prefix } = readAclLine();
const commands = readControlCommands();

/** What the admin API needs to list buckets, as docs/redis.md says. */
const LISTS_BUCKETS = '+scan';

let redis: RedisServer;
let root: TestClient;
let folder: string;

beforeAll(async () => {
  redis = await startRedis();
  root = await makeTestClient(redis.port).connect();
  folder = mkdtempSync(path.join(tmpdir(), 'weir-rights-'));
  writeFileSync(path.join(folder, 'tokens'), tokenLine('ann', 'admin', TOKENS.admin));
});

afterAll(async () => {
  root.destroy();
  await redis.stop();
  rmSync(folder, { recursive: true });
});

async function allow(...more: readonly string[]): Promise<void> {
  await root.flushAll();
  await root.sendCommand(['ACL', 'SETUSER', 'weir', 'reset', ...rules, ...more]);
  await root.sendCommand(['ACL', 'LOG', 'RESET']);
}

/** What Redis has refused. */
async function refused(): Promise<readonly string[]> {
  const entries = (await root.sendCommand(['ACL', 'LOG'])) as unknown as readonly (readonly unknown[])[];
  return entries.map((fields) => String(fields[fields.indexOf('object') + 1]));
}

interface Served {
  readonly weir: WeirProcess;
  readonly admin: (request: AdminRequest) => Promise<{ readonly status: number; readonly body: string }>;
  readonly ask: (merchant: string) => Promise<number>;
}

function redisEnv(): Readonly<Record<string, string>> {
  return { REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_AUTH: 'weir:PASSWORD', CACHE_KEY_PREFIX: prefix, REDIS_OP_TIMEOUT: '1s' };
}

async function statusOf({ httpPort }: WeirProcess, merchant: string): Promise<number> {
  const body = { domain: 'payments', descriptors: [{ entries: [{ key: 'merchant', value: merchant }] }] };
  return (await httpRequest(`http://127.0.0.1:${httpPort}/json`, { body })).status;
}

async function withWeir(during: (served: Served) => Promise<void>): Promise<void> {
  const port = await freePort();
  const weir = await startWeir({
    config: CONFIG,
    env: {
      ...redisEnv(),
      CONTROL_DATA: 'true',
      TOP_KEYS: 'true',
      ADMIN_PORT: String(port),
      ADMIN_TOKENS_FILE: path.join(folder, 'tokens'),
    },
  });
  const admin = (request: AdminRequest) => callAdmin(`http://127.0.0.1:${port}`, { token: TOKENS.admin, ...request });
  try {
    await until(() =>
      admin({ path: '/v1/whoami' }).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    await during({ weir, admin, ask: (merchant) => statusOf(weir, merchant) });
  } finally {
    await weir.stop();
  }
}

const ENTRIES = [{ key: 'merchant', value: 'm' }];
const DESCRIPTORS = { domain: 'payments', descriptors: [{ entries: ENTRIES }] };
const ONE = { domain: 'payments', entries: ENTRIES };

/** One of each kind of request. */
const REQUESTS: readonly AdminRequest[] = [
  { method: 'PUT', path: '/v1/tenants/payments/m', body: { plan: 'enterprise', until: '2100-01-01T00:00:00Z' } },
  { method: 'PUT', path: '/v1/plans/payments/free', body: { limits: [{ name: 'free_plan', requests_per_unit: 9, unit: 'minute' }] } },
  { method: 'PUT', path: '/v1/blocks/payments/b', body: { entries: ENTRIES } },
  { path: '/v1/blocks/payments/b' },
  { path: '/v1/blocks' },
  { method: 'DELETE', path: '/v1/blocks/payments/b' },
  { method: 'POST', path: '/v1/buckets/lookup', body: DESCRIPTORS },
  { method: 'POST', path: '/v1/explain', body: DESCRIPTORS },
  { method: 'POST', path: '/v1/credits', body: { ...ONE, hits: 1, id: 'ticket-7' } },
  { method: 'POST', path: '/v1/buckets/reset', body: ONE },
  { path: '/v1/buckets', query: 'domain=payments' },
  { path: '/v1/top', query: 'question=asked' },
  { path: '/v1/instances' },
  { path: '/v1/audit' },
  { path: '/v1/audit/export' },
  { method: 'POST', path: '/v1/control/restore', body: {} },
  { method: 'POST', path: '/v1/control/discard-lost', body: {} },
];

test('with the documented rights every request of the admin API succeeds, and Redis refuses nothing', async () => {
  await allow(...commands, LISTS_BUCKETS);
  await withWeir(async ({ weir, admin, ask }) => {
    expect(await ask('m')).toBe(200);
    for (const request of REQUESTS) expect({ request, ...(await admin(request)) }).toMatchObject({ status: 200 });
    await until(async () => (await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).body === 'OK');
  });
  expect(await refused()).toEqual([]);
});

test('a user that may only count cannot read or write control data: Weir decides, and says that they are missing', async () => {
  await allow();
  await withWeir(async ({ weir, admin, ask }) => {
    await until(async () => (await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).body.includes('control: stale'));
    expect(await ask('m')).toBe(200);
    const put = await admin(REQUESTS[0]!);
    expect(put.status).toBe(503);
    expect(put.body).not.toContain('PASSWORD');
    expect(weir.output()).toMatch(/no control data from Redis \(Redis answered the error (?:NOPERM.*|ERR)\)/);
  });
  expect(await root.keys(`${prefix}weir:control*`)).toEqual([]);
});

/** All that control data ever do to Redis; resolves to what it refused. */
async function useAs(user: { readonly username: string; readonly password: string }): Promise<readonly string[]> {
  const options = storeOptions(redis.port);
  const store = new RedisStore({ ...options, server: { ...options.server, ...user } });
  await store.connect({ waitMs: hangLimitMs(5_000) });
  const control = new RedisControlStore({
    run: (call, runOptions) => store.run(call, runOptions),
    keyPrefix: prefix,
    onUnreadable: () => undefined,
  });
  const put = blockOf('a');
  const uses = [
    () => control.write({ changes: [{ put: { ...put, untilMs: Date.now() + 60_000 } }], audit: NOTE, id: 'w' }),
    () => control.write({ changes: [{ put }], audit: NOTE }),
    () => control.changesAfter(undefined),
    () => control.changesAfter({ epoch: 'e', version: 1 }),
    async () => {
      const answer = await control.changesAfter(undefined);
      const { epoch } = answer.kind === 'empty' ? { epoch: '' } : answer.position;
      return control.changesAfter({ epoch, version: 1 });
    },
    () => control.read([keyOf(put)]),
    () => control.scan({ kind: 'block', limit: 10 }),
    () => control.audit({ order: 'newest', limit: 10 }),
    () => control.audit({ order: 'oldest', limit: 10 }),
    // What has ended is removed by the next write.
    () => root.sendCommand(['ZADD', `${prefix}weir:control:1{weir:control}ends`, '1', '4 1:d:a']),
    () => control.write({ changes: [{ put: blockOf('b') }], audit: NOTE }),
    () => control.write({ changes: [{ delete: keyOf(blockOf('b')) }], audit: NOTE }),
    () => control.discardLost(NOTE),
  ];
  for (const use of uses) await use().catch(() => undefined);
  await store.close();
  return refused();
}

test('with the keys of one that only counts, a user decides, and cannot delete control data', async () => {
  const [, keys = ''] = /`(~limits\/1\{\* ~\S+)`/.exec(readFileSync('docs/control-data.md', 'utf8')) ?? [];
  expect(keys).not.toBe('');
  await allow(...commands);
  await root.hSet(`${prefix}weir:control:1{weir:control}about`, 'epoch', 'e');
  await root.sendCommand(['ACL', 'SETUSER', 'weir', 'resetkeys', ...keys.split(' ')]);
  const weir = await startWeir({ config: CONFIG, env: { ...redisEnv(), CONTROL_DATA: 'false' } });
  try {
    expect(await statusOf(weir, 'm')).toBe(200);
  } finally {
    await weir.stop();
  }
  expect(await refused()).toEqual([]);
  const user = makeTestClient(redis.port);
  await user.connect();
  await user.sendCommand(['AUTH', 'weir', 'PASSWORD']);
  await expect(user.sendCommand(['DEL', `${prefix}weir:control:1{weir:control}about`])).rejects.toThrow('NOPERM');
  user.destroy();
});

test('each of the documented commands is needed', async () => {
  const user = { username: 'weir', password: 'PASSWORD' };
  await allow(...commands);
  expect(await useAs(user)).toEqual([]);
  const unneeded: string[] = [];
  for (const command of commands) {
    await allow(...commands.filter((other) => other !== command));
    if (!(await useAs(user)).includes(command.slice(1))) unneeded.push(command);
  }
  expect(unneeded).toEqual([]);
});
