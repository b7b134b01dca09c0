/** The summary script keeps a text to the byte until it expires. */

import { loadScript } from '../../src/state/store/redis/script-loader';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { makeTestClient, type TestClient } from '../support/redis/redis-store';

const KEY = 'weir:top:a:1';
const SCRIPT = loadScript('summary');

let server: RedisServer;
let client: TestClient;

beforeAll(async () => {
  server = await startRedis();
  client = await makeTestClient(server.port).connect();
});

afterAll(async () => {
  client.destroy();
  await server.stop();
});

function run(...args: string[]): Promise<unknown> {
  return client.eval(SCRIPT.text, { keys: [KEY], arguments: args });
}

test('a text is read as it was written, and expires', async () => {
  expect(await run()).toBeNull();
  const text = 'Zoë \u0000 日本 "{}"';
  expect(await run(text, '20000')).toBe('OK');
  expect(await run()).toBe(text);
  expect(await client.pTTL(KEY)).toBeGreaterThan(15_000);
  await run('newer', '30000');
  expect(await run()).toBe('newer');
  expect(await client.pTTL(KEY)).toBeGreaterThan(25_000);
});
