/** Control data that Redis acknowledged and lost stay in force, are reported, and can be restored. */

import { setTimeout } from 'node:timers/promises';
import { keyOf, type OverrideRecord } from '../../../src/state/control/control-record';
import { RedisControlStore } from '../../../src/state/control/redis/redis-control-store';
import { RedisStore } from '../../../src/state/store/redis/redis-store';
import { blockOf, instanceOnRedis, NOTE, recordsIn, recordsOf, type Instance } from '../../support/control/control-harness';
import { freePort } from '../../support/servers/ports';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { makeTestClient, storeOptions, type TestClient } from '../../support/redis/redis-store';
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
  expect(one.follower.state).toEqual({ state: 'lost', lost: 3, missing: 0, unreadable: 0 });
  // At no time did it look as if nothing were lost.
  expect(one.states.slice(shownBefore).map(({ state }) => state)).not.toContain('following');
  expect(idsOf(await follow(server.port))).toEqual(['d']);
  expect(await one.service.restore({ author: 'ann', action: 'restore' })).toBe(3);
  await until(() => [one, two].every(({ follower }) => follower.state.state === 'following'));
  const restarted = await follow(server.port);
  expect(idsOf(restarted).sort()).toEqual(['a', 'b', 'c', 'd']);
  expect(recordsOf(two)).toEqual(recordsOf(restarted));
  // Who put a tenant on a plan, why, and when, comes back too.
  const [after] = await restarted.service.read([keyOf(tenant)]);
  expect(after?.record).toEqual(before?.record);
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

/** A connection of another hand, which damages keys. */
async function hand(): Promise<TestClient> {
  const client = makeTestClient(server.port);
  await client.connect();
  closing.push(() => {
    client.destroy();
    return Promise.resolve();
  });
  return client;
}

const SPACE = 'weir:control:1{weir:control}';
const RECORD_TEXT = '{"kind":"block","domain":"d","id":"bad","entries":[{"key":"ip","value":"bad"}]}';

