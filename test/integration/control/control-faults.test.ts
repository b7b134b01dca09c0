/** Faults of a real Redis that keeps control data: nothing acknowledged is lost silently, and every loss is reported. */

import { keyOf, type OverrideRecord } from '../../../src/control/control-record';
import { blockOf, instanceOnRedis, NOTE, recordsIn, recordsOf, type Instance } from '../../support/control/control-harness';
import { freePort } from '../../support/servers/ports';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { makeTestClient } from '../../support/redis/redis-store';
import { TcpProxy } from '../../support/servers/tcp-proxy';
import { until } from '../../support/clock/until';
import { hangLimitMs } from '../../support/clock/hang-limit';

const WAIT_MS = hangLimitMs(10_000);

let server: RedisServer;
const closing: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  server = await startRedis();
});

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await server.stop();
});

async function follow(port: number): Promise<Instance> {
  const instance = await instanceOnRedis(port);
  closing.push(instance.close);
  await instance.follower.start({ waitMs: WAIT_MS });
  return instance;
}

const put = (instance: Instance, id: string) => instance.service.write({ changes: [{ put: blockOf(id) }], audit: NOTE });
const idsOf = (instance: Instance) => recordsOf(instance).map(({ record }) => keyOf(record).name);

test('Redis restarted empty: instances keep what they know and say so, and a restore brings it back for a new instance', async () => {
  const [one, two] = [await follow(server.port), await follow(server.port)];
  for (const id of ['a', 'b']) await put(one, id);
  const tenant = { kind: 'tenant', domain: 'd', tenant: 'c', plan: 'gold' } as const;
  const author = { author: 'bob', action: 'put' };
  await one.service.write({ changes: [{ put: { ...tenant, reason: 'upgrade' } }], audit: author });
  const [before] = await one.service.read([keyOf(tenant)]);
  await until(() => idsOf(two).length === 3);
  const known = recordsOf(two);
  server.kill('SIGKILL');
  await until(() => [one, two].every(({ follower }) => follower.state.state === 'behind'));
  expect(recordsOf(two)).toEqual(known);
  const shownBefore = one.states.length;
  await server.restart();
  await until(() => [one, two].every(({ follower }) => follower.state.state === 'lost'));
  expect(two.follower.state.lost).toBe(3);
  // A write into the empty Redis begins anew, and loses nothing that the instances know.
  await put(two, 'd');
  await until(() => idsOf(one).length === 4 && one.follower.state.lost === 3);
  expect(one.follower.state).toEqual({ state: 'lost', lost: 3 });
  // At no time did it look as if nothing were lost.
  expect(one.states.slice(shownBefore).map(({ state }) => state)).not.toContain('following');
  expect(idsOf(await follow(server.port))).toEqual(['d']);
  expect(await one.service.restore({ author: 'ann', action: 'restore' })).toBe(3);
  await until(() => [one, two].every(({ follower }) => follower.state.state === 'following'));
  const restarted = await follow(server.port);
  expect(idsOf(restarted).sort()).toEqual(['a', 'b', 'c', 'd']);
  expect(recordsOf(two)).toEqual(recordsOf(restarted));
  // Who put a tenant on a plan, why, and when, comes back too; the time is that of the write in Redis.
  const [after] = await restarted.service.read([keyOf(tenant)]);
  expect(after?.record).toEqual({ ...before?.record, createdAtMs: Math.floor((before?.version ?? 0) / 1_000) });
  expect(after?.record).toMatchObject({ ...tenant, reason: 'upgrade', author: 'bob' });
});

test('failover to a replica without the latest writes: they stay in force, are reported, and can be restored or given up', async () => {
  const replica = await startRedis();
  closing.push(() => replica.stop());
  const [toPrimary, toReplica] = [makeTestClient(server.port), makeTestClient(replica.port)];
  await toPrimary.connect();
  await toReplica.connect();
  const proxy = await TcpProxy.start(server.port);
  closing.push(() => proxy.stop());
  const [one, two] = [await follow(proxy.port), await follow(proxy.port)];
  await put(one, 'before');
  await toReplica.sendCommand(['REPLICAOF', '127.0.0.1', String(server.port)]);
  await until(async () => Number(await toPrimary.sendCommand(['WAIT', '1', '10'])) === 1);
  await until(async () => (await toReplica.sendCommand(['DBSIZE'])) === (await toPrimary.sendCommand(['DBSIZE'])));
  await toReplica.sendCommand(['REPLICAOF', 'NO', 'ONE']);
  await put(one, 'lost');
  await until(() => idsOf(two).length === 2);
  proxy.pointTo(replica.port);
  proxy.resetOpen();
  await until(() => [one, two].every(({ follower }) => follower.state.state === 'lost'));
  expect(idsOf(two)).toEqual(['before', 'lost']);
  expect(two.follower.state.lost).toBe(1);
  await one.service.discardLost({ author: 'ann', action: 'discard' });
  await until(() => idsOf(two).length === 1 && two.follower.state.state === 'following');
  expect(idsOf(one)).toEqual(['before']);
  toPrimary.destroy();
  toReplica.destroy();
});

