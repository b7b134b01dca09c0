/** One bucket decided by the TypeScript engine, and random arrivals at it: for tests of what a limit lets through. */

import fc from 'fast-check';
import type { BucketAlgorithm, BucketState } from '../../../src/domain/algorithm/algorithms';
import type { BucketLimit, Verdict } from '../../../src/domain/bucket/take';
import { decideGroup } from '../decisions/decide-group';
import { groupOf, take } from '../decisions/groups';

/** The start of an hour. */
export const START_US = 1_800_000_000_000_000;

export interface Arrival {
  readonly atUs: number;
  readonly hits: number;
}

export class OneBucket {
  private state: BucketState | undefined;

  constructor(private readonly limit: BucketLimit) {}

  take({ atUs, hits }: Arrival): Verdict {
    const group = groupOf([take('bucket', { limit: this.limit, hits })]);
    const { verdicts, writes } = decideGroup({ group, nowUs: atUs, read: () => this.state });
    for (const { state } of writes) this.state = state;
    return verdicts[0]!;
  }
}

/** Those of the arrivals that are let through. */
export function admit<A extends Arrival>(limit: BucketLimit, arrivals: readonly A[]): A[] {
  const bucket = new OneBucket(limit);
  return arrivals.filter((arrival) => bucket.take(arrival).fits);
}

/** A limit of that algorithm; `burst` means something to the token and the leaky bucket alone. */
export function limitOf({ algorithm, requestsPerUnit, windowUs, burst }: LimitOfInput): BucketLimit {
  const capacities: Partial<Record<BucketAlgorithm, number>> = { token_bucket: burst, leaky_bucket: 1 + burst };
  return { algorithm, requestsPerUnit, windowUs, capacity: capacities[algorithm] ?? requestsPerUnit };
}

interface LimitOfInput {
  readonly algorithm: BucketAlgorithm;
  readonly requestsPerUnit: number;
  readonly windowUs: number;
  readonly burst: number;
}

export function smallLimits(algorithm: BucketAlgorithm, windowUs: number): fc.Arbitrary<BucketLimit> {
  return fc
    .record({ requestsPerUnit: fc.integer({ min: 1, max: 12 }), burst: fc.integer({ min: 0, max: 12 }) })
    .map((parts) => limitOf({ algorithm, windowUs, ...parts }));
}

/** The time of the next arrival: the same, soon, or on either side of the window's edge. */
export function nextArrivalUs(nowUs: number, step: number, windowUs: number): number {
  const edgeUs = nowUs - (nowUs % windowUs) + windowUs;
  return [nowUs, nowUs + (step % 7), nowUs + (step % Math.ceil(windowUs / 8)), edgeUs - 1, edgeUs][step % 5]!;
}

/** Each run of arrivals from one to a later one: what passed in it, and in what time. */
export function* stretches<A extends Arrival>(arrivals: readonly A[]): Generator<Stretch<A>> {
  for (const [i, first] of arrivals.entries()) {
    let hits = 0;
    for (const last of arrivals.slice(i)) {
      hits += last.hits;
      yield { first, last, hits };
    }
  }
}

interface Stretch<A> {
  readonly first: A;
  readonly last: A;
  readonly hits: number;
}
