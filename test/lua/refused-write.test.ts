/** A write that Redis refuses changes nothing, or the script reports that it did. */

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Adjustment } from '../../src/domain/bucket/take';
import type { StoreError } from '../../src/state/store/port/store-error';
import { RedisStore } from '../../src/state/store/redis/redis-store';
import { loadClockedScripts } from '../support/redis/clocked-script';
import { groupOf, adjustment, take } from '../support/decisions/groups';
import { openClockedRedis, storeOptions, type ClockedRedis } from '../support/redis/redis-store';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { storedTokenBucket } from '../support/redis/stored-token-bucket';
import { hangLimitMs } from '../support/clock/hang-limit';

const START_US = 1_800_000_000_000_000;
const WAIT_MS = hangLimitMs(20_000);

/** The one deletes the bucket `full` that is there, the other writes `used`. */
const deletes = groupOf([take('full', { hits: -5 })]);
const writes = groupOf([take('used')]);

let server: RedisServer;
let redis: ClockedRedis;

beforeEach(async () => {
  server = await startRedis();
  redis = await openClockedRedis(server);
  await redis.setNow(START_US);
  await redis.store.take([groupOf([take('full', { hits: 5 })])]);
});

afterEach(async () => {
  // Or it would not end before it has saved.
  await setConfig('save', '');
  await redis.close();
  await server.stop();
});

async function bucketKeys(): Promise<readonly string[]> {
  return (await redis.client.keys('*')).filter((key) => key !== 'test-clock-us').sort();
}

async function failureOf(call: Promise<unknown>): Promise<Pick<StoreError, 'reason' | 'mayHaveRun' | 'message'>> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason as StoreError,
  );
  if (error === undefined) throw new Error('nothing was refused');
  const { reason, mayHaveRun, message } = error;
  return { reason, mayHaveRun, message };
}

async function setConfig(...parts: readonly string[]): Promise<void> {
  await redis.client.sendCommand(['CONFIG', 'SET', ...parts]);
}

/** Of the server's first failed save on, until it has saved again. */
async function failToSave(): Promise<void> {
  const [, directory] = await redis.client.sendCommand<[string, string]>(['CONFIG', 'GET', 'dir']);
  // A folder in place of the file, since root may write any file.
  mkdirSync(path.join(directory, 'dump.rdb'));
  await setConfig('save', '3600 1');
  await redis.client.sendCommand(['BGSAVE']);
  const endMs = performance.now() + WAIT_MS;
  while (!(await redis.client.info('persistence')).includes('rdb_last_bgsave_status:err')) {
    if (performance.now() > endMs) throw new Error('the save did not fail');
  }
}

describe('Redis is out of memory', () => {
  beforeEach(() => setConfig('maxmemory', '1'));

  test('a rejected first write changes nothing', async () => {
    expect(await failureOf(redis.store.take([writes, deletes]))).toEqual({
      reason: 'script',
      mayHaveRun: false,
      message: 'Redis answered the error OOM',
    });
    expect(await bucketKeys()).toEqual(['full']);
    expect(await storedTokenBucket(redis.client, 'full')).toBe(`5 0 ${START_US}`);
  });

  test('Redis checks memory once a run, so after a deleted bucket all writes succeed', async () => {
    expect(await redis.store.take([deletes, writes])).toMatchObject([{ overLimit: false }, { overLimit: false }]);
    expect(await bucketKeys()).toEqual(['used']);
  });
});

test('a full disk rejects even the deletion of a bucket', async () => {
  await failToSave();
  const before = await redis.client.sendCommand(['DUMP', 'full']);
  expect(await failureOf(redis.store.take([deletes, writes]))).toEqual({
    reason: 'script',
    mayHaveRun: false,
    message: 'Redis answered the error MISCONF',
  });
  expect(await bucketKeys()).toEqual(['full']);
  expect(await redis.client.sendCommand(['DUMP', 'full'])).toEqual(before);
});

describe('a command is not allowed', () => {
  /** As a user who may do everything but this. */
  async function withoutRight<T>(command: string, ask: (store: RedisStore) => Promise<T>): Promise<T> {
    await redis.client.sendCommand(['ACL', 'SETUSER', 'weir', 'on', '>secret', '~*', '+@all', `-${command}`]);
    const { server: at, ...options } = storeOptions(server.port);
    const store = new RedisStore({ ...options, server: { ...at, username: 'weir', password: 'secret' }, scripts: loadClockedScripts() });
    try {
      await store.connect({ waitMs: WAIT_MS });
      return await ask(store);
    } finally {
      await store.close();
    }
  }

  test.each([
    ['set', [writes, deletes], false, ['full']],
    ['del', [deletes, writes], false, ['full']],
    ['set', [deletes, writes], true, []],
    ['del', [writes, deletes], true, ['full', 'used']],
  ] as const)(
    'a run without the right to %s reports whether it has changed a bucket already',
    async (command, groups, mayHaveRun, keys) => {
      const failure = await withoutRight(command, (store) => failureOf(store.take(groups)));
      expect(failure).toMatchObject({ reason: 'script', mayHaveRun });
      expect(await bucketKeys()).toEqual(keys);
    },
  );

  test('an adjustment reports it too', async () => {
    const adjustments: readonly Adjustment[] = [adjustment('used'), adjustment('full', { hits: -5, takenAtUs: START_US })];
    const failure = await withoutRight('del', (store) => failureOf(store.adjust(adjustments)));
    expect(failure).toEqual({ reason: 'script', mayHaveRun: true, message: 'Redis answered the error PARTLY' });
    expect(await bucketKeys()).toEqual(['full', 'used']);
  });
});
