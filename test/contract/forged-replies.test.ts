/** An invalid reply of Redis never causes an internal fault, a hang or a wrong charge. */

import fc from 'fast-check';
import { StoreError } from '../../src/state/store/port/store-error';
import { RedisStore } from '../../src/state/store/redis/redis-store';
import { fuzzForgedRedis } from '../fuzz/forged-redis';
import { fuzzNumbers, sampleAdjust, sampleTake, type Sample } from '../fuzz/forged-numbers';
import { groupOf, take } from '../support/decisions/groups';
import { isLong } from '../support/random/form';
import { randomFrom, seeded, seededInFull } from '../support/random/random';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { storeOptions } from '../support/redis/redis-store';
import { settlingSchedules } from '../support/random/schedules';
import { slotSchedules } from '../support/random/slot-schedules';
import { startScriptedRedis } from '../support/redis/scripted-redis';
import { until } from '../support/clock/until';

/** Against a run that never ends: a million replies take half a minute. */
const TIMEOUT_MS = 600_000;

const REPLIES_LONG = 1_000_000;
const REPLIES_SHORT = 20_000;

/** Schedules whose steps are the samples. */
const SCHEDULES = 40;
const GROUPS_MAX = 4;

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(() => redis.stop());

test(
  'the reader accepts only lists of numbers that are valid answers',
  async () => {
    const { seed, numRuns: replies } = seededInFull(isLong ? REPLIES_LONG : REPLIES_SHORT);
    const store = new RedisStore(storeOptions(redis.port));
    await store.connect({ waitMs: 10_000 });
    const random = randomFrom({ seed });
    const samples: Sample[] = [];
    for (const steps of [
      ...fc.sample(settlingSchedules(), { seed, numRuns: SCHEDULES }),
      ...fc.sample(slotSchedules(), { seed, numRuns: SCHEDULES }),
    ]) {
      const groups = steps.flatMap((step) => ('group' in step ? [step.group] : []));
      for (let from = 0; from < groups.length; from += GROUPS_MAX) {
        const some = groups.slice(from, from + GROUPS_MAX);
        // The same object again is a fold.
        samples.push(await sampleTake(store, random(3) === 0 ? [...some, ...some, ...some] : some));
      }
      for (const step of steps) if ('adjustments' in step) samples.push(await sampleAdjust(store, step.adjustments));
    }
    await store.close();
    for (const { reply, read } of samples) expect(read(reply)).toBeUndefined();
    const refused = fuzzNumbers({ samples, random, replies });
    expect([refused > replies / 4, refused < replies]).toEqual([true, true]);
  },
  TIMEOUT_MS,
);

test(
  'random bytes from the socket let every call be decided or fail with a store error, and Redis decides again',
  async () => {
    const { seed, numRuns: calls } = seeded(10_000);
    const { faults, replies, forged, causes } = await fuzzForgedRedis({ redis, seed, calls, enough: isInvalidReply });
    expect(faults).toEqual([]);
    expect([replies > calls / 50, forged > replies / 50]).toEqual([true, true]);
    expect([...causes].some(isInvalidReply)).toBe(true);
  },
  TIMEOUT_MS,
);

test(
  'an invalid reply closes the connection and fails all its waiting calls; the cause names the fault and no key',
  async () => {
    const forged = await startScriptedRedis();
    const causes: string[] = [];
    const store = new RedisStore({
      ...storeOptions(forged.port),
      onConnection: ({ cause }) => {
        if (cause !== undefined) causes.push(cause);
      },
    });
    await store.connect({ waitMs: 10_000 });
    const calls = [1, 2, 3].map((n) => store.take([groupOf([take(`secret-${n}`)])]).catch((error: unknown) => error));
    await until(() => forged.waiting === calls.length);
    // As many replies as commands, in one piece: those that look right may be of other commands.
    forged.answer(
      '*3\r\n:1800000000000000\r\n:4\r\n:100000\r\n',
      '*3\r\n:1800000000000000\r\n:11\r\n:100000\r\n',
      '*3\r\n:1800000000000000\r\n:3\r\n:100000\r\n',
    );
    const [first, ...others] = await Promise.all(calls);
    expect(first).toMatchObject([{ overLimit: false, verdicts: [{ remaining: 4 }] }]);
    for (const other of others)
      expect(other instanceof StoreError && [other.message, other.reason, other.mayHaveRun]).toEqual([
        'the store returned an invalid reply',
        'script',
        true,
      ]);
    expect(causes).toEqual(['a reply is invalid for its command: number 2 of it is 11, where -5 to 10 is possible']);
    await until(() => forged.connections === 2);
    await store.close();
    await forged.stop();
  },
  TIMEOUT_MS,
);

function isInvalidReply(cause: string): boolean {
  return cause.startsWith('a reply is invalid for its command: ');
}
