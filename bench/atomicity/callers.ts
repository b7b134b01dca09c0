/** Callers that ask for decisions one after another, all at once, for a given time. */

import type { BucketLimit } from '../../src/domain/bucket/take';

export interface Ask {
  /** From 0: which of the callers asks. */
  readonly caller: number;
  readonly bucketKey: string;
  readonly limit: BucketLimit;
  /** Whoever retries stops when this says so. */
  readonly isTimeUp: () => boolean;
}

/** `gave_up`: all retries were lost. `cut_off`: the time was up before an answer came; neither decided nor failed. */
export type Answer = 'allowed' | 'denied' | 'gave_up' | 'cut_off';

export interface Workload {
  readonly take: (ask: Ask) => Promise<Answer>;
  readonly callers: number;
  readonly durationMs: number;
  readonly limit: BucketLimit;
  readonly bucketKeyOf: (caller: number) => string;
}

export interface Tally {
  /** From before the first question until after the last answer. */
  readonly elapsedMs: number;
  readonly decisions: number;
  readonly gaveUp: number;
  /** Hits admitted, by caller. */
  readonly allowed: readonly number[];
}

export async function runCallers({ take, callers, durationMs, limit, bucketKeyOf }: Workload): Promise<Tally> {
  const startedMs = performance.now();
  const isTimeUp = (): boolean => performance.now() - startedMs >= durationMs;
  const tallies = await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      const counts: Record<Answer, number> = { allowed: 0, denied: 0, gave_up: 0, cut_off: 0 };
      const ask: Ask = { caller, bucketKey: bucketKeyOf(caller), limit, isTimeUp };
      while (!isTimeUp()) counts[await take(ask)] += 1;
      return counts;
    }),
  );
  const elapsedMs = performance.now() - startedMs;
  const sum = (answer: Answer): number => tallies.reduce((total, counts) => total + counts[answer], 0);
  return {
    elapsedMs,
    decisions: sum('allowed') + sum('denied'),
    gaveUp: sum('gave_up'),
    allowed: tallies.map((counts) => counts.allowed),
  };
}
