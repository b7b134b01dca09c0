/** Without Redis each hit of a reservation is charged and given back once, over several processes too. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { FallbackReservations } from '../../../src/state/reservation/fallback-reservations';
import type { ReservationPlan, Reservations } from '../../../src/state/reservation/reservations';
import { FallbackStore } from '../../../src/state/resilience/fallback';
import { UsageSnapshot } from '../../../src/state/resilience/usage-snapshot';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import type { Store } from '../../../src/state/store/port/store';
import { StoreError } from '../../../src/state/store/port/store-error';
import { groupOf, take } from '../../support/decisions/groups';
import { decided } from '../../support/decisions/outcomes';
import { leg } from '../../support/random/reservation-schedules';

const NOW_US = 1_800_000_000_000_000;
const TTL_US = 60_000_000;
const DAY_US = 86_400_000_000;
const LIMIT = { algorithm: 'fixed_window' as const, windowUs: 365 * DAY_US, requestsPerUnit: 1_000, capacity: 1_000 };
const LEG = leg('1{d}fw|a', { limit: LIMIT, shareMax: 500, overdraftMax: 1_000 });
const PLAN: ReservationPlan = { legs: [LEG], quotaAlwaysFits: false, shadow: false };

const AWAY = new StoreError('Redis is away', 'connection', { mayHaveRun: false });

const NO_REDIS: Reservations = {
  reserve: () => Promise.reject(AWAY),
  settle: () => Promise.reject(AWAY),
  extend: () => Promise.reject(AWAY),
  sweep: () => Promise.resolve({ held: 0, firstAfterMs: undefined }),
};

/** Redis's buckets, which every process charges as soon as it can. */
class World {
  nowUs = NOW_US;
  isAway = false;
  passedHits = 0;
  readonly buckets = new MemoryStore({ nowUs: () => this.nowUs, bucketsMax: 1_000 });
  /** Answers of Redis wait for it. */
  slow: Promise<unknown> = Promise.resolve();

  open(failureMode: 'local' | 'unavailable' = 'local') {
    const redis: Store = {
      take: async (groups) => {
        if (this.isAway) return groups.map(() => AWAY);
        await this.slow;
        return this.buckets.take(groups);
      },
      adjust: async (adjustments) => (this.isAway ? adjustments.map(() => AWAY) : this.buckets.adjust(adjustments)),
      close: () => Promise.resolve(),
    };
    const store = new FallbackStore(redis, {
      local: new MemoryStore({ nowUs: () => this.nowUs, bucketsMax: 1_000 }),
      failureMode,
      lastKnown: new UsageSnapshot({ nowMs: () => this.nowUs / 1_000, bucketsMax: 1_000 }),
      accountsMax: 1_000,
      nowMs: () => this.nowUs / 1_000,
      nowUs: () => this.nowUs,
      instances: () => 1,
      onFallback: ({ local }) => (this.passedHits += local),
      onChargedBack: () => undefined,
      onLost: () => undefined,
    });
    const reservations = new FallbackReservations({
      redis: NO_REDIS,
      store,
      nowUs: () => this.nowUs,
      recordsMax: 1_000,
      bytesMax: 1_000_000,
    });
    return { store, reservations, ...stepsOf(reservations) };
  }

  async used(): Promise<number> {
    const [outcome] = await this.buckets.take([groupOf([take(LEG.bucketKey, { limit: LIMIT, hits: 0 })])]);
    return LIMIT.capacity - decided(outcome).verdicts[0]!.remaining;
  }
}

function stepsOf(reservations: FallbackReservations) {
  const unknown = { plan: PLAN, keepUs: DAY_US };
  return {
    reserve: (id: string, hits: number) =>
      reservations.reserve({ name: { tag: 'd', id }, plan: PLAN, asked: hits, ttlUs: TTL_US, keepUs: DAY_US }, {}),
    commit: (id: string, hits: number) => reservations.settle({ name: { tag: 'd', id }, target: 'committed', actual: hits, unknown }, {}),
    release: (id: string) => reservations.settle({ name: { tag: 'd', id }, target: 'released', actual: 0, unknown }, {}),
  };
}

/** Redis is back: the process charges it with what passed meanwhile. */
async function comeBack(world: World, processes: readonly { readonly store: FallbackStore }[]): Promise<void> {
  world.isAway = false;
  for (const { store } of processes) {
    await store.take([groupOf([take('1{d}fw|other', { limit: LIMIT, hits: 0 })])]);
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  }
}

test('a commit that meets a lapse under way is charged once, and stays', async () => {
  const world = new World();
  const weir = world.open();
  world.isAway = true;
  await weir.reserve('a', 100);
  await comeBack(world, [weir]);
  expect(await world.used()).toBe(100);
  world.nowUs += TTL_US;
  let answer = (): void => undefined;
  world.slow = new Promise<void>((resolve) => (answer = resolve));
  const lapsing = weir.reservations.sweep('d');
  const committing = weir.commit('a', 30);
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  answer();
  await lapsing;
  expect(await committing).toMatchObject({ record: { state: 'committed', isLate: true, isUnknown: false }, isChanged: true });
  expect(await world.used()).toBe(30);
  expect(await weir.commit('a', 30)).toMatchObject({ isChanged: false });
  expect(await world.used()).toBe(30);
});

test('a commit at another process of the machine is charged there, and the first one gives back all when it lapses', async () => {
  const world = new World();
  const [one, other] = [world.open(), world.open()];
  world.isAway = true;
  await one.reserve('a', 100);
  expect(await other.commit('a', 30)).toMatchObject({ record: { state: 'committed', isUnknown: true } });
  await comeBack(world, [one, other]);
  expect(await world.used()).toBe(130);
  world.nowUs += TTL_US;
  expect((await one.reservations.sweep('d')).held).toBe(0);
  expect(await world.used()).toBe(30);
  expect(await other.commit('a', 30)).toMatchObject({ isChanged: false });
  expect(await world.used()).toBe(30);
});

test('a Reserve that the share denies without Redis passes no hit', async () => {
  const world = new World();
  const weir = world.open();
  world.isAway = true;
  await weir.reserve('a', 500);
  for (let i = 0; i < 10; i += 1) expect(await weir.reserve(`b${i}`, 10)).toMatchObject({ verdict: { overLimit: true }, granted: 0 });
  expect(world.passedHits).toBe(500);
  await comeBack(world, [weir]);
  expect(await world.used()).toBe(500);
});

test('a step without Redis fails where the failure mode is unavailable, and leaves no record', async () => {
  const world = new World();
  const weir = world.open('unavailable');
  world.isAway = true;
  for (const step of [weir.reserve('a', 10), weir.commit('a', 10), weir.release('a')])
    await expect(step).rejects.toMatchObject({ name: 'StoreError' });
  world.isAway = false;
  expect(await world.used()).toBe(0);
  await expect(weir.release('a')).rejects.toMatchObject({ name: 'StoreError' });
});
