/** Both stores and a model agree on random schedules of reservations, with repeats, losses and reorderings. */

import { ALGORITHMS } from '../../src/domain/algorithm/algorithms';
import type { GroupOutcome } from '../../src/state/store/port/store';
import type { Leg, ReservationRecord } from '../../src/domain/decide/reservation';
import { MemoryReservations } from '../../src/state/reservation/memory-reservations';
import { RedisReservations } from '../../src/state/reservation/redis-reservations';
import type { Reservations } from '../../src/state/reservation/reservations';
import { MemoryStore } from '../../src/state/store/memory/memory-store';
import { loadClockedScript } from '../support/redis/clocked-script';
import { groupOf, LIMITS, take } from '../support/decisions/groups';
import { ReservationModel, type ModelAnswer } from '../support/model/reservations';
import { decided } from '../support/decisions/outcomes';
import { isLong } from '../support/random/form';
import { randomFrom, seeded, seededInFull } from '../support/random/random';
import { redisOfFile } from '../support/redis/redis-of-file';
import { leg, makeStep, randomSteps, type Outcome, type ReservationStep as Step } from '../support/random/reservation-schedules';

/** Schedules against the model: each some 40 ms, most of it Redis. */
const [SCHEDULES_SHORT, SCHEDULES_LONG] = [200, 10_000];
const SCHEDULES_TIMEOUT_MS = 1_200_000;
const START_US = 1_800_000_000_000_000;
const DAY_US = 86_400_000_000;

const redis = redisOfFile();
let nowUs = START_US;

function openBoth(): { readonly memory: Reservations; readonly inRedis: Reservations; readonly store: MemoryStore } {
  const store = new MemoryStore({ nowUs: () => nowUs, bucketsMax: 10_000 });
  const inRedis = new RedisReservations({
    run: async (call) => {
      await redis.setNow(nowUs);
      return redis.store.run(call);
    },
    slotOf: () => 0,
    keyPrefix: '',
    onGivenBack: () => undefined,
    script: loadClockedScript('reserve'),
  });
  return { memory: new MemoryReservations({ store, nowUs: () => nowUs, recordsMax: 1_000, bytesMax: 10_000_000 }), inRedis, store };
}

async function remaining(
  take_: (groups: Parameters<MemoryStore['take']>[0]) => Promise<readonly GroupOutcome[]>,
  legs: readonly Leg[],
): Promise<readonly number[]> {
  const checks = legs.map(({ bucketKey, limit }) => take(bucketKey, { limit, hits: 0 }));
  const [outcome] = await take_([groupOf(checks)]);
  return decided(outcome).verdicts.map(({ remaining: left, debt = 0 }) => left - debt);
}

async function inBoth(
  legs: readonly Leg[],
): Promise<ReturnType<typeof openBoth> & { readonly compare: (step: Step, tag: string) => Promise<Outcome> }> {
  const both = openBoth();
  const compare = async (step: Step, tag: string): Promise<Outcome> => {
    const of = { tag, legs };
    const [one, other] = [await makeStep(both.memory, step, of), await makeStep(both.inRedis, step, of)];
    expect({ step, outcome: other }).toEqual({ step, outcome: one });
    return one;
  };
  await redis.client.flushAll();
  return { ...both, compare };
}

