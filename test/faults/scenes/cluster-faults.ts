/** Faults of a Redis Cluster of three primaries with a replica each; all buckets of the load are in one slot. */

import { slotOf } from '../../../src/state/store/redis/cluster-slots';
import { RedisCluster, type ClusterServer } from '../../support/redis/redis-cluster';
import { sleep, type During, type Fault, type Seen } from '../run/fault';
import { DOMAIN } from '../run/load';
import { killClients } from './single-redis';
import { hangLimitMs } from '../../support/clock/hang-limit';

/** What every bucket of the domain has in its key. */
const HASH_TAG = `{${DOMAIN}}`;

const POLL_MS = 20;
const TAKEN_OVER_WITHIN_MS = hangLimitMs(20_000);
const AGREED_WITHIN_MS = hangLimitMs(20_000);

/** A server that has not heard of the last move's epoch takes its own for the newest, and its claim to the slot loses. */
const MOVE_PAUSE_MS = 250;

interface OnCluster extends During {
  readonly cluster: RedisCluster;
}

const onCluster =
  (strike: (input: OnCluster) => Promise<Seen>): Fault['open'] =>
  async () => {
    const cluster = await RedisCluster.start();
    return {
      env: { REDIS_TYPE: 'cluster', REDIS_URL: cluster.url },
      reconnect: async () => {
        await Promise.all(cluster.servers.map(({ client }) => killClients(client)));
      },
      strike: (during) => strike({ ...during, cluster }),
      close: () => cluster.stop(),
    };
  };

export const CLUSTER_FAULTS: readonly Fault[] = [
  {
    name: 'Cluster: primary killed',
    done: '`kill -9` of the primary of the hot slot (`cluster-node-timeout 1000`); over when its replica has taken over',
    loses: 'last_seconds',
    open: onCluster(async ({ cluster }) => {
      const strikeMs = performance.now();
      await cluster.strikePrimaryOf(HASH_TAG);
      await untilTakenOver(cluster);
      return { noted: `taken over after ${Math.round(performance.now() - strikeMs)} ms` };
    }),
  },
  {
    name: 'Cluster: CLUSTER FAILOVER',
    done: 'the replica of the hot slot takes over by agreement',
    loses: 'nothing',
    open: onCluster(async ({ cluster }) => {
      await cluster.failOver(HASH_TAG);
      return {};
    }),
  },
  {
    name: 'Cluster: hot slot moved',
    done: 'the hot slot is moved to another primary and back, again and again for 5 s, up to four times a second',
    loses: 'nothing',
    unnoticed: true,
    open: onCluster(async ({ cluster, size }) => {
      const slot = slotOf(HASH_TAG);
      const home = await cluster.primaryOf(HASH_TAG);
      const [other] = cluster.servers.slice(0, 3).filter(({ id }) => id !== home.id);
      const endMs = performance.now() + size.faultMs;
      let moves = 0;
      for (let [from, to] = [home, other!]; performance.now() < endMs; [from, to] = [to, from]) {
        await cluster.moveSlot({ slot, from, to });
        await untilAgreed(cluster, { slot, id: to.id });
        await sleep(MOVE_PAUSE_MS);
        moves += 1;
      }
      return { noted: `${moves} moves` };
    }),
  },
];

async function untilTakenOver(cluster: RedisCluster): Promise<void> {
  for (const endMs = performance.now() + TAKEN_OVER_WITHIN_MS; performance.now() < endMs;) {
    if (
      await cluster.primaryOf(HASH_TAG).then(
        () => true,
        () => false,
      )
    )
      return;
    await sleep(POLL_MS);
  }
  throw new Error(`no replica took over within ${TAKEN_OVER_WITHIN_MS} ms`);
}

/** Until every server says who has the slot. */
async function untilAgreed(cluster: RedisCluster, { slot, id }: { readonly slot: number; readonly id: string }): Promise<void> {
  for (const endMs = performance.now() + AGREED_WITHIN_MS; performance.now() < endMs;) {
    const owners = await Promise.all(cluster.servers.map(({ client }) => ownerOf(client, slot)));
    if (owners.every((owner) => owner === id)) return;
    await sleep(POLL_MS);
  }
  throw new Error(`the servers did not agree on a slot within ${AGREED_WITHIN_MS} ms`);
}

async function ownerOf(client: ClusterServer['client'], slot: number): Promise<string | undefined> {
  const ranges = await client.sendCommand<[number, number, [string, number, string]][]>(['CLUSTER', 'SLOTS']);
  return ranges.find(([first, last]) => first <= slot && slot <= last)?.[2][2];
}
