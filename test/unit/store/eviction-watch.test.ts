/** A Redis that refuses INFO is asked for it once for each connection. */

import { SimpleError } from '@redis/client';
import { EvictionWatch, readInfo, type EvictionLook, type EvictionReading } from '../../../src/state/store/redis/eviction-watch';

const MEMORY = (policy: string, bytes: number) => `# Memory\r\nused_memory:1\r\nmaxmemory:${bytes}\r\nmaxmemory_policy:${policy}\r\n`;
const STATS = (evicted: number) => `# Stats\r\nexpired_keys:7\r\nevicted_keys:${evicted}\r\nkeyspace_hits:1\r\n`;

test('INFO shows the policy, the limit and the evicted keys', () => {
  expect(readInfo(MEMORY('allkeys-lru', 1_048_576), STATS(12))).toEqual({ policy: 'allkeys-lru', bytesMax: 1_048_576, evictedKeys: 12 });
});

test.each([
  ['no text', undefined, 7],
  ['another text', 'hello', ''],
  ['numbers that are none', 'maxmemory:many\r\n', 'evicted_keys:-1\r\n'],
])('INFO that is not understood shows nothing: %s', (_name, memory, stats) => {
  expect(readInfo(memory, stats)).toEqual({ policy: undefined, bytesMax: 0, evictedKeys: undefined });
});

test('a long policy is cut', () => {
  expect(readInfo(MEMORY('x'.repeat(1_000), 1), STATS(0)).policy).toHaveLength(32);
});

function watched(readings: readonly (EvictionReading | Error)[]) {
  const looks: EvictionLook[] = [];
  let asked = 0;
  const watch = new EvictionWatch({
    read: () => {
      const reading = readings[asked]!;
      asked += 1;
      return reading instanceof Error ? Promise.reject(reading) : Promise.resolve(reading);
    },
    onLook: (look) => looks.push(look),
  });
  return { watch, looks, asked: () => asked };
}

test('it counts what was evicted between two looks, also over a restart of the server', async () => {
  const { watch, looks } = watched([10, 10, 25, 4].map((evictedKeys) => ({ policy: 'noeviction', bytesMax: 9, evictedKeys })));
  for (let i = 0; i < 4; i += 1) await watch.look();
  expect(looks.map(({ evicted }) => evicted)).toEqual([0, 0, 15, 4]);
  expect(looks.every(({ policy }) => policy === undefined)).toBe(true);
});

test('a policy evicts only under a limit of memory', async () => {
  const { watch, looks } = watched([0, 9].map((bytesMax) => ({ policy: 'volatile-lru', bytesMax, evictedKeys: 0 })));
  await watch.look();
  await watch.look();
  expect(looks.map(({ policy }) => policy)).toEqual([undefined, 'volatile-lru']);
});

describe('at its interval', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  test.each<[string, Error, number]>([
    ['a server that refuses INFO is asked once for each connection', new SimpleError('NOPERM no permissions'), 1],
    ['a server that does not answer is asked again', new Error('Socket closed'), 4],
  ])('%s', async (_name, error, expected) => {
    const { watch, looks, asked } = watched([error, error, error, error, error]);
    watch.start();
    await jest.advanceTimersByTimeAsync(30_500);
    expect([asked(), looks]).toEqual([expected, []]);
    watch.stop();
  });
});
