/** A reservation that one script cannot hold is refused before anything is charged. */

import type { Leg } from '../../../src/domain/decide/reservation';
import { RedisReservations } from '../../../src/state/reservation/redis-reservations';
import { ReservationKeys, tagOfBucket } from '../../../src/state/reservation/reservation-keys';
import { slotOf } from '../../../src/state/store/redis/cluster-slots';
import { LIMITS } from '../../support/decisions/groups';

const PREFIX = 'limits/';

function leg(bucketKey: string): Leg {
  return {
    bucketKey,
    limit: LIMITS.fixed_window,
    mode: 'enforced',
    descriptor: 0,
    shareMax: undefined,
    overdraftMax: 0,
    keepsOnLapse: false,
  };
}

function open(ofSlot: (key: string) => number | undefined) {
  const runs: unknown[] = [];
  const reservations = new RedisReservations({
    run: (call) => {
      runs.push(call);
      return Promise.resolve(call.read([1, 0]));
    },
    slotOf: ({ bucketKey }) => ofSlot(bucketKey),
    keyPrefix: PREFIX,
    onGivenBack: () => undefined,
  });
  const reserve = (...keys: string[]) =>
    reservations.reserve(
      { name: { tag: 'd', id: 'a' }, plan: { legs: keys.map(leg), quotaAlwaysFits: false, shadow: false }, asked: 1, ttlUs: 1, keepUs: 1 },
      {},
    );
  return { runs, reserve };
}

test.each([
  ['of two slots', slotOf],
  ['of another server', () => undefined],
])('the parts of a reservation have the buckets %s', async (_where, ofSlot) => {
  const { runs, reserve } = open(ofSlot);
  await expect(reserve(`${PREFIX}1{d|a}fw60|k=v`, `${PREFIX}1{d|b}fw60|k=v`)).rejects.toMatchObject({ name: 'PartsError' });
  expect(runs).toEqual([]);
});

test('every key of a reservation is in the slot of its buckets, and differs from bucket keys', () => {
  const bucket = `${PREFIX}1{d|tenant}fw60|k=v`;
  const tag = tagOfBucket(bucket, PREFIX);
  expect(tag).toBe('d|tenant');
  const keys = new ReservationKeys(PREFIX);
  const beside = [keys.record({ tag, id: '{other}' }), keys.lapses(tag), keys.holds(tag)];
  expect(new Set(beside.map(slotOf))).toEqual(new Set([slotOf(bucket)]));
  for (const key of beside) expect(key.startsWith(`${PREFIX}weir:`)).toBe(true);
});
