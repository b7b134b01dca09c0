/** Reservations in a real Redis on a clock that the test sets, with what they send. */

import type { Leg } from '../../../src/domain/decide/reservation';
import { RedisReservations, type RedisReservationsOptions } from '../../../src/state/reservation/redis-reservations';
import type { StepOutcome } from '../../../src/state/reservation/reservations';
import { groupOf, take } from '../decisions/groups';
import { decided } from '../decisions/outcomes';
import { loadClockedScript } from './clocked-script';
import type { RedisOfFile } from './redis-of-file';

const DAY_US = 86_400_000_000;

export class ClockedReservations {
  /** The arguments of each run. */
  readonly runs: (readonly string[])[] = [];
  /** Runs that were answered. */
  ended = 0;
  readonly reservations: RedisReservations;

  constructor(
    private readonly redis: RedisOfFile,
    options: Partial<RedisReservationsOptions> = {},
  ) {
    this.reservations = new RedisReservations({
      run: async (call) => {
        this.runs.push(call.args);
        const answer = await redis.store.run(call);
        this.ended += 1;
        return answer;
      },
      slotOf: () => 0,
      keyPrefix: '',
      onGivenBack: () => undefined,
      script: loadClockedScript('reserve'),
      // A turn does not end.
      nowMs: () => 0,
      ...options,
    });
  }

  async reserve(
    tag: string,
    id: string,
    { legs, hits, ttlUs }: { readonly legs: readonly Leg[]; readonly hits: number; readonly ttlUs: number },
  ) {
    const plan = { legs, quotaAlwaysFits: false, shadow: false };
    const outcome = await this.reservations.reserve({ name: { tag, id }, plan, asked: hits, ttlUs, keepUs: DAY_US }, {});
    if ('outsideAtUs' in outcome) throw new Error('outside the windows');
    return outcome;
  }

  async settle(
    tag: string,
    id: string,
    { legs, target, actual = 0 }: { readonly legs: readonly Leg[]; readonly target: 'committed' | 'released'; readonly actual?: number },
  ): Promise<StepOutcome | undefined> {
    const unknown = { plan: { legs, quotaAlwaysFits: false, shadow: false }, keepUs: DAY_US };
    const outcome = await this.reservations.settle({ name: { tag, id }, target, actual, unknown }, {});
    if (outcome !== undefined && 'outsideAtUs' in outcome) throw new Error('outside the windows');
    return outcome;
  }

  /** Hits used in the bucket. */
  async used({ bucketKey, limit }: Pick<Leg, 'bucketKey' | 'limit'>): Promise<number> {
    const [outcome] = await this.redis.store.take([groupOf([take(bucketKey, { limit, hits: 0 })])]);
    const [{ remaining, debt = 0 } = { remaining: 0 }] = decided(outcome).verdicts;
    return limit.capacity - remaining + debt;
  }
}
