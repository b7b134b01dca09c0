/** Moving slots and failovers of a Redis Cluster fail no call on other slots and over-grant nothing. */

import { readFileSync } from 'node:fs';
import type { ServiceError } from '@grpc/grpc-js';
import { slotOf } from '../../../src/state/store/redis/cluster-slots';
import { slowness } from '../../support/clock/slowness';
import { httpRequest } from '../../support/clients/http-client';
import { fencedBlocks } from '../../support/docs/markdown';
import { CALLERS, expectCharged, pause, underLoad } from '../../support/redis/cluster-load';
import { RedisCluster } from '../../support/redis/redis-cluster';
import { startRedis } from '../../support/redis/redis-server';
import { OK, OVER_LIMIT, RlsClient, type AskedDescriptor } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { until } from '../../support/clock/until';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { figure } from '../../support/docs/figure';

const TIMEOUT_MS = 120_000;
const LIMIT = 1_000_000;
/** No multiple of the callers, so that some of those who ask at once are too many. */
const FEW = 1_995;

const CONFIG = writeConfig(`
domain: d
hash_tag: tenant
descriptors:
  - key: tenant
    rate_limit: { unit: year, requests_per_unit: ${LIMIT}, algorithm: fixed_window }
    descriptors:
      - key: path
        rate_limit: { unit: year, requests_per_unit: ${LIMIT}, algorithm: fixed_window }
      - key: few
        rate_limit: { unit: year, requests_per_unit: ${FEW}, algorithm: fixed_window }
  - key: once
    rate_limit: { unit: year, requests_per_unit: 1, algorithm: fixed_window }
`);

const OP_TIMEOUT = { REDIS_OP_TIMEOUT: '1s', REDIS_BREAKER_OPEN: '1s' };

let cluster: RedisCluster;
let weir: WeirProcess;
let client: RlsClient;
/** What a test has started besides. */
const atEnd: (() => unknown)[] = [];

beforeEach(async () => {
  cluster = await RedisCluster.start();
  weir = await startWeir({ config: CONFIG, env: { REDIS_TYPE: 'CLUSTER', REDIS_URL: cluster.url, ...OP_TIMEOUT } });
  client = new RlsClient(weir.grpcPort);
  // A start waits for one node; the others are connected a moment later.
  await until(() =>
    used(...TENANTS.map(tenant)).then(
      () => true,
      () => false,
    ),
  );
}, TIMEOUT_MS);

afterEach(async () => {
  for (const end of atEnd.splice(0)) await end();
  client.close();
  await weir.stop();
  await cluster.stop();
}, TIMEOUT_MS);

/** Another Weir. */
async function startSecond(url: string, env: Readonly<Record<string, string>> = {}): Promise<{ second: WeirProcess; asker: RlsClient }> {
  const second = await startWeir({ config: CONFIG, env: { REDIS_TYPE: 'cluster', REDIS_URL: url, ...OP_TIMEOUT, ...env } });
  const asker = new RlsClient(second.grpcPort);
  atEnd.push(
    () => {
      asker.close();
    },
    () => second.stop(),
  );
  return { second, asker };
}

/** The hash tag of a tenant's buckets. */
function tagOf(tenant: string): string {
  return `{d|${tenant}}`;
}

/** A tenant whose buckets are of a slot of the first, second or third primary. */
function tenantOn(primary: number): string {
  for (let i = 0; ; i += 1) if (Math.floor((slotOf(tagOf(`t${i}`)) * 3) / 16_384) === primary) return `t${i}`;
}

const TENANTS = [0, 1, 2].map(tenantOn);

function tenant(name: string): AskedDescriptor {
  return { entries: { tenant: name } };
}

async function used(...descriptors: readonly AskedDescriptor[]): Promise<number[]> {
  const { statuses } = await client.ask(
    'd',
    descriptors.map((each) => ({ ...each, hits_addend: { value: '0' } })),
  );
  return statuses.map(({ current_limit: limit, limit_remaining: left }) => limit!.requests_per_unit - left);
}

