/** Hits admitted against hits allowed: by what a limit lets pass, or by what was charged, which is read from when buckets are full again. */

import type { RlsClient } from '../test/support/rls-client';
import type { Workload } from './cells';
import { keyValue } from './load/calls';

/** Of one bucket: seconds until it is full again, rounded up. */
export type FullAgain = readonly number[];

/** A peek at each bucket that is watched: for each key, one for each descriptor. */
export async function readFullAgain(client: RlsClient, { asked, watchedBelow }: Workload): Promise<FullAgain> {
  const keys = Array.from({ length: watchedBelow }, (_, key) => keyValue(key));
  const responses = await Promise.all(
    keys.map((value) => client.ask(asked.domain, asked.entryKeys.map((entryKey) => ({ entries: { [entryKey]: value }, hits_addend: { value: '0' } })))),
  );
  return responses.flatMap(({ statuses }) => statuses.map(({ duration_until_reset: duration }) => duration?.seconds ?? 0));
}

export interface ChargedInput {
  readonly before: FullAgain;
  readonly after: FullAgain;
  /** Between the two readings, at most. */
  readonly elapsedSeconds: number;
  readonly limit: Workload['limit'];
}

/**
 * The most hits that may have been charged to each bucket: it will be full so much later than before, less the time that
 * has passed. A reading is rounded by less than a second, which is a small part of a hit where a refill is slow.
 */
export function chargedMost({ before, after, elapsedSeconds, limit }: ChargedInput): number[] {
  const secondsPerHit = limit.perSeconds / limit.requests;
  return after.map((later, bucket) => Math.floor((later - (before[bucket] ?? 0) + elapsedSeconds + 1) / secondsPerHit));
}

/** What a limit lets pass in that time at most, from a full bucket. */
export function allowedMost({ requests, perSeconds }: Workload['limit'], elapsedSeconds: number): number {
  return requests + (requests * elapsedSeconds) / perSeconds;
}

/** How much of what was allowed was admitted beyond it; 0 if nothing was. */
export function overGrant(admitted: readonly number[], allowed: readonly number[]): number {
  const beyond = admitted.reduce((sum, hits, bucket) => sum + Math.max(0, hits - (allowed[bucket] ?? 0)), 0);
  const total = allowed.reduce((sum, hits) => sum + hits, 0);
  return beyond === 0 ? 0 : beyond / Math.max(1, total);
}
