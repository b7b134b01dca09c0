/** A late commit on a calendar limit is charged in the present windows. */

import type { Leg } from '../../../src/domain/decide/reservation';
import { MemoryReservations } from '../../../src/state/reservation/memory-reservations';
import type { Reservations } from '../../../src/state/reservation/reservations';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { groupOf, take } from '../../support/decisions/groups';
import { decided } from '../../support/decisions/outcomes';
import { leg } from '../../support/random/reservation-schedules';
import { ClockedReservations } from '../../support/redis/clocked-reservations';
import { redisOfFile } from '../../support/redis/redis-of-file';

const DAY_US = 86_400_000_000;
const START_US = 20_000 * DAY_US;
const NAME = { tag: 'd', id: 'late' };

const redis = redisOfFile();
let nowUs: number;

/** A limit of a calendar day, with the edges of that day and the next. */
function dayLeg(day: number): Leg {
  const edgesUs = [0, 1, 2].map((each) => START_US + (day + each) * DAY_US);
  return leg('1{d}fw|day', {
    limit: { algorithm: 'fixed_window', windowUs: DAY_US, requestsPerUnit: 1_000, capacity: 1_000, edgesUs },
    overdraftMax: 1_000,
  });
}

interface Opened {
  readonly reservations: Reservations;
  readonly at: (us: number) => Promise<void>;
  readonly used: (of: Leg) => Promise<number>;
}

function openMemory(): Opened {
  const store = new MemoryStore({ nowUs: () => nowUs, bucketsMax: 100 });
  return {
    reservations: new MemoryReservations({ store, nowUs: () => nowUs, recordsMax: 100, bytesMax: 1_000_000 }),
    at: (us) => Promise.resolve(void (nowUs = us)),
    used: async ({ bucketKey, limit }) => {
      const [outcome] = await store.take([groupOf([take(bucketKey, { limit, hits: 0 })])]);
      return limit.capacity - decided(outcome).verdicts[0]!.remaining;
    },
  };
}

function openRedis(): Opened {
  const weir = new ClockedReservations(redis);
  return { reservations: weir.reservations, at: (us) => redis.setNow(us), used: (of) => weir.used(of) };
}

describe.each([
  ['the embedded store', openMemory],
  ['Redis', openRedis],
])('on %s', (_name, open) => {
  function commit(reservations: Reservations, legs: readonly Leg[] | undefined) {
    const unknown = legs && { plan: { legs, quotaAlwaysFits: false, shadow: false }, keepUs: DAY_US };
    return reservations.settle({ name: NAME, target: 'committed', actual: 30, unknown }, {});
  }

  async function reserveAndWait(): Promise<Opened> {
    await redis.client.flushAll();
    const opened = open();
    await opened.at(START_US);
    const plan = { legs: [dayLeg(0)], quotaAlwaysFits: false, shadow: false };
    await opened.reservations.reserve({ name: NAME, plan, asked: 50, ttlUs: DAY_US, keepUs: 3 * DAY_US }, {});
    await opened.at(START_US + 2 * DAY_US + 1);
    expect((await opened.reservations.sweep(NAME.tag)).held).toBe(0);
    return opened;
  }

  test('a late commit with descriptors asks for the windows of now, and charges all there', async () => {
    const { reservations, used } = await reserveAndWait();
    expect(await commit(reservations, [dayLeg(0)])).toEqual({ outsideAtUs: START_US + 2 * DAY_US + 1 });
    expect(await commit(reservations, [dayLeg(2)])).toMatchObject({
      record: { state: 'committed', cut: 0, isLate: true },
      isChanged: true,
    });
    expect(await used(dayLeg(2))).toBe(30);
    expect(await commit(reservations, [dayLeg(2)])).toMatchObject({ isChanged: false });
    expect(await used(dayLeg(2))).toBe(30);
  });

  test('a late commit without descriptors says what it could not charge', async () => {
    const { reservations, used } = await reserveAndWait();
    expect(await commit(reservations, undefined)).toMatchObject({ record: { state: 'committed', cut: 30 }, isChanged: true });
    expect(await used(dayLeg(2))).toBe(0);
  });
});