test(
  'model, embedded store and Redis agree: nothing lost, nothing charged twice, and no more held than the share',
  async () => {
    const { numRuns, seed } = seededInFull(isLong ? SCHEDULES_LONG : SCHEDULES_SHORT);
    const random = randomFrom({ seed });
    const seen = new Set<string>();
    for (let run = 0; run < numRuns; run += 1) {
      nowUs = START_US + run * DAY_US;
      const legs = ['a', 'b'].slice(0, 1 + random(2)).map((name, i) => {
        const capacity = 4 + random(12);
        const limit = { algorithm: 'fixed_window' as const, windowUs: DAY_US, requestsPerUnit: capacity, capacity };
        return leg(`${name}${run}`, {
          limit,
          shareMax: 1 + random(capacity),
          overdraftMax: random(2) * capacity,
          keepsOnLapse: random(3) === 0,
          descriptor: i,
        });
      });
      const model = new ReservationModel(legs);
      const { compare, store } = await inBoth(legs);
      for (const step of randomSteps(random, 8, 1_000_000)) {
        if (step.kind === 'wait') {
          nowUs += step.us;
          continue;
        }
        const expected = ask(model, step);
        const outcome = await compare(step, `t${run}`);
        if (expected !== undefined) {
          expect({ step, ...summary(outcome) }).toEqual({ step, state: expected.state, granted: expected.granted });
          seen.add(`${step.kind} ${expected.state}`);
        }
        const left = legs.map(({ limit }, i) => limit.capacity - model.used[i]!);
        expect(await remaining((groups) => store.take(groups), legs)).toEqual(left);
        for (const [i, held] of model.held().entries()) expect(held).toBeLessThanOrEqual(legs[i]!.shareMax!);
      }
      await redis.setNow(nowUs);
      expect(await remaining((groups) => redis.store.take(groups), legs)).toEqual(await remaining((groups) => store.take(groups), legs));
    }
    // What seldom happens is looked for where there are many schedules.
    const seldom = isLong ? ['commit released', 'extend lapsed', 'extend none'] : [];
    expect([...seen]).toEqual(
      expect.arrayContaining(['reserve held', 'reserve denied', 'reserve committed', 'commit committed', 'release released', ...seldom]),
    );
  },
  SCHEDULES_TIMEOUT_MS,
);

function ask(model: ReservationModel, step: Exclude<Step, { kind: 'wait' }>): ModelAnswer | undefined {
  switch (step.kind) {
    case 'reserve':
      return { ...model.reserve(step.id, step.asked, step.ttlUs, nowUs) };
    case 'commit':
      return { ...model.settle(step.id, 'committed', step.actual, nowUs) };
    case 'release':
      return { ...model.settle(step.id, 'released', 0, nowUs) };
    case 'extend':
      return { ...model.extend(step.id, step.ttlUs, nowUs) };
    case 'lapse':
      throw new Error('a schedule sweeps all that is due');
    case 'sweep':
      model.sweep(nowUs);
      return undefined;
  }
}

function summary(outcome: Outcome): ModelAnswer {
  if (outcome === undefined) return { state: 'none', granted: 0 };
  if (typeof outcome === 'number') throw new Error('a sweep says no more than how many are held');
  const record: ReservationRecord | undefined = outcome.record;
  return record === undefined ? { state: 'denied', granted: 0 } : { state: record.state, granted: record.granted };
}

test.each(ALGORITHMS)('%s: both stores agree step by step, over refills and windows, with legs that share a bucket', async (algorithm) => {
  const { numRuns, seed } = seeded(480);
  const random = randomFrom({ seed });
  const limit = LIMITS[algorithm];
  const modes = ['enforced', 'quota', 'shadow'] as const;
  for (let run = 0; run < numRuns; run += 1) {
    nowUs = START_US + run * DAY_US + random(1_000_000_000);
    const legs = Array.from({ length: 1 + random(3) }, (_, i) =>
      leg(`${random(3) === 0 ? 'a' : `b${i}`}${run}`, {
        limit,
        mode: modes[random(6)] ?? 'enforced',
        shareMax: random(2) === 0 ? undefined : 1 + random(limit.capacity),
        overdraftMax: random(4),
        keepsOnLapse: random(3) === 0,
        descriptor: i,
      }),
    );
    const { compare, store } = await inBoth(legs);
    for (const step of randomSteps(random, 4, limit.windowUs / 4)) {
      if (step.kind === 'wait') nowUs += step.us;
      else await compare(step, `t${run}`);
    }
    await redis.setNow(nowUs);
    expect(await remaining((groups) => redis.store.take(groups), legs)).toEqual(await remaining((groups) => store.take(groups), legs));
  }
});
