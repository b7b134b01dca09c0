/** The cost of a decision by each strategy, at several numbers of callers: time, commands sent, processor time of Redis, allocations. */

import type { BucketLimit } from '../../src/domain/bucket/take';
import type { TestClient } from '../../test/support/redis/redis-store';
import { countCalls, processorTimeUs, startAfresh } from '../support/redis-figures';
import { countAllocated } from '../support/allocated-bytes';
import { countAllocatedObjects } from '../support/allocation-count';
import { runCallers, type Tally } from './callers';
import { spreadOf, type Spread } from '../support/statistics';
import type { Strategy, StrategyName } from './strategies';

/** Never used up, so that every decision writes. */
const LARGE: BucketLimit = { algorithm: 'token_bucket', windowUs: 1_000_000, requestsPerUnit: 1_000_000_000, capacity: 1_000_000_000 };

/** How much of a round warming up takes, and counting bytes. */
const SAMPLE_PART = 1 / 4;

/** Counting objects keeps each of them in a profile: a short run is enough. */
const PROFILED_MS = 50;

export const LAYOUTS = ['hot_key', 'per_user'] as const;

export type Layout = (typeof LAYOUTS)[number];

export interface CostInput {
  readonly strategies: readonly Strategy[];
  readonly admin: TestClient;
  readonly rounds: number;
  readonly roundMs: number;
  readonly callerCounts: readonly number[];
  /** Whether allocations are counted too; default: true. */
  readonly counts?: boolean;
}

export interface Cost {
  readonly layout: Layout;
  readonly callers: number;
  readonly strategy: StrategyName;
  readonly nsPerDecision: Spread;
  readonly callsPerDecision: number;
  readonly redisUsPerDecision: number;
  /** Undefined if in every round a collection spoilt the count. */
  readonly bytesPerDecision: number | undefined;
  /** Undefined where they were not counted. */
  readonly objectsPerDecision: number | undefined;
  /** Of all rounds. */
  readonly gaveUp: number;
}

interface Round {
  readonly ns: number;
  readonly calls: number;
  readonly redisUs: number;
  readonly bytes: number | undefined;
  readonly objects: number | undefined;
  readonly gaveUp: number;
}

interface Row {
  readonly layout: Layout;
  readonly callers: number;
  readonly strategy: Strategy;
}

/** Rounds are interleaved: the machine's good and bad minutes fall on every row alike. */
export async function measureCost(input: CostInput): Promise<readonly Cost[]> {
  const rows = LAYOUTS.flatMap((layout) =>
    input.callerCounts.flatMap((callers) => input.strategies.map((strategy): Row => ({ layout, callers, strategy }))),
  );
  // The first decisions run uncompiled; they are not counted.
  for (const row of rows) await measureRound(row, { ...input, roundMs: input.roundMs * SAMPLE_PART });

  const rounds = new Map(rows.map((row): [Row, Round[]] => [row, []]));
  for (let round = 0; round < input.rounds; round += 1) {
    for (const row of rows) rounds.get(row)!.push(await measureRound(row, input));
  }
  return rows.map((row) => summarize(row, rounds.get(row)!));
}

async function measureRound({ layout, callers, strategy }: Row, { admin, roundMs, counts = true }: CostInput): Promise<Round> {
  await startAfresh(admin);
  const redisBeforeUs = await processorTimeUs(admin);
  const bucketKeyOf = layout === 'hot_key' ? () => 'bench:hot' : (caller: number) => `bench:user-${caller}`;
  const run = (durationMs: number): Promise<Tally> => runCallers({ take: strategy.take, callers, durationMs, limit: LARGE, bucketKeyOf });
  const timed = await run(roundMs);
  const redisUs = (await processorTimeUs(admin)) - redisBeforeUs;
  const sent = await countSent(admin, strategy);
  // A run of its own, short enough that nothing need be collected in it.
  const counted = counts ? await countAllocated(() => run(roundMs * SAMPLE_PART)) : undefined;
  const profiled = counts ? await countAllocatedObjects(() => run(PROFILED_MS)) : undefined;
  const decisions = decisionsOf(timed);
  return {
    ns: (timed.elapsedMs * 1e6) / decisions,
    calls: sent / decisions,
    redisUs: redisUs / decisions,
    bytes: counted?.bytes === undefined ? undefined : counted.bytes / decisionsOf(counted.result),
    objects: profiled && profiled.objects / decisionsOf(profiled.result),
    gaveUp: timed.gaveUp,
  };
}

/** Commands that the strategy sent since Redis was started afresh. */
export async function countSent(admin: TestClient, { sentPerCall }: Strategy): Promise<number> {
  const calls = await countCalls(admin);
  return Object.entries(sentPerCall).reduce((sum, [command, each]) => sum + each * (calls.get(command) ?? 0), 0);
}

/** Where nobody got through in the time, one decision took longer than it. */
function decisionsOf({ decisions }: Tally): number {
  return Math.max(1, decisions);
}

function summarize({ layout, callers, strategy }: Row, rounds: readonly Round[]): Cost {
  const bytes = rounds.map((round) => round.bytes).filter((count) => count !== undefined);
  const objects = rounds.map((round) => round.objects).filter((count) => count !== undefined);
  return {
    layout,
    callers,
    strategy: strategy.name,
    nsPerDecision: spreadOf(rounds.map((round) => round.ns)),
    callsPerDecision: spreadOf(rounds.map((round) => round.calls)).median,
    redisUsPerDecision: spreadOf(rounds.map((round) => round.redisUs)).median,
    bytesPerDecision: bytes.length === 0 ? undefined : spreadOf(bytes).median,
    objectsPerDecision: objects.length === 0 ? undefined : spreadOf(objects).median,
    gaveUp: rounds.reduce((sum, round) => sum + round.gaveUp, 0),
  };
}
