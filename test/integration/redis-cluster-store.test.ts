/** The store of a Redis Cluster on a real one: slots that move, nodes that come, go and change places. */

import type { Group } from '../../src/bucket/take';
import { DeadlineStore } from '../../src/resilience/deadline';
import type { NodeAddress } from '../../src/store/cluster-slots';
import { slotOf } from '../../src/store/cluster-slots';
import { RedisClusterStore } from '../../src/store/redis-cluster-store';
import { RedisStore } from '../../src/store/redis-store';
import { SplitStore } from '../../src/store/split-store';
import { groupOf, take } from '../support/groups';
import { decided } from '../support/outcomes';
import { RedisCluster } from '../support/redis-cluster';
import { storeOptions } from '../support/redis-store';

const TIMEOUT_MS = 60_000;
const OP_TIMEOUT_MS = 1_000;
const YEARLY = { algorithm: 'token_bucket', windowUs: 31_536_000_000_000, requestsPerUnit: 1_000_000, capacity: 1_000_000 } as const;

interface Opened {
  readonly store: SplitStore;
  readonly redirects: string[];
  readonly lost: number[];
  readonly states: boolean[];
  readonly made: NodeAddress[];
}

async function open(seeds: readonly NodeAddress[]): Promise<Opened> {
  const opened = { redirects: [] as string[], lost: [] as number[], states: [] as boolean[], made: [] as NodeAddress[] };
  const cluster = new RedisClusterStore({
    seeds,
    timeoutMs: OP_TIMEOUT_MS,
    connectTimeoutMs: 1_000,
    onConnection: ({ connected }) => opened.states.push(connected),
    onRedirect: (kind) => opened.redirects.push(kind),
    makeNode: (address, onConnection) => {
      opened.made.push(address);
      const redis = new RedisStore({ ...storeOptions(address.port), server: { socket: address }, isClusterNode: true, onConnection });
      const store = new DeadlineStore(redis, { timeoutMs: OP_TIMEOUT_MS });
      return { store, connect: (options) => redis.connect(options), readSlots: () => redis.readSlots() };
    },
  });
  await cluster.connect({ waitMs: 5_000 });
  const partOf = ({ bucketKey }: { bucketKey: string }) => slotOf(bucketKey);
  return { ...opened, store: new SplitStore(cluster, { partOf, timeoutMs: OP_TIMEOUT_MS, onHitsLost: (hits) => opened.lost.push(hits) }) };
}

function seedsOf(cluster: RedisCluster): NodeAddress[] {
  return cluster.servers.map(({ server }) => ({ host: '127.0.0.1', port: server.port }));
}

async function remaining(store: SplitStore, key: string): Promise<number> {
  const [outcome] = await store.take([groupOf([take(key, { hits: 0, limit: YEARLY })])]);
  return decided(outcome).verdicts[0]!.remaining;
}

/** Callers in a loop for as long as `during` runs; how many were admitted, and the failures. */
async function underLoad(store: SplitStore, groupAt: (n: number) => Group, during: () => Promise<void>): Promise<{ admitted: Map<string, number>; failures: string[] }> {
  const admitted = new Map<string, number>();
  const failures: string[] = [];
  let running = true;
  let n = 0;
  const call = async () => {
    while (running) {
      n += 1;
      const group = groupAt(n);
      try {
        const [outcome] = await store.take([group]);
        if (!decided(outcome).overLimit) for (const { bucketKey, hits } of group.takes) admitted.set(bucketKey, (admitted.get(bucketKey) ?? 0) + hits);
      } catch (error) {
        failures.push((error as Error).message);
      }
    }
  };
  const callers = Array.from({ length: 16 }, call);
  await during();
  running = false;
  await Promise.all(callers);
  return { admitted, failures };
}

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await RedisCluster.start();
}, TIMEOUT_MS);

afterAll(() => cluster.stop());

test('smoke', async () => {
  const { store, redirects, lost, states, made } = await open(seedsOf(cluster).slice(5));
  console.log(states, made);
  const keys = ['{a}1', '{b}1', '{c}1', '{a}2'];
  const group = groupOf(keys.map((key) => take(key, { limit: YEARLY })));
  console.log(decided((await store.take([group]))[0]));
  const from = await cluster.primaryOf('{a}');
  const to = await cluster.primaryOf('{b}');
  const move = { slot: slotOf('{a}'), from, to };
  const { admitted, failures } = await underLoad(store, () => groupOf([take('{a}1', { limit: YEARLY }), take('{a}2', { limit: YEARLY })]), async () => {
    for (const each of [move, { ...move, from: to, to: from }, move]) {
      await cluster.beginMove(each);
      await new Promise((r) => setTimeout(r, 100));
      await cluster.moveKeys(each, ['{a}1']);
      await new Promise((r) => setTimeout(r, 100));
      await cluster.moveKeys(each);
      await new Promise((r) => setTimeout(r, 100));
      await cluster.endMove(each);
      await new Promise((r) => setTimeout(r, 100));
    }
  });
  console.log(admitted, failures.slice(0, 5), failures.length, lost, redirects.length, new Set(redirects));
  for (const [key, hits] of admitted) console.log(key, hits, 1_000_000 - (await remaining(store, key)));
  await store.close();
}, TIMEOUT_MS);
