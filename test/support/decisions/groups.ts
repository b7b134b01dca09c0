/** Short ways to write groups in tests. */

import { ALGORITHMS, type BucketAlgorithm } from '../../../src/domain/algorithm/algorithms';
import { WINDOW_US_MAX } from '../../../src/domain/descriptor/unit';
import type { BucketLimit, Group, Adjustment, Take } from '../../../src/domain/bucket/take';

export const TEN_PER_SECOND: BucketLimit = {
  algorithm: 'token_bucket',
  windowUs: 1_000_000,
  requestsPerUnit: 10,
  capacity: 10,
};

export const THREE_PER_MINUTE: BucketLimit = {
  algorithm: 'fixed_window',
  windowUs: 60_000_000,
  requestsPerUnit: 3,
  capacity: 3,
};

/** Every algorithm, with requests in flight, whose slots nobody releases, and budgets. */
export const BUCKET_ALGORITHMS: readonly BucketAlgorithm[] = [...ALGORITHMS, 'in_flight', 'budget'];

/** A small limit of each. */
export const LIMITS: Readonly<Record<BucketAlgorithm, BucketLimit>> = {
  token_bucket: TEN_PER_SECOND,
  leaky_bucket: { algorithm: 'leaky_bucket', windowUs: 1_000_000, requestsPerUnit: 10, capacity: 3 },
  fixed_window: THREE_PER_MINUTE,
  sliding_window_log: { ...THREE_PER_MINUTE, algorithm: 'sliding_window_log' },
  sliding_window_counter: { ...THREE_PER_MINUTE, algorithm: 'sliding_window_counter' },
  in_flight: { ...THREE_PER_MINUTE, algorithm: 'in_flight' },
  budget: { algorithm: 'budget', windowUs: WINDOW_US_MAX, requestsPerUnit: 3, capacity: 3 },
};

/** A take of one hit at ten per second; each descriptor is its own unless told otherwise. */
export function take(bucketKey: string, parts: Partial<Take> = {}): Take {
  return { bucketKey, limit: TEN_PER_SECOND, hits: 1, mode: 'enforced', descriptor: 0, ...parts };
}

/** One hit charged at ten per second. */
export function adjustment(bucketKey: string, parts: Partial<Adjustment> = {}): Adjustment {
  return { bucketKey, limit: TEN_PER_SECOND, hits: 1, takenAtUs: 0, usedBefore: 0, ...parts };
}

/** A group of takes, each of its own descriptor where none is named. */
export function groupOf(takes: readonly Take[], parts: Partial<Omit<Group, 'takes'>> = {}): Group {
  const numbered = takes.map((each, i) => ({ ...each, descriptor: each.descriptor === 0 ? i : each.descriptor }));
  return { takes: numbered, shadow: false, quotaAlwaysFits: false, ...parts };
}
