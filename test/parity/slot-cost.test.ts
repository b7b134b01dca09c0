/** A bucket of requests in flight takes 15 bytes in Redis for each taken slot, and little more. */

import { slotIdOf } from '../../src/domain/bucket/slot-id';
import { RedisStore } from '../../src/state/store/redis/redis-store';
import { groupOf, take } from '../support/decisions/groups';
import { makeTestClient, storeOptions } from '../support/redis/redis-store';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { figure } from '../support/docs/figure';

const SLOT_BYTES = 15;
const PAIRS = 2_000;

let server: RedisServer;

beforeAll(async () => {
  server = await startRedis();
});

afterAll(() => server.stop());

test.each([
  [20, 1],
  [20, 19],
  [1_000, 999],
  [10_000, 9_999],
])(
  'a bucket with %i slots has %i taken: its bytes and time stay within the bound',
  async (max, taken) => {
    const client = makeTestClient(server.port);
    await client.connect();
    await client.flushAll();
    const store = new RedisStore(storeOptions(server.port));
    await store.connect({ waitMs: 5_000 });
    const limit = { algorithm: 'in_flight', windowUs: 3_600_000_000, requestsPerUnit: max, capacity: max } as const;
    const key = '1{payments}if|merchant=acme|request_id=~';
    for (let i = 0; i < taken; i += 1) await store.take([groupOf([take(key, { limit, slotId: slotIdOf(`${i}`) })])]);
    const bytes = Number(await client.sendCommand(['MEMORY', 'USAGE', key]));
    await client.sendCommand(['CONFIG', 'RESETSTAT']);
    for (let i = 0; i < PAIRS; i += 1) {
      const slotId = slotIdOf(`more ${i}`);
      await store.take([groupOf([take(key, { limit, slotId })])]);
      await store.take([groupOf([take(key, { limit, slotId, hits: -1, overdraftMax: 0 })])]);
    }
    const stats = await client.info('commandstats');
    const [, usec = 'NaN', perCall = 'NaN'] = /cmdstat_evalsha:calls=\d+,usec=(\d+),usec_per_call=([\d.]+)/.exec(stats) ?? [];
    figure(
      `${taken} of ${max} slots: ${bytes} bytes, ${(Number(usec) / PAIRS).toFixed(1)} us of Redis for a take and its release, ${perCall} us a call`,
    );
    expect(await client.strLen(key)).toBe(SLOT_BYTES * taken);
    expect(bytes).toBeLessThan(200 + 1.3 * SLOT_BYTES * taken);
    await store.close();
    client.destroy();
  },
  120_000,
);
