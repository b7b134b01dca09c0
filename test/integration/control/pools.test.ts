/** Three processes on one Redis charge every level of a tree of tenants alike, while its tenants move all the time, and no level admits more than its limit. */

import { createClient } from '@redis/client';
import { UNIT_US } from '../../../src/domain/descriptor/unit';
import type { StoredRecord } from '../../../src/state/control/control-record';
import { readRecord } from '../../../src/state/control/read-record';
import { httpRequest } from '../../support/clients/http-client';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { instanceOnRedis, NOTE, recordsIn, recordsOf, type Instance } from '../../support/control/control-harness';
import { figure } from '../../support/docs/figure';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { randomFrom, seededInFull } from '../../support/random/random';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';

const SEAT = 400;
const TEAM = 700;
const ORG = 1_000;
const ORGS = ['o0', 'o1'];
const TEAMS = ['t0', 't1', 't2', 't3'];
const USERS = Array.from({ length: 8 }, (_, i) => `u${i}`);
const REQUESTS = 6_000;

const CONFIG = `
domain: llm
algorithm: fixed_window
plans:
  seat: { rate_limit: { unit: year, requests_per_unit: ${SEAT} } }
  team: { pool: [{ unit: year, requests_per_unit: ${TEAM} }] }
  org: { pool: [{ unit: year, requests_per_unit: ${ORG} }], members: seat }
descriptors: [{ key: caller, tenant: true, default_plan: seat }]
`;

let redis: RedisServer;
let instances: readonly WeirProcess[];
let writers: readonly [Instance, Instance];

beforeAll(async () => {
  redis = await startRedis();
  // A lease charges hits ahead, which no request of a member has asked for yet.
  const env = { REDIS_URL: `127.0.0.1:${redis.port}`, CONTROL_DATA: 'true', REDIS_OP_TIMEOUT: '1s', LEASES: 'off' };
  const config = writeConfig(CONFIG);
  writers = [await instanceOnRedis(redis.port), await instanceOnRedis(redis.port)];
  await place(writers[0], ...ORGS.map((tenant) => ({ tenant, plan: 'org' })));
  await place(writers[0], ...TEAMS.map((tenant, i) => ({ tenant, plan: 'team', parent: ORGS[i % 2]! })));
  await place(writers[0], ...ORGS.map((parent, i) => ({ tenant: `anchor${i}`, plan: 'team', parent })));
  await place(writers[0], ...USERS.map((tenant, i) => ({ tenant, parent: TEAMS[i % 4]! })));
  instances = await Promise.all([1, 2, 3].map(() => startWeir({ config, env })));
});

afterAll(async () => {
  await Promise.all(instances.map((instance) => instance.stop()));
  await Promise.all(writers.map((writer) => writer.close()));
  await redis.stop();
});

interface Place {
  readonly tenant: string;
  readonly plan?: string;
  readonly parent?: string;
}

async function place({ service }: Instance, ...places: readonly Place[]): Promise<string> {
  const changes = places.map((each) => ({ put: readRecord({ kind: 'tenant', domain: 'llm', ...each }) }));
  const outcome = await service.write({ changes, audit: NOTE });
  return outcome.kind === 'tree' ? outcome.problem : outcome.kind;
}

async function ask({ httpPort }: WeirProcess, caller: string): Promise<number> {
  const body = { domain: 'llm', descriptors: [{ entries: [{ key: 'caller', value: caller }] }] };
  return (await httpRequest(`http://127.0.0.1:${httpPort}/json`, { body })).status;
}

/** Hits used, by bucket key. A fixed window is the start of the window in halves of a microsecond, plus its used hits. */
async function usedHits(): Promise<Map<string, number>> {
  const client = createClient({ socket: { port: redis.port } });
  await client.connect();
  const keys = (await client.keys('1{llm}*')).toSorted();
  const startUs = BigInt(Math.floor((Date.now() * 1_000) / UNIT_US.year)) * BigInt(UNIT_US.year);
  const used = await Promise.all(keys.map(async (key) => [key, Number(BigInt((await client.get(key)) ?? 0) - 2n * startUs)] as const));
  await client.close();
  return new Map(used);
}

function treeOf(records: readonly StoredRecord[]): string[] {
  return records.flatMap(({ record }) => (record.kind === 'tenant' ? [`${record.tenant} below ${record.parent ?? '-'}`] : [])).toSorted();
}

function sumOf(used: ReadonlyMap<string, number>, owners: readonly string[]): number {
  return [...used].reduce((sum, [key, hits]) => sum + (owners.includes(key.replace(/.*=/, '')) ? hits : 0), 0);
}

