/** How far what was admitted lies above what the limit allows, while many callers ask one small bucket. */

import type { BucketLimit } from '../../src/domain/bucket/take';
import { runCallers, type Answer, type Ask } from './callers';
import { spreadOf, type Spread } from '../support/statistics';

export const BURST = 10;
export const PER_SECOND = 10;
export const CALLERS = 64;

const SMALL: BucketLimit = { algorithm: 'token_bucket', windowUs: 1_000_000, requestsPerUnit: PER_SECOND, capacity: BURST };

export interface OverGrantInput<T extends Contender> {
  readonly contenders: readonly T[];
  readonly rounds: number;
  readonly durationMs: number;
  /** Before each run. */
  readonly prepare: () => Promise<void>;
  /** After each run: commands that its contender sent since `prepare`. */
  readonly countSent?: (contender: T) => Promise<number>;
}

export interface Contender {
  readonly take: (ask: Ask) => Promise<Answer>;
}

export interface OverGrant<T extends Contender> {
  readonly contender: T;
  readonly admitted: Spread;
  /** Admitted over `BURST + PER_SECOND * elapsed`, less one: 0.5 is half as many again. */
  readonly excess: Spread;
  /** Median part of the admitted hits that went to callers of even number. */
  readonly evenShare: number;
  readonly gaveUp: number;
  /** Decisions of a run, and the commands sent for them; undefined where they were not counted. */
  readonly decisions: number;
  readonly sent: number | undefined;
}

interface Run {
  readonly admitted: number;
  readonly excess: number;
  readonly evenShare: number;
  readonly gaveUp: number;
  readonly decisions: number;
  readonly sent: number | undefined;
}

/** Runs are interleaved, as all rounds here. */
export async function measureOverGrant<T extends Contender>(input: OverGrantInput<T>): Promise<readonly OverGrant<T>[]> {
  const runs = new Map(input.contenders.map((contender): [T, Run[]] => [contender, []]));
  for (let round = 0; round < input.rounds; round += 1) {
    for (const contender of input.contenders) {
      await input.prepare();
      const run = await runOnce(contender, input.durationMs);
      runs.get(contender)!.push({ ...run, sent: await input.countSent?.(contender) });
    }
  }
  return input.contenders.map((contender) => summarize(contender, runs.get(contender)!));
}

async function runOnce({ take }: Contender, durationMs: number): Promise<Omit<Run, 'sent'>> {
  const { elapsedMs, allowed, gaveUp, decisions } = await runCallers({
    take,
    callers: CALLERS,
    durationMs,
    limit: SMALL,
    bucketKeyOf: () => 'bench:small',
  });
  const sum = (hits: readonly number[]): number => hits.reduce((total, each) => total + each, 0);
  const admitted = sum(allowed);
  return {
    admitted,
    excess: admitted / (BURST + (PER_SECOND * elapsedMs) / 1000) - 1,
    evenShare: sum(allowed.filter((_, caller) => caller % 2 === 0)) / Math.max(1, admitted),
    gaveUp,
    decisions,
  };
}

function summarize<T extends Contender>(contender: T, runs: readonly Run[]): OverGrant<T> {
  const sent = runs.map((run) => run.sent).filter((count) => count !== undefined);
  return {
    contender,
    admitted: spreadOf(runs.map((run) => run.admitted)),
    excess: spreadOf(runs.map((run) => run.excess)),
    evenShare: spreadOf(runs.map((run) => run.evenShare)).median,
    gaveUp: runs.reduce((sum, run) => sum + run.gaveUp, 0),
    decisions: spreadOf(runs.map((run) => run.decisions)).median,
    sent: sent.length === 0 ? undefined : spreadOf(sent).median,
  };
}