async function callsIn(client: TestClient, ms: number): Promise<number> {
  await client.sendCommand(['CONFIG', 'RESETSTAT']);
  await setTimeout(ms);
  const stats = await client.info('commandstats');
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

test.each([
  { damage: 'a version behind which the log ends', commands: [['HSET', `${SPACE}about`, 'version', '1900000000000000']] },
  { damage: 'a version before the end of the log', commands: [['HSET', `${SPACE}about`, 'version', '5']] },
  { damage: 'a version that is none', commands: [['HSET', `${SPACE}about`, 'version', 'x']] },
  { damage: 'no log', commands: [['DEL', `${SPACE}log`]] },
  {
    damage: 'a log of something else',
    commands: [
      ['DEL', `${SPACE}log`],
      ['XADD', `${SPACE}log`, '9007199254740991-0', 'a', 'b'],
    ],
  },
])('$damage: followers do not read without end, and the next write is in force everywhere', async ({ commands }) => {
  const [one, two] = [await follow(server.port), await follow(server.port)];
  await put(one, 'a');
  await until(() => idsOf(two).length === 1);
  const client = await hand();
  for (const command of commands) await client.sendCommand(command);
  await setTimeout(300);
  // Two followers that poll every 100 ms.
  expect(await callsIn(client, 1_000)).toBeLessThan(100);
  expect([one, two].map(({ follower }) => follower.state.state)).toEqual(['following', 'following']);
  await put(one, 'b');
  await until(() => idsOf(two).length === 2);
});

test('a hash of records that is gone: who knew them keeps them, a new instance says that it lacks them, and a restore brings all back', async () => {
  const [one, two] = [await follow(server.port), await follow(server.port)];
  for (const id of ['a', 'b', 'deleted']) await put(one, id);
  await one.service.write({ changes: [{ delete: keyOf(blockOf('deleted')) }], audit: NOTE });
  await until(() => idsOf(two).length === 2);
  const client = await hand();
  await client.sendCommand(['DEL', `${SPACE}record:block`]);
  await until(() => [one, two].every(({ follower }) => follower.state.lost === 2));
  expect(one.follower.state).toEqual({ state: 'lost', lost: 2, missing: 2, unreadable: 0 });
  expect(idsOf(two).sort()).toEqual(['a', 'b']);
  const late = await follow(server.port);
  expect(late.follower.state).toEqual({ state: 'lost', lost: 0, missing: 2, unreadable: 0 });
  // What was lost can be deleted: the other instances learn of it.
  await two.service.write({ changes: [{ delete: keyOf(blockOf('b')) }], audit: NOTE });
  await until(() => one.follower.state.lost === 1);
  expect(await one.service.restore({ author: 'ann', action: 'restore' })).toBe(1);
  await until(() => [one, two, late].every((instance) => String(idsOf(instance)) === 'a'));
  await one.service.discardLost({ author: 'ann', action: 'discard' });
  await until(() => [one, two, late].every(({ follower }) => follower.state.state === 'following'));
  expect(idsOf(late)).toEqual(['a']);
});

test('a restore brings back nothing that another instance deletes meanwhile', async () => {
  const [one, two] = [await follow(server.port), await follow(server.port)];
  for (let i = 0; i < 20; i += 1) await put(one, `b${i}`);
  await until(() => idsOf(two).length === 20);
  for (let i = 0; i < 20; i += 1) await one.service.write({ changes: [{ delete: keyOf(blockOf(`b${i}`)) }], audit: NOTE });
  expect(await two.service.restore({ author: 'ann', action: 'restore' })).toBe(0);
  await until(() => idsOf(one).length === 0 && idsOf(two).length === 0);
});

test.each([
  'x',
  `x ${RECORD_TEXT}`,
  '5 {"kind":"block"',
  `5 ${RECORD_TEXT.replace('"id"', '"new":1,"id"')}`,
  `99999999999999999 ${RECORD_TEXT}`,
])('a record that cannot be read (%s) is named, everything else is in force, and a write repairs it', async (text) => {
  const one = await follow(server.port);
  await put(one, 'good');
  const client = await hand();
  await client.sendCommand(['HSET', `${SPACE}record:block`, 'd/bad', text]);
  const late = await follow(server.port);
  expect(late.follower.state).toMatchObject({ state: 'following', unreadable: 1 });
  expect(idsOf(late)).toEqual(['good']);
  const page = await late.service.scan({ kind: 'block', limit: 10 });
  expect(page).toMatchObject({ records: [{ record: { id: 'good' } }], unreadable: [{ key: { domain: 'd', name: 'bad' } }] });
  expect(await late.service.read([keyOf(blockOf('bad'))])).toEqual([undefined]);
  expect(await put(one, 'bad')).toMatchObject({ kind: 'written' });
  await until(() => idsOf(late).length === 2 && late.follower.state.unreadable === 0);
  await client.sendCommand(['HSET', `${SPACE}record:block`, 'd/bad', text]);
  expect(await one.service.write({ changes: [{ delete: keyOf(blockOf('bad')) }], audit: NOTE })).toMatchObject({ kind: 'written' });
  expect(await client.sendCommand(['HEXISTS', `${SPACE}record:block`, 'd/bad'])).toBe(0);
});

test('the version of the data is gone and the log is ahead of the clock: the next write is made as a whole, and is in force everywhere', async () => {
  const [one, two] = [await follow(server.port), await follow(server.port)];
  await put(one, 'a');
  await until(() => idsOf(two).length === 1);
  const client = await hand();
  const ahead = (Date.now() + 3_600_000) * 1_000;
  await client.sendCommand(['XADD', `${SPACE}log`, `${ahead}-0`, '4 d/none', '']);
  await client.sendCommand(['DEL', `${SPACE}about`]);
  const outcome = await put(one, 'b');
  expect(outcome).toMatchObject({ kind: 'written', effects: [{ isChanged: true }] });
  expect(outcome.kind === 'written' && outcome.version).toBeGreaterThan(ahead);
  expect((await one.store.audit({ order: 'newest', limit: 10 })).entries.map(({ key }) => key?.name)).toEqual(['b', 'a']);
  const late = await follow(server.port);
  for (const each of [one, two, late]) await until(() => String(idsOf(each).sort()) === 'a,b');
  // The next one too.
  await put(one, 'c');
  for (const each of [one, two, late]) await until(() => String(idsOf(each).sort()) === 'a,b,c');
});

test('a newer version of Weir writes a record again that this one cannot read: it has no effect here, no older one stays, and health says so', async () => {
  const [one, two] = [await follow(server.port), await follow(server.port)];
  for (const id of ['a', 'b']) await put(one, id);
  await until(() => idsOf(two).length === 2);
  const redis = new RedisStore(storeOptions(server.port));
  closing.push(() => redis.close());
  await redis.connect({ waitMs: WAIT_MS });
  // Records of a newer version have a field that this one does not know.
  const newer = new RedisControlStore({
    run: (call, options) =>
      redis.run({ ...call, args: call.args.map((arg) => arg.replace('"entries":', '"newer":1,"entries":')) }, options),
    keyPrefix: '',
    onUnreadable: () => undefined,
  });
  expect(await newer.write({ changes: [{ put: blockOf('a') }], audit: NOTE })).toMatchObject({ kind: 'written' });
  for (const each of [one, two]) {
    await until(() => each.follower.state.unreadable === 1);
    expect(idsOf(each)).toEqual(['b']);
  }
  expect(await follow(server.port).then((late) => [idsOf(late), late.follower.state.unreadable])).toEqual([['b'], 1]);
});
