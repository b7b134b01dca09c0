/** The heartbeat script counts the live instances, and drops one whose heartbeat has ended. */

import { loadClockedScript, setClock } from '../support/redis/clocked-script';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { makeTestClient, type TestClient } from '../support/redis/redis-store';

const KEY = 'weir:instances';
const TTL_MS = 15_000;
const START_MS = 1_800_000_000_000;
const SCRIPT = loadClockedScript('heartbeat');

let server: RedisServer;
let client: TestClient;

beforeAll(async () => {
  server = await startRedis();
  client = await makeTestClient(server.port).connect();
});

beforeEach(async () => {
  await client.flushAll();
});

afterAll(async () => {
  client.destroy();
  await server.stop();
});

async function beat(name: string, { atMs = 0, lives = true, instancesMax = 10 } = {}): Promise<number> {
  await setClock(client, (START_MS + atMs) * 1_000);
  return Number(
    await client.eval(SCRIPT.text, { keys: [KEY], arguments: [name, lives ? '1' : '0', String(TTL_MS), String(instancesMax)] }),
  );
}

test('each instance counts once, while its heartbeat is recent', async () => {
  expect(await beat('a')).toBe(1);
  expect(await beat('b', { atMs: 5_000 })).toBe(2);
  expect(await beat('b', { atMs: 10_000 })).toBe(2);
  expect(await beat('b', { atMs: TTL_MS - 1 })).toBe(2);
  expect(await beat('b', { atMs: TTL_MS })).toBe(1);
  expect(await client.pTTL(KEY)).toBeGreaterThan(TTL_MS - 1_000);
});

test('an instance that leaves does not count, and the last one deletes the key', async () => {
  await beat('a');
  await beat('b');
  expect(await beat('a', { lives: false })).toBe(1);
  expect(await beat('b', { lives: false })).toBe(0);
  expect(await client.exists(KEY)).toBe(0);
});

test('heartbeats from the far future do not count, since the clock has stepped back', async () => {
  await beat('a', { atMs: 3_600_000 });
  await beat('b', { atMs: 1_000 });
  expect(await beat('c')).toBe(2);
});

test('the key holds a bounded number of instances', async () => {
  for (const name of ['a', 'b', 'c', 'd']) await beat(name, { instancesMax: 3 });
  expect((await client.get(KEY))?.split('\n')).toHaveLength(3);
  expect(await client.get(KEY)).toContain('d ');
});

test.each(['', 'a', 'nonsense without a number'])('other content of the key is not an instance: %j', async (value) => {
  await client.set(KEY, value);
  expect(await beat('a')).toBe(1);
});

test('a value of another type is replaced', async () => {
  await client.rPush(KEY, 'a');
  expect(await beat('a')).toBe(1);
});
