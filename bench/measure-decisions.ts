/** Starts everything that is measured, warms it up, and measures each cell once in each round. */

import { startRedis } from '../test/support/redis-server';
import { redisVersion } from './admin';
import type { Round } from './bar';
import { measureBucketsMemory } from './buckets-memory';
import { cellId, cellsOf, contendersOf, inOrderOfRound, type Cell } from './cells';
import { describeTargetCores, startContenders, type Target } from './contenders';
import { findCores, pin, type Cores } from './cores';
import type { DecisionsResult } from './decisions-report';
import { describeEnvironment, loadAverage } from './environment';
import type { LoadJob, LoadResult } from './load/run-load';
import { CellMeter, type CellRound } from './measure-cell';
import type { OneEvalshaJob, OneEvalshaResult } from './one-evalsha';
import { closeAll, openClient } from './ways';
import { startWorker } from './worker-process';

export interface Size {
  readonly short: boolean;
  /** Checks and usage reports in place of all other rows. */
  readonly usage: boolean;
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

/** Some fifteen minutes, some eighteen with a target. */
export const FULL: Size = { short: false, usage: false, rounds: 7, closedMs: 2_000, openMs: 5_000, warmUpMs: 1_000, fill: true, redisBuckets: 100_000, embeddedBuckets: 1_000_000 };
/** Under a minute: what the bar needs, told roughly; counts are exact all the same. */
export const SHORT: Size = { short: true, usage: false, rounds: 3, closedMs: 500, openMs: 1_000, warmUpMs: 200, fill: false, redisBuckets: 10_000, embeddedBuckets: 50_000 };

/** Some two minutes. */
export const USAGE: Size = { short: false, usage: true, rounds: 7, closedMs: 1_000, openMs: 1_000, warmUpMs: 500, fill: true, redisBuckets: 10_000, embeddedBuckets: 50_000 };

export interface MeasureInput extends Size {
  readonly target: Target | undefined;
  readonly tell: (text: string) => void;
}

export async function measureDecisions(input: MeasureInput): Promise<DecisionsResult> {
  const { target, tell } = input;
  const cells = cellsOf({ short: input.short, usage: input.usage, target: target !== undefined });
  const cores = findCores();
  const loadBefore = loadAverage();
  const redis = await startRedis();
  const admin = await openClient(redis.port);
  const contenders = await startContenders({ names: contendersOf(cells), redisPort: redis.port, cores, target });
  const generator = startWorker<LoadJob, LoadResult>('load/generator.ts');
  const oneEvalsha = startWorker<OneEvalshaJob, OneEvalshaResult>('one-evalsha.ts', [String(redis.port)]);
  for (const pid of [redis.pid, generator.pid, process.pid]) pin(pid, cores?.load);
  pin(oneEvalsha.pid, cores?.server);
  const meter = new CellMeter({ contenders, generator, oneEvalsha, redis, admin, cores });
  try {
    const rounds = await measureRounds(input, meter, cells);
    tell('measuring what a bucket takes …');
    const memory = await measureBucketsMemory({ ...input, generator, admin, cores, onRedis: contenders.get('redis')! });
    return {
      environment: describeEnvironment({ redis: await redisVersion(admin) }),
      loadBefore,
      loadAfter: loadAverage(),
      pinning: describePinning(cores),
      notes: [target && describeTargetCores(target, cores)].filter((note) => note !== undefined),
      cells,
      rounds,
      roundMs: { closed: input.closedMs, open: input.openMs },
      memory,
    };
  } finally {
    meter.close();
    generator.stop();
    oneEvalsha.stop();
    await Promise.all([...contenders.values()].map((contender) => contender.stop()));
    await closeAll([admin]);
    await redis.stop();
  }
}

async function measureRounds({ rounds: count, closedMs, openMs, warmUpMs, fill, tell }: MeasureInput, meter: CellMeter, cells: readonly Cell[]): Promise<Round[]> {
  const closed = cells.filter(({ load }) => load.kind === 'closed');
  tell('warming up …');
  await meter.compile();
  if (fill) await meter.fill();
  for (const cell of closed) await meter.warmUp(cell, warmUpMs);
  const ordered = inOrderOfRound(cells);
  const rounds: Round[] = [];
  for (let round = 1; round <= count; round += 1) {
    tell(`round ${round} of ${count}, ${cells.length} rows …`);
    const measured = new Map<string, CellRound>();
    for (const cell of ordered) measured.set(cellId(cell), await meter.measure(cell, cell.load.kind === 'open' ? openMs : closedMs));
    rounds.push(measured);
  }
  return rounds;
}

function describePinning(cores: Cores | undefined): string {
  return cores === undefined
    ? 'No process was tied to a core, for want of a second core or of `taskset`.'
    : `The server that is measured has core ${cores.server} to itself; Redis, the generator and the bench itself share core ${cores.load}.`;
}
