/** MSETEX writes the values that SET writes, with a sufficient TTL. */

import type { BucketLimit, Group } from '../../src/domain/bucket/take';
import { RedisStore } from '../../src/state/store/redis/redis-store';
import { loadClockedScripts } from '../support/redis/clocked-script';
import { groupOf, LIMITS, take, TEN_PER_SECOND } from '../support/decisions/groups';
import { decided } from '../support/decisions/outcomes';
import type { RedisServer } from '../support/redis/redis-server';
import { openClockedRedis, storeOptions, type ClockedRedis } from '../support/redis/redis-store';
import { describeVersion, listVersions } from '../support/versions/redis-versions';
import { storedTokenBucket } from '../support/redis/stored-token-bucket';
import { hangLimitMs } from '../support/clock/hang-limit';

const START_US = 1_800_000_000_000_000;
const WAIT_MS = hangLimitMs(20_000);
const MARGIN_MS = 2_000;
/** The test sets the clock of the script once. */
const CLOCK_SETS = 1;

const HOUR: BucketLimit = { ...TEN_PER_SECOND, windowUs: 3_600_000_000 };
const DAY: BucketLimit = { ...TEN_PER_SECOND, windowUs: 86_400_000_000 };

describe.each(listVersions().filter(({ name }) => name.startsWith('valkey-9')))('a server with MSETEX', (version) => {
  describeVersion(version, (start) => {
    let server: RedisServer;
    let redis: ClockedRedis;

    beforeAll(async () => {
      server = await start();
      redis = await openClockedRedis(server);
    });

    afterAll(async () => {
      await redis.close();
      await server.stop();
    });

    beforeEach(async () => {
      await redis.client.flushAll();
      await redis.client.configResetStat();
      await redis.setNow(START_US);
    });

    async function callsOf(command: string): Promise<number> {
      return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await redis.client.info('commandstats'))?.[1] ?? 0);
    }

    const three: readonly (readonly [string, readonly Group[]])[] = [
      ['one group', [groupOf([take('a', { hits: 4 }), take('b'), take('c', { limit: LIMITS.fixed_window })])]],
      [
        'several groups',
        [groupOf([take('a', { hits: 2 }), take('b')]), groupOf([take('a', { hits: 2 }), take('c', { limit: LIMITS.fixed_window })])],
      ],
    ];

    test.each(three)('%s writes the values that SET writes', async (_what, groups) => {
      const outcomes = await redis.store.take(groups);
      for (const outcome of outcomes) expect(decided(outcome).overLimit).toBe(false);
      expect(await callsOf('msetex')).toBeGreaterThan(0);
      expect(await callsOf('set')).toBe(CLOCK_SETS);
      expect(await storedTokenBucket(redis.client, 'a')).toBe(`4 0 ${START_US}`);
      expect(await storedTokenBucket(redis.client, 'b')).toBe(`1 0 ${START_US}`);
      const { windowUs } = LIMITS.fixed_window;
      expect(await redis.client.get('c')).toBe(String(2 * (START_US - (START_US % windowUs)) + 1));
    });

    test.each([
      [1, 0],
      [2, 1],
    ])('%i keys need %i MSETEX', async (keys, times) => {
      await redis.store.take([groupOf(['a', 'b'].slice(0, keys).map((key) => take(key)))]);
      expect(await callsOf('msetex')).toBe(times);
    });

    /** On the clock of the server. */
    async function timeMs(): Promise<number> {
      const [seconds, microseconds] = await redis.client.sendCommand<[string, string]>(['TIME']);
      return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
    }

    test('one command writes TTLs within one power of two, with the longest TTL that a bucket needs', async () => {
      const beforeMs = await timeMs();
      await redis.store.take([
        groupOf([
          take('a'),
          take('b', { hits: 2 }),
          take('hour', { limit: HOUR }),
          take('hours', { hits: 10, limit: HOUR }),
          take('day', { limit: DAY }),
        ]),
      ]);
      expect(await callsOf('msetex')).toBe(4);
      const afterMs = await timeMs();
      // The first two share their TTL.
      for (const [key, fullAfterMs] of [
        ['a', 200],
        ['b', 200],
        ['hour', 360_000],
        ['hours', 3_600_000],
        ['day', 8_640_000],
      ] as const) {
        const expiryMs = await redis.client.pExpireTime(key);
        expect(expiryMs).toBeGreaterThanOrEqual(beforeMs + fullAfterMs + MARGIN_MS);
        expect(expiryMs).toBeLessThanOrEqual(afterMs + fullAfterMs + MARGIN_MS);
      }
    });

    test('a run that begins two windows and charges two in course needs one MSETEX and two INCRBY', async () => {
      const window = LIMITS.fixed_window;
      const [inCourse, all] = [
        ['a', 'b'],
        ['a', 'c', 'b', 'd'],
      ].map((keys) => groupOf(keys.map((key) => take(key, { limit: window }))));
      await redis.store.take([inCourse!]);
      await redis.client.configResetStat();
      await redis.store.take([all!]);
      expect([await callsOf('msetex'), await callsOf('incrby'), await callsOf('set')]).toEqual([1, 2, 0]);
      const start = 2 * (START_US - (START_US % window.windowUs));
      expect(await redis.client.mGet(['a', 'b', 'c', 'd'])).toEqual([2, 2, 1, 1].map((used) => String(start + used)));
      for (const key of ['a', 'b', 'c', 'd']) expect(await redis.client.pTTL(key)).toBeGreaterThan(0);
    });

    test('a denied group writes nothing, and a group beside it writes its charge', async () => {
      await redis.store.take([groupOf([take('a', { hits: 11 }), take('b')]), groupOf([take('b'), take('c', { hits: 3 })])]);
      expect((await redis.client.keys('?')).sort()).toEqual(['b', 'c']);
      expect(await storedTokenBucket(redis.client, 'b')).toBe(`1 0 ${START_US}`);
    });

    /** Takes as a user with these rights beside all but MSETEX. */
    async function takeWith(rights: readonly string[], group: Group): Promise<unknown> {
      await redis.client.sendCommand(['ACL', 'SETUSER', 'weir', 'reset', 'on', '>secret', '~*', '+@all', '-msetex', ...rights]);
      const { server: at, ...options } = storeOptions(server.port);
      const store = new RedisStore({ ...options, server: { ...at, username: 'weir', password: 'secret' }, scripts: loadClockedScripts() });
      try {
        await store.connect({ waitMs: WAIT_MS });
        return await store.take([group]).then(
          ([outcome]) => decided(outcome).overLimit,
          (error: unknown) => error,
        );
      } finally {
        await store.close();
      }
    }

    test('a user without the right to MSETEX writes with SET', async () => {
      expect(await takeWith([], groupOf([take('a'), take('b')]))).toBe(false);
      expect(await callsOf('set')).toBe(CLOCK_SETS + 2);
      expect(await storedTokenBucket(redis.client, 'b')).toBe(`1 0 ${START_US}`);
    });

    test('a run of several MSETEX falls back to SET if the first is rejected, and reports a later rejection', async () => {
      const group = groupOf([take('a'), take('hour', { limit: HOUR })]);
      const answers = [];
      for (const allowed of ['a', 'hour']) {
        await redis.client.del(['a', 'hour']);
        answers.push(await takeWith([`(+msetex ~${allowed})`], group));
        expect(await redis.client.exists(['a', 'hour'])).toBe(answers.at(-1) === false ? 2 : 1);
      }
      // Which of the two comes first is not defined.
      expect(answers.filter((answer) => answer === false)).toHaveLength(1);
      expect(answers.filter((answer) => String(answer).includes('PARTLY'))).toHaveLength(1);
    });
  });
});
