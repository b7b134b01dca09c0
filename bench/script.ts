/**
 * `npm run bench -- script`: what one run of `lua/take.lua` costs Redis, by the number of its takes, beside the smallest script that reads and writes
 * as many keys; and what a group costs alone and among others of one run.
 */

import { createHash } from 'node:crypto';
import type { BucketLimit, Group } from '../src/domain/bucket/take';
import { loadScript } from '../src/state/store/redis/script-loader';
import { BATCH_TAKES_MAX } from '../src/state/store/layers/batching-store';
import { encodeTakes } from '../src/state/store/redis/take-wire';
import { groupOf, take } from '../test/support/decisions/groups';
import { randomFrom } from '../test/support/random/random';
import { startRedis } from '../test/support/redis/redis-server';
import type { TestClient } from '../test/support/redis/redis-store';
import { processorTimeUs, redisVersion } from './support/redis-figures';
import { spread, table, threeDigits } from './support/markdown';
import { spreadOf } from './support/statistics';
import { closeAll, openClient } from './support/redis-client';

const ROUNDS = 7;
const TAKES = [1, 2, 3, 5, 10, 20];
/** Of one round, in all. */
const TAKES_PER_ROUND = 20_000;
const PIPELINED = 16;
const KEYS = 1_000;
/** Groups of a run in the second table; `most`: as many as a command carries. */
const GROUPS = [1, 2, 8, 'most'] as const;
/** Buckets that its groups draw from at random, each there beforehand. */
const RANDOM_BUCKETS = 100_000;
const GROUP_TAKES_PER_ROUND = 10_000;
/** Commands under way: as many as a batching store has. Of groups that are sent alone, as many as arrive together. */
const RUNS_PIPELINED = 2;
const SEED = 1;
const MINUTE_US = 60_000_000;

const FIXED: BucketLimit = { algorithm: 'fixed_window', windowUs: MINUTE_US, requestsPerUnit: 100_000, capacity: 100_000 };
const TOKENS: BucketLimit = { ...FIXED, algorithm: 'token_bucket' };

/** A clock, and for each key a read and a write: what any script must do. */
const FLOOR = `
local time = redis.call('TIME')
local reply = { time[1] * 1000000 + time[2] }
for i = 1, #KEYS do
  local value = redis.call('GET', KEYS[i])
  redis.call('SET', KEYS[i], value or '29397440 12', 'PX', '62000')
  reply[i + 1] = 1
end
return reply`;

interface Way {
  readonly title: string;
  /** The command of one run on buckets of its own. */
  readonly command: (takes: number, unit: number) => readonly string[];
}

async function main(): Promise<void> {
  const redis = await startRedis();
  const client = await openClient(redis.port);
  try {
    const ways = waysOf();
    for (const text of [FLOOR, loadScript('take').text]) await client.sendCommand(['SCRIPT', 'LOAD', text]);
    const rows: string[][] = [];
    for (const takes of TAKES) rows.push([String(takes), ...(await measure(client, ways, takes))]);
    console.log(
      `Redis ${await redisVersion(client)}: µs of its processor for one run, and their ratio to the smallest script of the same round. Medians of ${ROUNDS} rounds, ${PIPELINED} runs pipelined; in brackets the lowest and the highest round.\n`,
    );
    console.log(table(['takes', ...ways.flatMap(({ title }, i) => (i === 0 ? [title] : [title, 'ratio']))], rows));
    const groupRows: string[][] = [];
    for (const limit of [TOKENS, FIXED]) {
      for (const takes of TAKES) groupRows.push([limit.algorithm, String(takes), ...(await measureGroups(client, limit, takes))]);
    }
    console.log(
      `\nµs for one group of a run of several, and the ratio to the same group alone in a run: buckets drawn from ${RANDOM_BUCKETS.toLocaleString('en-US')}, at most ${BATCH_TAKES_MAX} takes in a run.\n`,
    );
    console.log(
      table(
        ['algorithm', 'takes of a group', ...GROUPS.flatMap((groups, i) => (i === 0 ? ['alone'] : [`${groups} groups`, 'ratio']))],
        groupRows,
      ),
    );
  } finally {
    await closeAll([client]);
    await redis.stop();
  }
}

