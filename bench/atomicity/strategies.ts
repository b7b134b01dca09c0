/** The strategies that are measured against each other: each takes one hit from a token bucket in Redis. */

import type { Group } from '../../src/domain/bucket/take';
import { RedisConnection } from '../../src/state/store/redis/client/redis-connection';
import { RedisStore } from '../../src/state/store/redis/redis-store';
import { loadScript } from '../../src/state/store/redis/script-loader';
import type { GroupOutcome } from '../../src/state/store/port/store';
import { StoreError } from '../../src/state/store/port/store-error';
import { decodeReply, encodeTakes } from '../../src/state/store/redis/take-wire';
import { storeOptions, type TestClient } from '../../test/support/redis/redis-store';
import { closeAll, openClient } from '../support/redis-client';
import type { Answer, Ask } from './callers';
import { computeTake } from './token-bucket-in-process';

/** One caller among hundreds on one key needs many; beyond this it gives up, so that no run is endless. */
const TRIES_MAX = 1_000;

/** Of three commands there are two forms: one writes in any case, the other only what it admits. */
export type StrategyName = 'evalsha' | 'eval' | 'three_commands' | 'three_commands_if_fits' | 'watch';

export interface Strategy {
  readonly name: StrategyName;
  readonly take: (ask: Ask) => Promise<Answer>;
  /**
   * Commands that a client sends, by what Redis counts (`INFO commandstats`): how many each counted call stands for.
   * Redis counts a script's inner calls too; they are no trips over the network and stay out.
   */
  readonly sentPerCall: Readonly<Record<string, number>>;
  readonly close: () => Promise<void>;
}

export interface OpenStrategiesInput {
  readonly port: number;
  /** The most callers that will ask at once. */
  readonly callersMax: number;
}

export async function openStrategies({ port, callersMax }: OpenStrategiesInput): Promise<readonly Strategy[]> {
  return [
    await openEvalsha(port),
    await openEval(port),
    await openThreeCommands(port, { writesDenials: true }),
    await openThreeCommands(port, { writesDenials: false }),
    await openWatch(port, callersMax),
  ];
}

/** Weir's own: `RedisStore.take`, one connection for all callers. */
async function openEvalsha(port: number): Promise<Strategy> {
  const store = new RedisStore(storeOptions(port));
  await store.connect({ waitMs: 5_000 });
  return {
    name: 'evalsha',
    take: async ({ bucketKey, limit }) => {
      const [outcome] = await store.take([groupOf({ bucketKey, limit })]);
      return answerOf(outcome);
    },
    sentPerCall: { evalsha: 1, eval: 1 },
    close: () => store.close(),
  };
}

/** The same script and connection, but its text goes with each call. */
async function openEval(port: number): Promise<Strategy> {
  const connection = new RedisConnection({ ...storeOptions(port), greetings: [] });
  await connection.connect({ waitMs: 5_000 });
  const { text } = loadScript('take');
  return {
    name: 'eval',
    take: async ({ bucketKey, limit }) => {
      const groups = [groupOf({ bucketKey, limit })];
      const { keys, args, folds } = encodeTakes(groups);
      const [outcome] = await connection.send(['EVAL', text, String(keys.length), ...keys, ...args], (reply) =>
        decodeReply(reply, { groups, folds }),
      );
      return answerOf(outcome);
    },
    sentPerCall: { eval: 1 },
    close: () => {
      connection.close();
      return Promise.resolve();
    },
  };
}

function groupOf({ bucketKey, limit }: Pick<Ask, 'bucketKey' | 'limit'>): Group {
  return { takes: [{ bucketKey, limit, hits: 1, mode: 'enforced', descriptor: 0 }], quotaAlwaysFits: false, shadow: false };
}

function answerOf(outcome: GroupOutcome | undefined): Answer {
  if (outcome instanceof StoreError) throw outcome;
  if (outcome === undefined || !('overLimit' in outcome)) throw new Error('the store decided nothing');
  return outcome.overLimit ? 'denied' : 'allowed';
}

/**
 * The naive race: between GET and SET anyone else may have taken the same hit. One connection for all callers. A denial that is written
 * puts back what was read, without the hits that others have taken since.
 */
async function openThreeCommands(port: number, { writesDenials }: { readonly writesDenials: boolean }): Promise<Strategy> {
  const client = await openClient(port);
  return {
    name: writesDenials ? 'three_commands' : 'three_commands_if_fits',
    take: async ({ bucketKey, limit }) => {
      const nowUs = await readTime(client);
      const { fits, write } = computeTake({ stored: await readBucket(client, bucketKey), limit, nowUs });
      if (fits || writesDenials) await client.sendCommand(['SET', bucketKey, ...write]);
      return fits ? 'allowed' : 'denied';
    },
    sentPerCall: { time: 1, get: 1, set: 1 },
    close: () => closeAll([client]),
  };
}

/** Optimistic: what was read is written only if nobody wrote meanwhile. A watch is a connection's, so each caller has one. */
async function openWatch(port: number, callersMax: number): Promise<Strategy> {
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
  const { fits, write } = computeTake({ stored, limit, nowUs: await readTime(client) });
  if (!fits) {
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

async function readTime(client: TestClient): Promise<number> {
  const [seconds, microseconds] = await client.sendCommand<readonly [string, string]>(['TIME']);
  return Number(seconds) * 1_000_000 + Number(microseconds);
}

function readBucket(client: TestClient, bucketKey: string): Promise<string | null> {
  return client.sendCommand<string | null>(['GET', bucketKey]);
}