/** Moves a slot there and back, slowly: between each step calls meet every state that a slot can be in. */
async function moveThereAndBack(tag: string, other: string): Promise<void> {
  const slot = slotOf(tag);
  const [from, to] = [await cluster.primaryOf(tag), await cluster.primaryOf(other)];
  for (const move of [
    { slot, from, to },
    { slot, from: to, to: from },
  ]) {
    await cluster.beginMove(move);
    await pause(100);
    // Who is asked with ASKING may need the script as well.
    await move.to.client.sendCommand(['SCRIPT', 'FLUSH']);
    await pause(50);
    const keys = await cluster.keysIn(move);
    await cluster.moveKeys(move, keys.slice(0, 1));
    await pause(100);
    await cluster.moveKeys(move);
    await pause(100);
    await cluster.endMove(move);
    await pause(100);
  }
}

async function redirects(): Promise<{ moved: number; ask: number }> {
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
  const count = (kind: string) => Number(new RegExp(`weir_redis_cluster_redirects_total{kind="${kind}"} (\\d+)`).exec(body)?.[1] ?? 0);
  return { moved: count('moved'), ask: count('ask') };
}

async function metric(line: string): Promise<number> {
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
  return Number(new RegExp(`^${line} (\\d+)`, 'm').exec(body)?.[1] ?? 0);
}

async function health(): Promise<string> {
  return (await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).body;
}

test(
  'Weir decides on every node, and a request with buckets on all of them is all or nothing',
  async () => {
    for (const name of TENANTS) expect((await client.ask('d', [tenant(name)])).overall_code).toBe(OK);
    const everywhere = TENANTS.map(tenant);
    expect((await client.ask('d', everywhere)).overall_code).toBe(OK);
    expect(await used(...everywhere)).toEqual([2, 2, 2]);
    const once = { entries: { once: 'v' } };
    const denied = [...everywhere, once];
    expect((await client.ask('d', denied)).overall_code).toBe(OK);
    const { overall_code: code, statuses } = await client.ask('d', denied);
    expect([code, statuses.map((status) => status.code)]).toEqual([OVER_LIMIT, [OK, OK, OK, OVER_LIMIT]]);
    expect(statuses.map(({ limit_remaining: left }) => left)).toEqual([LIMIT - 3, LIMIT - 3, LIMIT - 3, 0]);
    expect(await used(...everywhere)).toEqual([3, 3, 3]);
    expect(weir.output()).toContain('connected to Redis at the cluster of 127.0.0.1');
    expect([await health(), await metric('weir_split_hits_lost_total')]).toEqual(['OK', 0]);
  },
  TIMEOUT_MS,
);

test(
  'many callers on a limit in one slot and another admit exactly the limit',
  async () => {
    const [first = '', second = ''] = TENANTS;
    const few = { entries: { tenant: first, few: 'v' } };
    const passes = async () => (await client.ask('d', [few, tenant(second)])).overall_code === OK;
    let admitted = 0;
    const call = async () => {
      for (let i = 0; i < 200; i += 1) if (await passes()) admitted += 1;
    };
    await Promise.all(Array.from({ length: CALLERS }, call));
    // A caller that was denied while another gave back what it had just taken leaves the rest to whoever comes next.
    expect(admitted).toBeLessThanOrEqual(FEW);
    for (let i = 0; i < 100; i += 1) if (await passes()) admitted += 1;
    expect([admitted, await used(few), await used(tenant(second))]).toEqual([FEW, [FEW], [FEW]]);
  },
  TIMEOUT_MS,
);

test(
  'a hot slot moves without a failed call, and exactly the admitted hits are charged',
  async () => {
    const [hot = '', other = ''] = TENANTS;
    const load = await underLoad(client, [tenant(hot)], () => moveThereAndBack(tagOf(hot), tagOf(other)));
    const { moved, ask } = await redirects();
    figure(`${load.admitted} admitted, ${load.failures.length} failed, ${moved} MOVED, ${ask} ASK`);
    expect(load.failures).toEqual([]);
    expect(load.denied).toBe(0);
    expectCharged(load, await used(tenant(hot)));
    expect(Math.min(load.admitted, moved, ask)).toBeGreaterThan(0);
    expect(await metric('weir_store_errors_total{store="redis"')).toBeLessThanOrEqual(load.late);
  },
  TIMEOUT_MS,
);