function waysOf(): readonly Way[] {
  const sha = loadScript('take').sha;
  const floorSha = createHash('sha1').update(FLOOR).digest('hex');
  // A group without takes is not plain: none of the run is decided the straight way.
  const long = groupOf([]);
  const encode = (takes: number, unit: number, limit: BucketLimit) => groupOf(keysOf(takes, unit).map((key) => take(key, { limit })));
  const evalsha = ({ keys, args }: ReturnType<typeof encodeTakes>) => ['EVALSHA', sha, String(keys.length), ...keys, ...args];
  return [
    { title: 'smallest script', command: (takes, unit) => ['EVALSHA', floorSha, String(takes), ...keysOf(takes, unit)] },
    { title: 'fixed window', command: (takes, unit) => evalsha(encodeTakes([encode(takes, unit, FIXED)])) },
    { title: 'token bucket', command: (takes, unit) => evalsha(encodeTakes([encode(takes, unit, TOKENS)])) },
    { title: 'fixed window, the long way', command: (takes, unit) => evalsha(encodeTakes([encode(takes, unit, FIXED), long])) },
  ];
}

function keysOf(takes: number, unit: number): readonly string[] {
  return Array.from({ length: takes }, (_, i) => `1{bench}fw60|user=id-${String((unit * takes + i) % KEYS).padStart(7, '0')}`);
}

async function measure(client: TestClient, ways: readonly Way[], takes: number): Promise<readonly string[]> {
  const runs = TAKES_PER_ROUND / takes;
  const rounds: number[][] = ways.map(() => []);
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const [i, { command }] of ways.entries()) {
      await client.sendCommand(['FLUSHALL']);
      const beforeUs = await processorTimeUs(client);
      for (let unit = 0; unit < runs; unit += PIPELINED) {
        await Promise.all(Array.from({ length: PIPELINED }, (_, more) => client.sendCommand(command(takes, unit + more))));
      }
      // The first round only warms up.
      if (round >= 0) rounds[i]?.push(((await processorTimeUs(client)) - beforeUs) / runs);
    }
  }
  const [floor = []] = rounds;
  return rounds.flatMap((own, i) => {
    const us = spread(spreadOf(own), threeDigits);
    return i === 0 ? [us] : [us, threeDigits(spreadOf(own.map((each, round) => each / (floor[round] ?? NaN))).median)];
  });
}

/** One cell for groups alone; for each larger run two: the cost of a group, and its ratio to the group alone in the same round. */
async function measureGroups(client: TestClient, limit: BucketLimit, takes: number): Promise<readonly string[]> {
  const sha = loadScript('take').sha;
  const random = randomFrom({ seed: SEED });
  const units = RANDOM_BUCKETS / takes;
  // One limit for each place, as each descriptor has a rule of its own.
  const limits = Array.from({ length: takes }, () => ({ ...limit }));
  const groupAt = (unit: number) =>
    groupOf(limits.map((own, place) => take(`1{bench}${place}|user=id-${String(unit).padStart(7, '0')}`, { limit: own })));
  const command = (groups: readonly Group[]) => {
    const { keys, args } = encodeTakes(groups);
    return ['EVALSHA', sha, String(keys.length), ...keys, ...args];
  };
  const send = async (commands: readonly (readonly string[])[], pipelined: number) => {
    for (let at = 0; at < commands.length; at += pipelined)
      await Promise.all(commands.slice(at, at + pipelined).map((each) => client.sendCommand([...each])));
  };
  await client.sendCommand(['FLUSHALL']);
  await send(
    Array.from({ length: units }, (_, unit) => command([groupAt(unit)])),
    PIPELINED,
  );
  const sizes = GROUPS.map((groups) => (groups === 'most' ? BATCH_TAKES_MAX / takes : groups)).map(Math.floor);
  const rounds: number[][] = sizes.map(() => []);
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const [i, size] of sizes.entries()) {
      if (size * takes > BATCH_TAKES_MAX) continue;
      const runs = Math.ceil(GROUP_TAKES_PER_ROUND / takes / size);
      const commands = Array.from({ length: runs }, () => command(Array.from({ length: size }, () => groupAt(random(units)))));
      const beforeUs = await processorTimeUs(client);
      await send(commands, size === 1 ? PIPELINED : RUNS_PIPELINED);
      if (round >= 0) rounds[i]?.push(((await processorTimeUs(client)) - beforeUs) / (runs * size));
    }
  }
  const [alone = []] = rounds;
  return rounds.flatMap((own, i) => {
    if (own.length === 0) return ['-', '-'];
    const us = spread(spreadOf(own), threeDigits);
    return i === 0 ? [us] : [us, threeDigits(spreadOf(own.map((each, round) => each / (alone[round] ?? NaN))).median)];
  });
}

void main();