test('one instance cut off: it keeps the last known, and catches up, also when the log no longer reaches back', async () => {
  const proxy = await TcpProxy.start(server.port);
  closing.push(() => proxy.stop());
  const [writer, cutOff] = [await follow(server.port), await follow(proxy.port)];
  await put(writer, 'a');
  await until(() => idsOf(cutOff).length === 1);
  proxy.pointTo(await freePort());
  proxy.resetOpen();
  await writer.service.write({ changes: [{ delete: keyOf(blockOf('a')) }], audit: NOTE });
  for (let i = 0; i < 30; i += 1) await put(writer, `b${i}`);
  const client = makeTestClient(server.port);
  await client.connect();
  const [log] = (await client.keys('*')).filter((key) => key.endsWith('log'));
  await client.sendCommand(['XTRIM', log!, 'MAXLEN', '5']);
  client.destroy();
  await until(() => cutOff.states.at(-1)?.state === 'behind');
  expect(idsOf(cutOff)).toEqual(['a']);
  proxy.pointTo(server.port);
  await until(() => cutOff.states.at(-1)?.state === 'following' && idsOf(cutOff).length === 30);
  expect(recordsOf(cutOff)).toEqual(await recordsIn(writer.store));
  expect(cutOff.states.map(({ state }) => state)).not.toContain('lost');
});

test('two admins at once: each change is made on top of the one before', async () => {
  const [one, two] = [await follow(server.port), await follow(server.port)];
  const record = (requestsPerUnit: number): OverrideRecord => ({
    kind: 'override',
    domain: 'd',
    id: 'x',
    entries: [{ key: 'k' }],
    limit: { requestsPerUnit, unit: 'minute' },
  });
  await one.service.write({ changes: [{ put: record(0) }], audit: NOTE });
  const increment = async ({ service }: Instance): Promise<void> => {
    for (let tries = 0; tries < 1_000; tries += 1) {
      const [current] = await service.read([keyOf(record(0))]);
      if (current?.record.kind !== 'override') throw new Error('no override');
      const changes = [{ put: record(current.record.limit.requestsPerUnit + 1), expect: current.version }];
      if ((await service.write({ changes, audit: NOTE })).kind === 'written') return;
    }
    throw new Error('never written');
  };
  await Promise.all(
    [one, two].map(async (instance) => {
      for (let i = 0; i < 25; i += 1) await increment(instance);
    }),
  );
  await until(() =>
    [one, two].every(({ data }) => {
      const known = data.get(keyOf(record(0)))?.record;
      return known?.kind === 'override' && known.limit.requestsPerUnit === 50;
    }),
  );
});

test('a write whose reply is lost is repeated by its id, and made once', async () => {
  const proxy = await TcpProxy.start(server.port);
  closing.push(() => proxy.stop());
  const [behindProxy, other] = [await instanceOnRedis(proxy.port), await follow(server.port)];
  closing.push(behindProxy.close);
  // The first run of a script may cost a reply more, which says that Redis does not know it.
  await behindProxy.store.write({ changes: [], audit: NOTE, dryRun: true });
  let losses = 0;
  proxy.loseReplies(() => (losses += 1) === 1);
  const write = { changes: [{ put: blockOf('a'), expect: 'absent' as const }], audit: NOTE, id: 'w-1' };
  await expect(behindProxy.store.write(write)).rejects.toThrow();
  await until(() => idsOf(other).length === 1);
  await until(async () => {
    const outcome = await behindProxy.store.write(write).catch(() => undefined);
    return outcome?.kind === 'written' && outcome.isRepeated;
  });
  expect((await other.store.audit({ order: 'oldest', limit: 10 })).entries).toHaveLength(1);
});