test(
  'a request over several buckets of a moving slot and one that stays is all or nothing throughout',
  async () => {
    const [hot = '', other = ''] = TENANTS;
    const descriptors = [tenant(hot), { entries: { tenant: hot, path: '/' } }, tenant(other)];
    const load = await underLoad(client, descriptors, () => moveThereAndBack(tagOf(hot), tagOf(other)));
    figure(`${load.admitted} admitted, ${load.failures.length} failed`);
    expect(load.failures).toEqual([]);
    expect(load.denied).toBe(0);
    expectCharged(load, await used(...descriptors));
    expect(load.admitted).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);

test(
  'a slot moves to a node that Weir did not know, and back',
  async () => {
    const [hot = ''] = TENANTS;
    const added = await cluster.addServer();
    await cluster.meet(added);
    await cluster.untilWhole();
    const from = await cluster.primaryOf(tagOf(hot));
    const load = await underLoad(client, [tenant(hot)], async () => {
      await cluster.moveSlot({ slot: slotOf(tagOf(hot)), from, to: added });
      await pause(300);
      await cluster.moveSlot({ slot: slotOf(tagOf(hot)), from: added, to: from });
    });
    expect(load.failures).toEqual([]);
    expectCharged(load, await used(tenant(hot)));
  },
  TIMEOUT_MS,
);

test(
  'CLUSTER FAILOVER under load over-grants nothing, and decisions go on',
  async () => {
    const [name = ''] = TENANTS;
    let tookMs = 0;
    const load = await underLoad(client, [tenant(name)], async () => {
      await pause(300);
      const startedMs = performance.now();
      await cluster.failOver(tagOf(name));
      tookMs = performance.now() - startedMs;
      await until(() =>
        used(tenant(name)).then(
          () => true,
          () => false,
        ),
      );
      await pause(1_000);
    });
    const gapMs = longestGapMs(load.admittedMs);
    figure(
      `failover in ${tookMs.toFixed(0)} ms, ${load.admitted} admitted, ${load.failures.length} failed, longest gap ${gapMs.toFixed(0)} ms`,
    );
    // Agreed by both: what the old primary has acknowledged, the new one has.
    const [charged] = await used(tenant(name));
    expect(charged).toBeGreaterThanOrEqual(load.admitted);
    expect(charged).toBeLessThanOrEqual(load.admitted + load.failures.length + load.late);
    // Who has the slot is looked up every 30 s by itself.
    expect(gapMs).toBeLessThan(5_000 * slowness());
  },
  TIMEOUT_MS,
);

test(
  'after a kill of a primary other slots keep deciding, and its own decide once its replica takes over',
  async () => {
    const [lost = '', kept = ''] = TENANTS;
    await client.ask('d', [tenant(lost)]);
    let killedMs = 0;
    let backMs = 0;
    const load = await underLoad(client, [tenant(kept)], async () => {
      await pause(300);
      await cluster.strikePrimaryOf(tagOf(lost));
      killedMs = performance.now();
      await until(async () => (await health()).startsWith('OK\ndegraded: redis\n'));
      await until(() =>
        client.ask('d', [tenant(lost)]).then(
          () => true,
          () => false,
        ),
      );
      backMs = performance.now();
      await until(async () => (await health()) === 'OK');
    });
    figure(`back after ${(backMs - killedMs).toFixed(0)} ms, ${load.admitted} admitted on other nodes, ${load.failures.length} failed`);
    expect(load.failures).toEqual([]);
    expect(await used(tenant(kept))).toEqual([load.admitted]);
    // One that waited for the dead node would be answered once a second.
    const meanwhile = load.admittedMs.filter((ms) => ms > killedMs && ms < backMs).length;
    expect(meanwhile).toBeGreaterThan((5 * CALLERS * (backMs - killedMs)) / 1_000 / slowness());
    expect(backMs - killedMs).toBeLessThan(10_000 * slowness());
    // It remembers what was counted before.
    expect(await used(tenant(lost))).toEqual([2]);
  },
  TIMEOUT_MS,
);

test(
  'after a hang of a primary its slots decide once its replica takes over, and health forgets its breaker',
  async () => {
    const [lost = '', kept = ''] = TENANTS;
    const { second, asker } = await startSecond(cluster.url, { REDIS_BREAKER_FAILURES: '1', REDIS_BREAKER_OPEN: '10m' });
    const healthOfSecond = async () => (await httpRequest(`http://127.0.0.1:${second.httpPort}/healthcheck`)).body.trim();
    const primary = await cluster.strikePrimaryOf(tagOf(lost), 'SIGSTOP');
    const startedMs = performance.now();
    const opened = until(async () => {
      await asker.ask('d', [tenant(lost)]).catch(() => undefined);
      return second.output().includes('opened: too many commands failed in a row');
    });
    await until(() =>
      client.ask('d', [tenant(lost)], { timeoutMs: 300 }).then(
        () => true,
        () => false,
      ),
    );
    figure(`back after ${(performance.now() - startedMs).toFixed(0)} ms`);
    expect(performance.now() - startedMs).toBeLessThan(10_000 * slowness());
    await opened;
    // Calls make it look for the new owner.
    await until(async () => {
      await asker.ask('d', [tenant(lost)]).catch(() => undefined);
      return (await healthOfSecond()) === 'OK';
    });
    expect((await client.ask('d', [tenant(kept)])).overall_code).toBe(OK);
    primary.server.kill('SIGCONT');
  },
  TIMEOUT_MS,
);

test(
  'a node that answers CLUSTERDOWN gets calls a second after it recovers, whatever REDIS_BREAKER_OPEN is',
  async () => {
    const { second, asker } = await startSecond(cluster.url, { REDIS_BREAKER_OPEN: '1m' });
    const heart = await cluster.primaryOf('weir:instances');
    const owners = await Promise.all(TENANTS.map(async (name) => ({ name, owner: await cluster.primaryOf(tagOf(name)) })));
    // Not the one that heartbeats are sent to.
    const { name, owner } = owners.find((each) => each.owner.id !== heart.id)!;
    const slot = slotOf(tagOf(name));
    const unused = String(slot % 5_461 === 0 ? slot + 1 : slot - 1);
    await owner.client.sendCommand(['CONFIG', 'SET', 'cluster-require-full-coverage', 'yes']);
    await owner.client.sendCommand(['CLUSTER', 'DELSLOTS', unused]);
    const ask = () =>
      asker.ask('d', [tenant(name)], { timeoutMs: 5_000 }).then(
        () => 'OK',
        (error: unknown) => (error as ServiceError).details,
      );
    await until(async () => (await ask()) === 'the store has failed too often and is not asked for a while');
    // One tries in vain each second.
    await until(async () => (await ask()) === 'Redis answered the error CLUSTERDOWN');
    await owner.client.sendCommand(['CLUSTER', 'ADDSLOTS', unused]);
    const mendedMs = performance.now();
    await until(async () => (await ask()) === 'OK');
    figure(`decides again after ${(performance.now() - mendedMs).toFixed(0)} ms`);
    expect(performance.now() - mendedMs).toBeLessThan(20_000 * slowness());
    // Told once, however often one has tried, and of which node.
    expect(second.output()).toContain(`Redis at 127.0.0.1:${owner.server.port}, of the cluster of 127.0.0.1:`);
    expect(second.output()).toContain('opened: too many commands failed in a row (Redis answered the error CLUSTERDOWN)');
    expect(second.output().split('opened: too many commands failed in a row').length).toBe(2);
  },
  TIMEOUT_MS,
);

test(
  'Weir starts degraded before its cluster exists, and finds it',
  async () => {
    const early = await RedisCluster.startUnformed();
    atEnd.push(() => early.stop());
    const { second, asker } = await startSecond(early.url);
    await until(() => second.output().includes('it does not belong to a cluster'));
    await expect(asker.ask('d', [tenant('t')])).rejects.toMatchObject({
      details: 'no known node of the Redis Cluster owns the slot of this bucket',
    });
    await early.form();
    await until(() =>
      asker.ask('d', [tenant('t')]).then(
        () => true,
        () => false,
      ),
    );
    await until(() => Promise.resolve(second.output().includes('connected to Redis at the cluster of')));
  },
  TIMEOUT_MS,
);

test(
  'a Redis without cluster mode is never used as a cluster',
  async () => {
    const single = await startRedis();
    atEnd.push(() => single.stop());
    const { second, asker } = await startSecond(`127.0.0.1:${single.port}`);
    await until(() => second.output().includes('CLUSTER SLOTS: Redis answered the error ERR'));
    await expect(asker.ask('d', [tenant('t')])).rejects.toMatchObject({
      details: 'no known node of the Redis Cluster owns the slot of this bucket',
    });
  },
  TIMEOUT_MS,
);

function longestGapMs(timesMs: readonly number[]): number {
  return Math.max(...timesMs.slice(1).map((ms, i) => ms - timesMs[i]!));
}

describe('the rights of docs/redis.md', () => {
  const line = fencedBlocks('docs/redis.md', 'text')
    .find((block) => block.startsWith('user weir '))!
    .trim()
    .split(' ')
    .slice(2);
  const more = /A cluster needs `([^`]+)` too/.exec(readFileSync('docs/redis.md', 'utf8'))![1]!.split(' ');
  const slot = slotOf('{d}');

  /** A Weir by these rights, while the slot of its only bucket moves. */
  async function use(
    rights: readonly string[],
    { seesSlots }: { readonly seesSlots: boolean },
  ): Promise<{ answers: string[]; refused: string[]; output: string }> {
    const eachServer = (command: readonly string[]) => Promise.all(cluster.servers.map((server) => server.client.sendCommand(command)));
    await eachServer(['ACL', 'SETUSER', 'weir', 'reset', ...rights]);
    await eachServer(['ACL', 'LOG', 'RESET']);
    const env = {
      REDIS_TYPE: 'cluster',
      REDIS_URL: cluster.url,
      REDIS_AUTH: 'weir:PASSWORD',
      CACHE_KEY_PREFIX: 'limits/',
      DENY_CACHE_MAX: '0',
      ...OP_TIMEOUT,
    };
    const second = await startWeir({ config: CONFIG, env });
    const asker = new RlsClient(second.grpcPort);
    const ask = async () => {
      try {
        return (await asker.ask('d', [{ entries: { once: 'v' } }])).overall_code === OK ? 'OK' : 'OVER_LIMIT';
      } catch (error) {
        return (error as ServiceError).details;
      }
    };
    // Without CLUSTER SLOTS it never finds the bucket's node.
    if (!seesSlots) await until(() => second.output().includes('CLUSTER SLOTS: '));
    else
      await until(() =>
        asker.ask('d', [{ entries: { once: 'v' }, hits_addend: { value: '0' } }]).then(
          () => true,
          () => false,
        ),
      );
    const from = await cluster.primaryOf('{d}');
    const heads = await Promise.all(TENANTS.map((name) => cluster.primaryOf(tagOf(name))));
    const to = heads.find(({ id }) => id !== from.id)!;
    const answers = [await ask()];
    await cluster.beginMove({ slot, from, to });
    await cluster.moveKeys({ slot, from, to });
    answers.push(await ask());
    await cluster.endMove({ slot, from, to });
    const logs = (await eachServer(['ACL', 'LOG'])) as unknown as string[][][];
    asker.close();
    await second.stop();
    return { answers, refused: [...new Set(logs.flat().map((entry) => entry[entry.indexOf('object') + 1]!))], output: second.output() };
  }

  test(
    'the ACL line is enough for a cluster, and less is not',
    async () => {
      expect(more).toEqual(['+cluster|slots', '+asking']);
      expect(await use([...line, ...more], { seesSlots: true })).toMatchObject({ answers: ['OK', 'OVER_LIMIT'], refused: [] });
      const failure = 'no known node of the Redis Cluster owns the slot of this bucket';
      expect(await use([...line, '+cluster|slots'], { seesSlots: true })).toMatchObject({
        answers: ['OVER_LIMIT', failure],
        refused: ['asking'],
      });
      const blind = await use([...line, '+asking'], { seesSlots: false });
      expect(blind).toMatchObject({ answers: [failure, failure], refused: ['cluster|slots'] });
      expect(blind.output).toContain('CLUSTER SLOTS: Redis answered the error NOPERM');
    },
    TIMEOUT_MS,
  );
});