test('charges of members, teams and organizations are the same in sum, within every limit, while all of them move', async () => {
  const { seed } = seededInFull(REQUESTS);
  const random = randomFrom({ seed });
  const any = <Item>(items: readonly Item[]): Item => items[random(items.length)]!;
  let [asked, admitted, denied, moved] = [0, 0, 0, 0];
  const failures: (number | string)[] = [];
  const askers = instances.flatMap((instance) =>
    [1, 2, 3, 4].map(async () => {
      while (asked < REQUESTS) {
        asked += 1;
        const status = await ask(instance, any(USERS));
        if (status === 200) admitted += 1;
        else if (status === 429) denied += 1;
        else failures.push(status);
      }
    }),
  );
  const movers = writers.map(async (writer) => {
    while (asked < REQUESTS) {
      const isTeam = random(3) === 0;
      const [tenant, parent] = isTeam ? [any(TEAMS), any(ORGS)] : [any(USERS), any(TEAMS)];
      const outcome = await place(writer, isTeam ? { tenant, plan: 'team', parent } : { tenant, parent });
      if (outcome !== 'written') failures.push(outcome);
      // An organization always has a team, so this is a cycle or has a fifth level, whatever the other writer does meanwhile.
      const refused = await place(writer, { tenant: any(ORGS), parent: any(USERS) });
      if (refused !== 'cycle' && refused !== 'depth') failures.push(refused);
      moved += 1;
    }
  });
  await Promise.all([...askers, ...movers]);
  expect(failures).toEqual([]);
  const used = await usedHits();
  expect([sumOf(used, USERS), sumOf(used, TEAMS), sumOf(used, ORGS)]).toEqual([admitted, admitted, admitted]);
  for (const [key, hits] of used) expect(hits).toBeLessThanOrEqual(key.includes('=o') ? ORG : key.includes('=t') ? TEAM : SEAT);
  expect(sumOf(used, ORGS)).toBe(ORGS.length * ORG);
  expect(denied).toBeGreaterThan(1_000);
  figure(`${admitted} admitted, ${denied} denied, ${moved} moves`);
});

test('of two instances that each would close a cycle at once, one is refused, and every replica has the same tree', async () => {
  const [one, other] = writers;
  const outcomes = new Map<string, number>();
  for (let round = 0; round < 50; round += 1) {
    const names = [`x${round}`, `y${round}`] as const;
    const found = await Promise.all([
      place(one, { tenant: names[0], parent: names[1] }),
      place(other, { tenant: names[1], parent: names[0] }),
    ]);
    expect(found.toSorted()).toEqual(['cycle', 'written']);
    outcomes.set(found[0], (outcomes.get(found[0]) ?? 0) + 1);
  }
  for (const writer of writers) await writer.follower.catchUp();
  const stored = treeOf(await recordsIn(one.store));
  expect([treeOf(recordsOf(one)), treeOf(recordsOf(other))]).toEqual([stored, stored]);
  figure(`50 rounds: ${[...outcomes].map(([outcome, count]) => `${count} ${outcome}`).join(', ')} for the first`);
});

test('a tenant has ten thousand others below it, and a page of them and its refused deletion say so', async () => {
  const [one] = writers;
  for (let at = 0; at < 10_000; at += 50)
    await place(one, ...Array.from({ length: 50 }, (_, i) => ({ tenant: `c${at + i}`, plan: 'seat', parent: 'crowd' })));
  await one.follower.catchUp();
  expect(one.data.childrenOf({ domain: 'llm', name: 'crowd' }, { limit: 2, after: 'c9998' })).toMatchObject({
    names: ['c9999'],
    count: 10_000,
  });
  await place(one, { tenant: 'crowd', plan: 'org' });
  const outcome = await one.service.write({ changes: [{ delete: { kind: 'tenant', domain: 'llm', name: 'crowd' } }], audit: NOTE });
  expect(outcome).toMatchObject({ kind: 'tree', problem: 'children', count: 10_000 });
});

test('where the key with the counts of trees is lost, cycles and fifth levels above a tenant are still refused', async () => {
  const [one] = writers;
  await place(one, { tenant: 'low', parent: 'mid' }, { tenant: 'mid', parent: 'top' }, { tenant: 'top', parent: 'root' });
  const client = createClient({ socket: { port: redis.port } });
  await client.connect();
  expect(await client.del('weir:control:1{weir:control}tree')).toBe(1);
  await client.close();
  expect(await place(one, { tenant: 'root', parent: 'low' })).toBe('cycle');
  expect(await place(one, { tenant: 'under', parent: 'low' })).toBe('depth');
});

test('a reservation of a member holds hits in every pool, and its release gives them back', async () => {
  const [weir] = instances;
  await place(writers[0], { tenant: 'res-org', plan: 'org' }, { tenant: 'res-team', plan: 'team', parent: 'res-org' });
  await place(writers[0], { tenant: 'res', plan: 'seat', parent: 'res-team' });
  const of = { domain: 'llm', descriptors: [{ entries: [{ key: 'caller', value: 'res' }] }] };
  const send = (path: string, body: object) => httpRequest(`http://127.0.0.1:${weir!.httpPort}/v1/reservations${path}`, { body });
  const used = async () => {
    const hits = await usedHits();
    return ['res', 'res-team', 'res-org'].map((owner) => sumOf(hits, [owner]));
  };
  // Until the process knows the tenants, only the default plan counts.
  await until(async () => (await ask(weir!, 'res')) === 200 && (await used())[2] === 1);
  const [before = 0] = await used();
  expect((await send('', { ...of, hits: 50, id: 'r', ttl: '60s' })).status).toBe(200);
  expect(await used()).toEqual([before + 50, 51, 51]);
  expect((await send('/r:release', of)).status).toBe(200);
  expect(await used()).toEqual([before, 1, 1]);
});
