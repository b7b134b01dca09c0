/** The three ways to take one hit from a token bucket in Redis that are measured against each other. */

import type { Group } from '../src/bucket/take';
import { RedisStore } from '../src/store/redis-store';
import { StoreError } from '../src/store/store';
import { makeTestClient, storeOptions, type TestClient } from '../test/support/redis-store';
import type { Answer, Ask } from './callers';
import { compute } from './compute';

/** One caller among hundreds on one key needs many; beyond this it gives up, so that no run is endless. */
const TRIES_MAX = 1_000;

export type WayName = 'evalsha' | 'three_commands' | 'watch';

export interface Way {
  readonly name: WayName;
  readonly take: (ask: Ask) => Promise<Answer>;
  /**
   * Commands that a client sends, by what Redis counts (`INFO commandstats`): how many each counted call stands for.
   * Redis counts a script's inner calls too; they are no trips over the network and stay out.
   */
  readonly sentPerCall: Readonly<Record<string, number>>;
  readonly close: () => Promise<void>;
}

export interface OpenWaysInput {
  readonly port: number;
  /** The most callers that will ask at once. */
  readonly callersMax: number;
}

export async function openWays({ port, callersMax }: OpenWaysInput): Promise<readonly Way[]> {
  return [await openEvalsha(port), await openThreeCommands(port), await openWatch(port, callersMax)];
}

/** Weir's own: `RedisStore.take`, one connection for all callers. */
async function openEvalsha(port: number): Promise<Way> {
  const store = new RedisStore(storeOptions(port));
  await store.connect({ waitMs: 5_000 });
  return {
    name: 'evalsha',
    take: async ({ bucketKey, limit }) => {
      const take = { bucketKey, limit, hits: 1, mode: 'enforced', descriptor: 0 } as const;
      const group: Group = { takes: [take], quotaAlwaysFits: false, shadow: false };
      const [outcome] = await store.take([group]);
      if (outcome instanceof StoreError) throw outcome;
      if (outcome === undefined || !('overLimit' in outcome)) throw new Error('the store decided nothing');
      return outcome.overLimit ? 'denied' : 'allowed';
    },
    sentPerCall: { evalsha: 1, eval: 1 },
    close: () => store.close(),
  };
}

/** The naive race: between GET and SET anyone else may have taken the same hit. One connection for all callers. */
async function openThreeCommands(port: number): Promise<Way> {
  const client = await openClient(port);
  return {
    name: 'three_commands',
    take: async ({ bucketKey, limit }) => {
      const nowUs = await readTime(client);
      const write = compute({ stored: await readBucket(client, bucketKey), limit, nowUs });
      if (write === undefined) return 'denied';
      await client.sendCommand(['SET', bucketKey, ...write]);
      return 'allowed';
    },
    sentPerCall: { time: 1, get: 1, set: 1 },
    close: () => closeAll([client]),
  };
}

/** Optimistic: what was read is written only if nobody wrote meanwhile. A watch is a connection's, so each caller has one. */
async function openWatch(port: number, callersMax: number): Promise<Way> {
  const clients: TestClient[] = [];
  for (let caller = 0; caller < callersMax; caller += 1) clients.push(await openClient(port));
  return {
    name: 'watch',
    take: async (ask) => {
      const client = clients[ask.caller]!;
      for (let tries = 0; tries < TRIES_MAX; tries += 1) {
        const answer = await tryWatched(client, ask);
        if (answer !== undefined) return answer;
        if (ask.isTimeUp()) return 'cut_off';
      }
      return 'gave_up';
    },
    // MULTI stands for three: itself, SET and EXEC. Redis does not count a SET that EXEC then refused to run.
    sentPerCall: { watch: 1, get: 1, time: 1, unwatch: 1, multi: 3 },
    close: () => closeAll(clients),
  };
}

/** Undefined if another caller wrote first. */
async function tryWatched(client: TestClient, { bucketKey, limit }: Ask): Promise<'allowed' | 'denied' | undefined> {
  await client.sendCommand(['WATCH', bucketKey]);
  const stored = await readBucket(client, bucketKey);
  const write = compute({ stored, limit, nowUs: await readTime(client) });
  if (write === undefined) {
    await client.sendCommand(['UNWATCH']);
    return 'denied';
  }
  // Sent together: the three need no answer of each other.
  const [, , ran] = await Promise.all([
    client.sendCommand(['MULTI']),
    client.sendCommand(['SET', bucketKey, ...write]),
    client.sendCommand<unknown>(['EXEC']),
  ]);
  return ran === null ? undefined : 'allowed';
}

export async function openClient(port: number): Promise<TestClient> {
  const client = makeTestClient(port);
  await client.connect();
  return client;
}

export function closeAll(clients: readonly TestClient[]): Promise<void> {
  for (const client of clients) client.destroy();
  return Promise.resolve();
}

async function readTime(client: TestClient): Promise<number> {
  const [seconds, microseconds] = await client.sendCommand<readonly [string, string]>(['TIME']);
  return Number(seconds) * 1_000_000 + Number(microseconds);
}

function readBucket(client: TestClient, bucketKey: string): Promise<string | null> {
  return client.sendCommand<string | null>(['GET', bucketKey]);
}
