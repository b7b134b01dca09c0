/** Starts all servers that are measured, warms them up, and measures each row once in each round. */

import { existsSync } from 'node:fs';
import path from 'node:path';
import { startRedis } from '../../test/support/redis/redis-server';
import type { LoadJob, LoadResult } from '../load/run-load';
import { describeTargetCores, meterRedis, startContenders, type Target } from '../servers/contenders';
import type { OneEvalshaJob, OneEvalshaResult } from '../servers/one-evalsha';
import { findCores, pin, type Cores } from '../support/cores';
import { describeEnvironment, loadAverage } from '../support/environment';
import { closeAll } from '../support/redis-client';
import { hasMsetex } from '../support/redis-figures';
import { startWorker } from '../support/worker-process';
import type { Round } from './bar';
import { measureBucketsMemory } from './buckets-memory';
import type { DecisionsResult } from './decisions-report';
import { RowMeter, type RowFigures } from './measure-row';
import { contendersOf, inOrderOfRound, rowId, selectRows, type Row, type Selection, type TargetName } from './rows';

export interface Size {
  readonly form: Selection['form'];
  readonly rounds: number;
  readonly closedMs: number;
  readonly openMs: number;
  /** Each row before the first round. */
  readonly warmUpMs: number;
  /** Whether every key has its bucket before the first round. */
  readonly fill: boolean;
  readonly redisBuckets: number;
  readonly embeddedBuckets: number;
}

/** Some twenty-five minutes, some forty with a target. */
export const FULL: Size = {
  form: 'full',
  rounds: 7,
  closedMs: 2_000,
  openMs: 5_000,
  warmUpMs: 1_000,
  fill: true,
  redisBuckets: 100_000,
  embeddedBuckets: 1_000_000,
};
/** About a minute: what the bar needs, measured roughly. Counts are exact all the same. */
export const SHORT: Size = {
  form: 'short',
  rounds: 3,
  closedMs: 500,
  openMs: 1_000,
  warmUpMs: 200,
  fill: false,
  redisBuckets: 10_000,
  embeddedBuckets: 50_000,
};
/** Some two minutes. */
export const USAGE: Size = {
  form: 'usage',
  rounds: 7,
  closedMs: 1_000,
  openMs: 1_000,
  warmUpMs: 500,
  fill: true,
  redisBuckets: 10_000,
  embeddedBuckets: 50_000,
};
/** The same for the rows of the decision log. */
export const LOGGED: Size = { ...USAGE, form: 'logged' };

/** The newest Redis of scripts/install/redis-versions.mjs. */
const REDIS_VERSIONS = path.join(__dirname, '..', '..', '.cache', 'redis-versions');
const NEWEST_REDIS = 'redis-8.2.3';

export interface MeasureInput extends Size {
  readonly target?: Target | undefined;
  readonly targetName?: TargetName | undefined;
  /** Words of row ids; empty: all rows. */
  readonly only?: readonly string[];
  /** A Redis of `.cache/redis-versions`, or a path, in place of the usual one. */
  readonly redis?: string | undefined;
  readonly onProgress: (text: string) => void;
}

export async function measureDecisions(input: MeasureInput): Promise<DecisionsResult> {
  const { target, targetName, onProgress } = input;
  const newestRedisBinary = redisBinary(NEWEST_REDIS);
  const rows = selectRows({
    form: input.form,
    target: target && { name: targetName },
    hasNewestRedis: newestRedisBinary !== undefined,
    only: input.only ?? [],
  });
  const cores = findCores();
  const loadBefore = loadAverage();
  const server = await startRedis(input.redis === undefined ? {} : { binary: redisBinary(input.redis) ?? input.redis });
  const redis = await meterRedis(server.port);
  const contenders = await startContenders({ names: contendersOf(rows), redis, newestRedisBinary, cores, target });
  const generator = startWorker<LoadJob, LoadResult>('load/generator.ts');
  const oneEvalsha = startWorker<OneEvalshaJob, OneEvalshaResult>('servers/one-evalsha.ts', [String(redis.port)]);
  for (const pid of [redis.pid, generator.pid, process.pid]) pin(pid, cores?.load);
  pin(oneEvalsha.pid, cores?.server);
  const meter = new RowMeter({ contenders, generator, oneEvalsha, redis, cores });
  try {
    const rounds = await measureRounds(input, meter, rows);
    const onRedis = contenders.get('redis');
    // A selection of rows is about those rows.
    const isWhole = (input.only ?? []).length === 0;
    if (isWhole) onProgress('measuring the memory of a bucket …');
    const memory =
      isWhole && onRedis !== undefined
        ? await measureBucketsMemory({ ...input, generator, admin: redis.admin, cores, onRedis })
        : undefined;
    const newest = contenders.get('redis_newest')?.redis;
    const targetRedis = contenders.get('target')?.redis;
    return {
      environment: describeEnvironment({ redis: redis.version }),
      loadBefore,
      loadAfter: loadAverage(),
      pinning: describePinning(cores),
      notes: [
        target && describeTargetCores(target, cores),
        target && `The target is ${targetName ?? 'unnamed'}${targetRedis === undefined ? '' : `, on Redis ${targetRedis.version}`}.`,
        newest && `The newest Redis is ${newest.version}.`,
      ].filter((note) => note !== undefined),
      rows,
      rounds,
      target: target && { name: targetName },
      hasMsetex: await hasMsetex(redis.admin),
      roundMs: { closed: input.closedMs, open: input.openMs },
      memory,
    };
  } finally {
    meter.close();
    generator.stop();
    oneEvalsha.stop();
    await Promise.all([...contenders.values()].map((contender) => contender.stop()));
    await closeAll([redis.admin]);
    await server.stop();
  }
}

/** Undefined if it is not installed. */
function redisBinary(name: string): string | undefined {
  const file = path.join(REDIS_VERSIONS, name);
  return existsSync(file) ? file : undefined;
}

async function measureRounds(
  { rounds: count, closedMs, openMs, warmUpMs, fill, onProgress }: MeasureInput,
  meter: RowMeter,
  rows: readonly Row[],
): Promise<Round[]> {
  const closed = rows.filter(({ load }) => load.kind === 'closed');
  onProgress('warming up …');
  await meter.compile();
  if (fill) await meter.fill();
  for (const row of closed) await meter.warmUp(row, warmUpMs);
  const ordered = inOrderOfRound(rows);
  const rounds: Round[] = [];
  for (let round = 1; round <= count; round += 1) {
    onProgress(`round ${round} of ${count}, ${rows.length} rows …`);
    const measured = new Map<string, RowFigures>();
    for (const row of ordered) measured.set(rowId(row), await meter.measure(row, row.load.kind === 'open' ? openMs : closedMs));
    rounds.push(measured);
  }
  return rounds;
}

function describePinning(cores: Cores | undefined): string {
  return cores === undefined
    ? 'No process was pinned to a core, because there is only one core or no `taskset`.'
    : `Each server runs alone on core ${cores.server}; Redis, the generator and the bench itself share core ${cores.load}.`;
}
