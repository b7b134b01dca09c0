/** What a decision costs, each way, at several numbers of callers: time, commands sent, Redis's processor, bytes allocated. */

import type { BucketLimit } from '../src/bucket/take';
import type { TestClient } from '../test/support/redis-store';
import { countCalls, processorTimeUs, startAfresh } from './admin';
import { countAllocated } from './allocation';
import { runCallers, type Tally } from './callers';
import { spreadOf, type Spread } from './statistics';
import type { Way, WayName } from './ways';

/** Never used up, so that every decision writes. */
const LARGE: BucketLimit = { algorithm: 'token_bucket', windowUs: 1_000_000, requestsPerUnit: 1_000_000_000, capacity: 1_000_000_000 };

/** How much of a round warming up takes, and counting bytes. */
const SAMPLE_PART = 1 / 4;

export const LAYOUTS = ['hot_key', 'per_user'] as const;

export type Layout = (typeof LAYOUTS)[number];

export interface CostInput {
  readonly ways: readonly Way[];
  readonly admin: TestClient;
  readonly rounds: number;
  readonly roundMs: number;
  readonly callerCounts: readonly number[];
}

export interface Cost {
  readonly layout: Layout;
  readonly callers: number;
  readonly way: WayName;
  readonly nsPerDecision: Spread;
  readonly callsPerDecision: number;
  readonly redisUsPerDecision: number;
  /** Undefined if in every round a collection spoilt the count. */
  readonly bytesPerDecision: number | undefined;
  /** Of all rounds. */
  readonly gaveUp: number;
}

interface Round {
  readonly ns: number;
  readonly calls: number;
  readonly redisUs: number;
  readonly bytes: number | undefined;
  readonly gaveUp: number;
}

interface Cell {
  readonly layout: Layout;
  readonly callers: number;
  readonly way: Way;
}

/** Rounds are interleaved: the machine's good and bad minutes fall on every cell alike. */
export async function measureCost(input: CostInput): Promise<readonly Cost[]> {
  const cells = LAYOUTS.flatMap((layout) =>
    input.callerCounts.flatMap((callers) => input.ways.map((way): Cell => ({ layout, callers, way }))),
  );
  // The first decisions run uncompiled; they are not counted.
  for (const cell of cells) await measureRound(cell, { ...input, roundMs: input.roundMs * SAMPLE_PART });

  const rounds = new Map(cells.map((cell): [Cell, Round[]] => [cell, []]));
  for (let round = 0; round < input.rounds; round += 1) {
    for (const cell of cells) rounds.get(cell)!.push(await measureRound(cell, input));
  }
  return cells.map((cell) => summarize(cell, rounds.get(cell)!));
}

async function measureRound({ layout, callers, way }: Cell, { admin, roundMs }: CostInput): Promise<Round> {
  await startAfresh(admin);
  const redisBeforeUs = await processorTimeUs(admin);
  const bucketKeyOf = layout === 'hot_key' ? () => 'bench:hot' : (caller: number) => `bench:user-${caller}`;
  const run = (durationMs: number): Promise<Tally> => runCallers({ take: way.take, callers, durationMs, limit: LARGE, bucketKeyOf });
  const timed = await run(roundMs);
  const redisUs = (await processorTimeUs(admin)) - redisBeforeUs;
  const calls = await countCalls(admin);
  const sent = Object.entries(way.sentPerCall).reduce((sum, [command, each]) => sum + each * (calls.get(command) ?? 0), 0);
  // A run of its own, short enough that nothing need be collected in it.
  const counted = await countAllocated(() => run(roundMs * SAMPLE_PART));
  const decisions = decisionsOf(timed);
  return {
    ns: (timed.elapsedMs * 1e6) / decisions,
    calls: sent / decisions,
    redisUs: redisUs / decisions,
    bytes: counted.bytes === undefined ? undefined : counted.bytes / decisionsOf(counted.result),
    gaveUp: timed.gaveUp,
  };
}

/** Where nobody got through in the time, one decision took longer than it. */
function decisionsOf({ decisions }: Tally): number {
  return Math.max(1, decisions);
}

function summarize({ layout, callers, way }: Cell, rounds: readonly Round[]): Cost {
  const bytes = rounds.map((round) => round.bytes).filter((count) => count !== undefined);
  return {
    layout,
    callers,
    way: way.name,
    nsPerDecision: spreadOf(rounds.map((round) => round.ns)),
    callsPerDecision: spreadOf(rounds.map((round) => round.calls)).median,
    redisUsPerDecision: spreadOf(rounds.map((round) => round.redisUs)).median,
    bytesPerDecision: bytes.length === 0 ? undefined : spreadOf(bytes).median,
    gaveUp: rounds.reduce((sum, round) => sum + round.gaveUp, 0),
  };
}
