/** Hits admitted against hits allowed: by what a limit lets pass, or by what was charged, which buckets tell when asked before and after. */

import type { RlsClient } from '../../test/support/clients/rls-client';
import type { Workload, WorkloadLimit } from './rows';
import { keyValue } from '../load/calls';

/** What a peek tells of one bucket. */
export interface Peek {
  readonly remaining: number;
  /** Until it is full again, rounded up. */
  readonly resetSeconds: number;
}

/** A peek at each bucket that is watched: for each key, one for each descriptor. */
export async function peekAtWatched(client: RlsClient, { asked, watchedBelow }: Workload): Promise<readonly Peek[]> {
  const keys = Array.from({ length: watchedBelow }, (_, key) => keyValue(key));
  const responses = await Promise.all(
    keys.map((value) =>
      client.ask(
        asked.domain,
        asked.entryKeys.map((entryKey) => ({ entries: { [entryKey]: value }, hits_addend: { value: '0' } })),
      ),
    ),
  );
  return responses.flatMap(({ statuses }) =>
    statuses.map(({ limit_remaining: remaining, duration_until_reset: duration }) => ({ remaining, resetSeconds: duration?.seconds ?? 0 })),
  );
}

export interface ChargedInput {
  readonly before: readonly Peek[];
  readonly after: readonly Peek[];
  /** Between the two readings, at most. */
  readonly elapsedSeconds: number;
  readonly limit: Pick<WorkloadLimit, 'requests' | 'perSeconds'>;
}

/**
 * The most hits that may have been charged to each bucket, which refilled meanwhile. Two ways to tell, each with its
 * rounding, of which the lower counts: it will be full so much later, to the second, which is exact where a refill is
 * slow; so much less remains, to the hit, which is exact where it is fast.
 */
export function chargedMost({ before, after, elapsedSeconds, limit }: ChargedInput): number[] {
  const perSecond = limit.requests / limit.perSeconds;
  return after.map((later, bucket) => {
    const earlier = before[bucket] ?? { remaining: limit.requests, resetSeconds: 0 };
    const byReset = (later.resetSeconds - earlier.resetSeconds + elapsedSeconds + 1) * perSecond;
    const byRemaining = earlier.remaining - later.remaining + elapsedSeconds * perSecond + 1;
    return Math.max(0, Math.floor(Math.min(byReset, byRemaining)));
  });
}

/** What a limit lets pass in that time at most, from a full bucket. */
export function allowedMost({ requests, perSeconds }: Pick<WorkloadLimit, 'requests' | 'perSeconds'>, elapsedSeconds: number): number {
  return requests + (requests * elapsedSeconds) / perSeconds;
}

/** How much of what was allowed was admitted beyond it; 0 if nothing was. */
export function overGrant(admitted: readonly number[], allowed: readonly number[]): number {
  const beyond = admitted.reduce((sum, hits, bucket) => sum + Math.max(0, hits - (allowed[bucket] ?? 0)), 0);
  const total = allowed.reduce((sum, hits) => sum + hits, 0);
  return beyond === 0 ? 0 : beyond / Math.max(1, total);
}
