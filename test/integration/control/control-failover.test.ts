/** A failover of Sentinel or Redis Cluster loses no acknowledged control data silently. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { callAdmin, type AdminRequest, type AdminResponse } from '../../support/admin/admin-client';
import { tokenLine, TOKENS } from '../../support/admin/admin-server';
import { httpRequest } from '../../support/clients/http-client';
import { until } from '../../support/clock/until';
import { figure } from '../../support/docs/figure';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { RedisCluster } from '../../support/redis/redis-cluster';
import { startSentinelGroup } from '../../support/redis/redis-sentinel';
import { makeTestClient } from '../../support/redis/redis-store';
import { freePort } from '../../support/servers/ports';

const TIMEOUT_MS = 120_000;
const WAIT_MS = 60_000;
const RETRY_MS = 20;
const CONFIG = path.resolve(__dirname, '..', '..', '..', 'deploy', 'tenants', 'payments.yaml');

/** In the slot of all control data. */
const CONTROL_KEY = '{weir:control}';

const LOST = 'control: lost by redis';

let folder: string;
const closing: (() => Promise<unknown>)[] = [];

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-failover-'));
  writeFileSync(path.join(folder, 'tokens'), tokenLine('ann', 'admin', TOKENS.admin));
});

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
}, TIMEOUT_MS);

afterAll(() => {
  rmSync(folder, { recursive: true });
});

interface Served {
  /** The first one has the admin API. */
  readonly instances: readonly WeirProcess[];
  readonly admin: (request: AdminRequest) => Promise<AdminResponse>;
}

async function serve(env: Readonly<Record<string, string>>): Promise<Served> {
  const port = await freePort();
  const common = { CONTROL_DATA: 'true', REDIS_OP_TIMEOUT: '1s', REDIS_BREAKER_OPEN: '1s', ...env };
  const instances = await Promise.all([
    startWeir({ config: CONFIG, env: { ...common, ADMIN_PORT: String(port), ADMIN_TOKENS_FILE: path.join(folder, 'tokens') } }),
    startWeir({ config: CONFIG, env: common }),
  ]);
  closing.push(() => Promise.all(instances.map((instance) => instance.stop())));
  const admin = (request: AdminRequest) => callAdmin(`http://127.0.0.1:${port}`, { token: TOKENS.admin, ...request });
  await until(
    () =>
      admin({ path: '/v1/tenants' }).then(
        ({ status }) => status === 200,
        () => false,
      ),
    { timeoutMs: WAIT_MS },
  );
  return { instances, admin };
}

const healthOf = async ({ httpPort }: WeirProcess) => (await httpRequest(`http://127.0.0.1:${httpPort}/healthcheck`)).body;

async function metricOf({ debugPort }: WeirProcess, name: string): Promise<number> {
  const { body } = await httpRequest(`http://127.0.0.1:${debugPort}/metrics`);
  return Number(
    body
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length) ?? NaN,
  );
}

const tenantsKnownBy = (instance: WeirProcess) => metricOf(instance, 'weir_control_records{kind="tenant"}');

/** Until no instance is behind: what it then says of lost records is final. */
function untilFollowing({ instances }: Served): Promise<void> {
  return until(async () => (await Promise.all(instances.map(healthOf))).every((health) => !/stale|degraded/.test(health)), {
    timeoutMs: WAIT_MS,
  });
}

interface Writer {
  /** Tenants whose write was acknowledged. */
  readonly acknowledged: readonly string[];
  /** Tries that were not; each was repeated. */
  readonly refused: () => number;
  stop(): Promise<void>;
}

/** Writes one tenant after the other, each until it is acknowledged. */
function startWriter({ admin }: Served): Writer {
  const acknowledged: string[] = [];
  let refused = 0;
  const stopped = new AbortController();
  const writing = (async () => {
    while (!stopped.signal.aborted) {
      const tenant = `t${acknowledged.length}`;
      const { status } = await admin({ method: 'PUT', path: `/v1/tenants/payments/${tenant}`, body: { plan: 'enterprise' } });
      if (status === 200) acknowledged.push(tenant);
      else {
        expect(status).toBe(503);
        refused += 1;
        await pause(RETRY_MS);
      }
    }
  })();
  return {
    acknowledged,
    refused: () => refused,
    stop: async () => {
      stopped.abort();
      await writing;
    },
  };
}

