/** Hits given back never leave more room than if they had not been taken. */

import fc from 'fast-check';
import { TRAITS, type BucketAlgorithm, type BucketState } from '../../src/domain/algorithm/algorithms';
import type { BucketLimit, GroupVerdict, Adjustment } from '../../src/domain/bucket/take';
import type { BucketWrite } from '../../src/domain/decide/decide-group';
import { adjustBucket } from '../../src/domain/decide/adjust-bucket';
import { casesOf } from '../support/random/form';
import { decideGroup } from '../support/decisions/decide-group';
import { BUCKET_ALGORITHMS, groupOf, adjustment, take } from '../support/decisions/groups';
import { nextArrivalUs, smallLimits, START_US } from '../support/model/one-bucket';
import { packState } from '../support/redis/pack-state';
import { seeded } from '../support/random/random';

const RUNS = 1_000;
const WINDOW_US = 1_000_000;

interface Arrival {
  readonly atUs: number;
  readonly hits: number;
}

interface Case {
  readonly limit: BucketLimit;
  /** Of all callers; one of them gives back. */
  readonly arrivals: readonly Arrival[];
  /** Which arrival is given back, and before which one. */
  readonly taken: number;
  readonly returned: number;
}

function cases(algorithm: BucketAlgorithm): fc.Arbitrary<Case> {
  const arrival = fc.record({ step: fc.nat(), hits: fc.integer({ min: 1, max: 4 }) });
  return fc
    .record({
      limit: smallLimits(algorithm, WINDOW_US),
      steps: fc.array(arrival, { minLength: 2, maxLength: 30 }),
      places: fc.tuple(fc.nat(), fc.nat()),
    })
    .map(({ limit, steps, places: [a, b] }) => {
      let atUs = START_US;
      const arrivals = steps.map(({ step, hits }) => {
        atUs = nextArrivalUs(atUs, step, WINDOW_US);
        return { atUs, hits };
      });
      const taken = a % (arrivals.length - 1);
      return { limit, arrivals, taken, returned: taken + 1 + (b % (arrivals.length - taken - 1)) };
    });
}

/** One bucket, which its callers use one after another. */
class Bucket {
  private state: BucketState | undefined;

  constructor(private readonly limit: BucketLimit) {}

  take({ atUs, hits }: Arrival): GroupVerdict {
    const group = groupOf([take('a', { limit: this.limit, hits })]);
    const { writes, ...verdict } = decideGroup({ group, nowUs: atUs, read: () => this.state });
    writes.forEach((write) => {
      this.write(write);
    });
    return verdict;
  }

  giveBack(parts: Pick<Adjustment, 'hits' | 'takenAtUs' | 'usedBefore'>, nowUs: number): number {
    const given = adjustment('a', { ...parts, limit: this.limit });
    const { applied, write } = adjustBucket({ adjustment: given, stored: this.state, nowUs });
    if (write !== undefined) this.write(write);
    return applied;
  }

  room(nowUs: number): number {
    const engine = TRAITS[this.limit.algorithm].engine;
    return engine.room(this.at(nowUs), this.limit);
  }

  /** An unused bucket is forgotten, whatever it remembers. */
  stored(nowUs: number): string {
    const state = this.at(nowUs);
    return TRAITS[this.limit.algorithm].engine.isUnused(state) ? 'none' : packState(state, this.limit);
  }

  private at(nowUs: number): BucketState {
    const engine = TRAITS[this.limit.algorithm].engine;
    return engine.advance(this.state ?? engine.fresh(this.limit, nowUs), this.limit, nowUs);
  }

  private write({ state }: BucketWrite): void {
    this.state = state;
  }
}

/** As a caller knows it: by the verdict on its take. */
function usedBefore({ capacity }: BucketLimit, { verdicts }: GroupVerdict, hits: number): number {
  return capacity - verdicts[0]!.remaining - hits;
}

function compareRoom(bucket: Bucket, never: Bucket, nowUs: number): void {
  const [given, most] = [bucket.room(nowUs), never.room(nowUs)];
  if (given > most) throw new Error(`room for ${given}, and for ${most} had nothing been taken`);
}

test.each(BUCKET_ALGORITHMS)('%s: hits given back never cause an over-grant', (algorithm) => {
  let gaveBack = 0;
  const holds = ({ limit, arrivals, taken, returned }: Case): void => {
    const [bucket, never] = [new Bucket(limit), new Bucket(limit)];
    let own: (Arrival & { readonly usedBefore: number }) | undefined;
    for (const [i, arrival] of arrivals.entries()) {
      if (i === returned && own !== undefined) {
        const applied = bucket.giveBack({ hits: -own.hits, takenAtUs: own.atUs, usedBefore: own.usedBefore }, arrival.atUs);
        if (applied > own.hits) throw new Error(`${applied} given back of ${own.hits}`);
        gaveBack += applied;
      }
      if (i >= returned) compareRoom(bucket, never, arrival.atUs);
      const verdict = bucket.take(arrival);
      if (verdict.overLimit) continue;
      if (i === taken) own = { ...arrival, usedBefore: usedBefore(limit, verdict, arrival.hits) };
      // What the others took with it, they take without it.
      else if (never.take(arrival).overLimit) throw new Error('less room without the take than with it');
    }
    const lastUs = arrivals.at(-1)!.atUs;
    for (let i = 0; i <= 40; i += 1) compareRoom(bucket, never, lastUs + Math.floor((i * WINDOW_US) / 16));
  };
  fc.assert(fc.property(cases(algorithm), holds), seeded(RUNS));
  expect(gaveBack).toBeGreaterThan(casesOf(RUNS) / 10);
});

test.each(BUCKET_ALGORITHMS)('%s: hits given back at once leave the bucket as if nothing had been taken', (algorithm) => {
  const holds = ({ limit, arrivals, taken }: Case): void => {
    const bucket = new Bucket(limit);
    for (const arrival of arrivals.slice(0, taken)) bucket.take(arrival);
    const own = arrivals[taken]!;
    const before = bucket.stored(own.atUs);
    const verdict = bucket.take(own);
    if (verdict.overLimit) return;
    expect(bucket.giveBack({ hits: -own.hits, takenAtUs: own.atUs, usedBefore: usedBefore(limit, verdict, own.hits) }, own.atUs)).toBe(
      own.hits,
    );
    expect(bucket.stored(own.atUs)).toBe(before);
  };
  fc.assert(fc.property(cases(algorithm), holds), seeded(RUNS));
});
