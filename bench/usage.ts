/** `npm run bench -- usage`: what checks, usage reports, requests in flight and reservations cost Redis, each beside a plain take of the same round. */

import { slotIdOf } from '../src/domain/bucket/slot-id';
import type { BucketLimit, Group, Take } from '../src/domain/bucket/take';
import { RedisReservations } from '../src/state/reservation/redis-reservations';
import { RedisStore } from '../src/state/store/redis/redis-store';
import { StoreError } from '../src/state/store/port/store-error';
import { groupOf, take } from '../test/support/decisions/groups';
import { storeOptions } from '../test/support/redis/redis-store';
import { startRedis } from '../test/support/redis/redis-server';
import { processorTimeUs } from './support/redis-figures';
import { spread, table, threeDigits } from './support/markdown';
import { spreadOf } from './support/statistics';
import { closeAll, openClient } from './support/redis-client';

const ROUNDS = 7;
const UNITS_PER_ROUND = 4_000;
const IN_FLIGHT = 64;
const KEYS = 10_000;
const DAY_US = 86_400_000_000;

const LIMIT: BucketLimit = { algorithm: 'token_bucket', windowUs: DAY_US, requestsPerUnit: 1_000_000, capacity: 1_000_000 };
const SLOTS: BucketLimit = { algorithm: 'in_flight', windowUs: 60_000_000, requestsPerUnit: 1_000, capacity: 1_000 };

/** One thing that a caller does, which may be two calls. */
interface Kind {
  readonly title: string;
  readonly once: (unit: number) => Promise<void>;
}

async function main(): Promise<void> {
  const redis = await startRedis();
  const admin = await openClient(redis.port);
  const store = new RedisStore(storeOptions(redis.port));
  await store.connect({ waitMs: 5_000 });
  try {
    const kinds = kindsOn(store);
    const rounds: number[][] = kinds.map(() => []);
    for (let round = -1; round < ROUNDS; round += 1) {
      for (const [i, kind] of kinds.entries()) {
        await admin.sendCommand(['FLUSHALL']);
        const beforeUs = await processorTimeUs(admin);
        await inFlight(kind.once, (round + 1) * UNITS_PER_ROUND);
        // The first round only warms up.
        if (round >= 0) rounds[i]?.push(((await processorTimeUs(admin)) - beforeUs) / UNITS_PER_ROUND);
      }
    }
    console.log(report(kinds, rounds));
    console.log(`\n${await bytes(store, admin)}`);
  } finally {
    await store.close();
    await closeAll([admin]);
    await redis.stop();
  }
}

function kindsOn(store: RedisStore): readonly Kind[] {
  const reservations = new RedisReservations({
    run: (call, options) => store.run(call, options),
    slotOf: () => 0,
    keyPrefix: '',
    onGivenBack: () => undefined,
  });
  const decide = async (...takes: readonly Take[]): Promise<void> => {
    const group: Group = groupOf(takes);
    const [outcome] = await store.take([group]);
    if (outcome === undefined || outcome instanceof StoreError || 'outsideAtUs' in outcome) throw new Error('the store decided nothing');
  };
  const keyOf = (unit: number) => `1{bench}tb86400|user=id-${String(unit % KEYS).padStart(7, '0')}`;
  const legOf = (unit: number) => ({
    bucketKey: keyOf(unit),
    limit: LIMIT,
    mode: 'enforced' as const,
    descriptor: 0,
    shareMax: 500_000,
    overdraftMax: 0,
    keepsOnLapse: false,
  });
  return [
    { title: 'a take', once: (unit) => decide(take(keyOf(unit), { limit: LIMIT })) },
    { title: 'a check', once: (unit) => decide(take(keyOf(unit), { limit: LIMIT, hits: 0 })) },
    { title: 'a usage report', once: (unit) => decide(take(keyOf(unit), { limit: LIMIT, hits: 10, overdraftMax: 1_000 })) },
    {
      title: 'a request in flight: begin and end, some 64 at once in one bucket',
      once: async (unit) => {
        const slot = { limit: SLOTS, slotId: slotIdOf(`r${unit}`) };
        await decide(take('1{bench}if|user=ann|id=~', slot));
        await decide(take('1{bench}if|user=ann|id=~', { ...slot, hits: -1, overdraftMax: 0 }));
      },
    },
    {
      title: 'a reservation: reserve and commit (three runs of the script)',
      once: async (unit) => {
        const [name, plan] = [
          { tag: 'bench', id: `r${unit}` },
          { legs: [legOf(unit)], quotaAlwaysFits: false, shadow: false },
        ];
        await reservations.reserve({ name, plan, asked: 10, ttlUs: 60_000_000, keepUs: DAY_US }, {});
        await reservations.settle({ name, target: 'committed', actual: 7 }, {});
      },
    },
  ];
}

/** All units of a round, `IN_FLIGHT` at a time. */
async function inFlight(once: Kind['once'], first: number): Promise<void> {
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < UNITS_PER_ROUND) {
      const unit = first + next;
      next += 1;
      await once(unit);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, caller));
}

function report(kinds: readonly Kind[], rounds: readonly (readonly number[])[]): string {
  const [plain = []] = rounds;
  const rows = kinds.map(({ title }, i) => {
    const own = rounds[i] ?? [];
    const ratios = own.map((us, round) => us / (plain[round] ?? NaN));
    return [title, spread(spreadOf(own), threeDigits), spread(spreadOf(ratios), threeDigits)];
  });
  return `Medians of ${ROUNDS} rounds of ${UNITS_PER_ROUND}, ${IN_FLIGHT} at a time, one EVALSHA for each call; in brackets the lowest and the highest round.\n\n${table(['what', 'us of Redis', 'to a take'], rows)}`;
}

/** What is left in Redis by one reservation that is held: of its record, its index and its count. */
async function bytes(store: RedisStore, admin: Awaited<ReturnType<typeof openClient>>): Promise<string> {
  await admin.sendCommand(['FLUSHALL']);
  const reserve = kindsOn(store).at(-1);
  await reserve?.once(1);
  const keys = await admin.sendCommand<string[]>(['KEYS', '*']);
  const sizes = await Promise.all(keys.map(async (key) => `${key}: ${await admin.sendCommand<number>(['MEMORY', 'USAGE', key])} bytes`));
  return `What a reservation leaves behind, once it is committed:\n${sizes.sort().join('\n')}`;
}

void main();