/** Resolves when a number of further writes is acknowledged. */
async function more(writer: Writer, count: number): Promise<void> {
  const before = writer.acknowledged.length;
  await until(() => writer.acknowledged.length >= before + count, { timeoutMs: WAIT_MS });
}

/** Those that are not in the store. It may not be connected yet: 503 says neither. */
async function missingIn({ admin }: Served, tenants: readonly string[]): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const tenant of tenants) {
    let status = 0;
    await until(async () => ({ status } = await admin({ path: `/v1/tenants/payments/${tenant}` })).status !== 503, { timeoutMs: WAIT_MS });
    if (status === 404) missing.push(tenant);
    else expect(status).toBe(200);
  }
  return missing;
}

/** Every acknowledged record is in the store, or each instance keeps it and says that it is lost; a restore brings all of them back. */
async function expectNothingLostSilently(served: Served, acknowledged: readonly string[]): Promise<number> {
  await untilFollowing(served);
  const missing = await missingIn(served, acknowledged);
  for (const instance of served.instances) {
    await until(async () => (await tenantsKnownBy(instance)) === acknowledged.length, { timeoutMs: WAIT_MS });
    expect((await healthOf(instance)).includes(LOST)).toBe(missing.length > 0);
    await until(async () => (await metricOf(instance, 'weir_control_lost_records')) === missing.length, { timeoutMs: WAIT_MS });
  }
  if (missing.length > 0) {
    expect(await served.admin({ method: 'POST', path: '/v1/control/restore', body: {} })).toMatchObject({ status: 200 });
    expect(await missingIn(served, missing)).toEqual([]);
    await until(async () => (await Promise.all(served.instances.map(healthOf))).every((health) => !health.includes(LOST)), {
      timeoutMs: WAIT_MS,
    });
  }
  return missing.length;
}

test(
  'Sentinel: writes that the next primary never got stay in force, are reported by every instance, and are restored',
  async () => {
    const group = await startSentinelGroup();
    closing.push(() => group.stop());
    const served = await serve({ REDIS_TYPE: 'SENTINEL', REDIS_URL: group.url });
    const [primary] = group.servers;
    const writer = startWriter(served);
    await more(writer, 20);
    // Replicas that come back need a password from now on: what follows is acknowledged, and copied to none of them.
    const client = await makeTestClient(primary!.port).connect();
    await client.sendCommand(['CONFIG', 'SET', 'requirepass', 'secret']);
    await client.sendCommand(['CLIENT', 'KILL', 'TYPE', 'replica']);
    await more(writer, 10);
    await writer.stop();
    for (const instance of served.instances)
      await until(async () => (await tenantsKnownBy(instance)) === writer.acknowledged.length, { timeoutMs: WAIT_MS });
    client.destroy();
    primary!.kill('SIGKILL');
    await group.untilMovedFrom(primary!);
    await until(async () => (await Promise.all(served.instances.map(healthOf))).every((health) => health.includes(LOST)), {
      timeoutMs: WAIT_MS,
    });
    const lost = await expectNothingLostSilently(served, writer.acknowledged);
    expect(lost).toBeGreaterThanOrEqual(10);
    figure(`${writer.acknowledged.length} acknowledged, ${lost} lost by Redis, reported and restored`);
  },
  TIMEOUT_MS,
);

test(
  'Redis Cluster: a failover by agreement and the death of a primary, both amid writes, lose nothing without a word',
  async () => {
    const cluster = await RedisCluster.start();
    closing.push(() => cluster.stop());
    const served = await serve({ REDIS_TYPE: 'CLUSTER', REDIS_URL: cluster.url });
    const writer = startWriter(served);
    await more(writer, 20);
    await cluster.failOver(CONTROL_KEY);
    await more(writer, 20);
    const agreed = [...writer.acknowledged];
    await cluster.untilWhole();
    await untilFollowing(served);
    // By agreement, the next primary has all of them.
    expect(await missingIn(served, agreed)).toEqual([]);
    for (const instance of served.instances) expect(await healthOf(instance)).not.toContain(LOST);
    const refusedBefore = writer.refused();
    await cluster.strikePrimaryOf(CONTROL_KEY);
    await until(() => writer.refused() > refusedBefore, { timeoutMs: WAIT_MS });
    await more(writer, 20);
    await writer.stop();
    const lost = await expectNothingLostSilently(served, writer.acknowledged);
    figure(`${writer.acknowledged.length} acknowledged, ${writer.refused()} refused and repeated, ${lost} lost by Redis and reported`);
  },
  TIMEOUT_MS,
);
