/** A Redis that rejects the connection is logged once with its reason, and retried at a bounded rate. */

import { createServer, type Server, type Socket, type AddressInfo } from 'node:net';
import { RedisStore } from '../../../src/state/store/redis/redis-store';
import { httpRequest } from '../../support/clients/http-client';
import { startRedis } from '../../support/redis/redis-server';
import { makeTestClient, storeOptions } from '../../support/redis/redis-store';
import { writeConfig } from '../../support/config/temp-config';
import { until } from '../../support/clock/until';
import { startWeir } from '../../support/processes/weir-process';

const CONFIG = writeConfig('domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 3 } }]\n');
const WATCH_MS = 1_500;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** How often a text stands in another. */
function countOf(text: string, part: string): number {
  return text.split(part).length - 1;
}

test("a missing password is logged once, in Redis's words, and health says degraded", async () => {
  const redis = await startRedis();
  const admin = await makeTestClient(redis.port).connect();
  await admin.configSet('requirepass', 'secret');
  admin.destroy();
  const weir = await startWeir({ config: CONFIG, env: { REDIS_URL: `redis://127.0.0.1:${redis.port}` } });
  await pause(WATCH_MS);
  expect(countOf(weir.output(), 'NOAUTH Authentication required')).toBe(1);
  expect(weir.output()).not.toContain('connected to Redis');
  expect((await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).body).toBe('OK\ndegraded: redis\n');
  await weir.stop();
  await redis.stop();
});

test.each<[string, readonly string[], string]>([
  [
    'a password that Redis does not need is logged in its words',
    [],
    '(ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?)',
  ],
  ['a server without AUTH repeats the password, and the log omits it', ['--rename-command', 'AUTH', ''], "(ERR unknown command 'AUTH')"],
])('%s', async (_what, config, told) => {
  const redis = await startRedis({ config });
  const weir = await startWeir({ config: CONFIG, env: { REDIS_URL: `redis://:topsecret@127.0.0.1:${redis.port}` } });
  // Redis 6.0 quotes with backticks.
  await until(() => weir.output().replaceAll('`', "'").includes(told));
  expect(weir.output()).not.toContain('topsecret');
  await weir.stop();
  await redis.stop();
});

test('a Redis at maxclients gets connections at a bounded rate, and decides as soon as it has room', async () => {
  const redis = await startRedis();
  const admin = await makeTestClient(redis.port).connect();
  await admin.configSet('maxclients', '1');
  const states: boolean[] = [];
  const store = new RedisStore({ ...storeOptions(redis.port), onConnection: ({ connected }) => states.push(connected) });
  await store.connect({ waitMs: WATCH_MS });
  // 10, 20, 40 … 640 ms, each at least half as long: eight or nine tries.
  expect(states.length).toBeGreaterThan(2);
  expect(states.length).toBeLessThan(20);
  expect(states).not.toContain(true);
  admin.destroy();
  await until(() => states.includes(true));
  expect(states.at(-1)).toBe(true);
  await store.close();
  await redis.stop();
});

describe('a server that', () => {
  let server: Server;
  let connections: number;
  let sockets: Socket[];

  async function listen(onConnection: Parameters<typeof createServer>[1]): Promise<number> {
    connections = 0;
    sockets = [];
    server = createServer((socket) => {
      connections += 1;
      sockets.push(socket);
      socket.on('error', () => undefined);
      onConnection?.(socket);
    });
    await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve));
    return (server.address() as AddressInfo).port;
  }

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  test('a server that accepts and hangs up is not retried at once', async () => {
    const port = await listen((socket) => socket.end());
    const store = new RedisStore(storeOptions(port));
    await store.connect({ waitMs: WATCH_MS });
    await store.close();
    expect(connections).toBeGreaterThan(2);
    expect(connections).toBeLessThan(20);
  });

  test.each([undefined, 'secret'])('a server that accepts and says nothing is logged and disconnected (password: %s)', async (password) => {
    const port = await listen(() => undefined);
    const causes: (string | undefined)[] = [];
    const options = storeOptions(port);
    const store = new RedisStore({
      ...options,
      server: { ...options.server, ...(password !== undefined && { password }) },
      connectTimeoutMs: 200,
      onConnection: ({ cause }) => causes.push(cause),
    });
    await store.connect({ waitMs: WATCH_MS });
    await until(() => causes.length > 0 && connections > 1);
    await store.close();
    expect(causes[0]).toBe('no answer within 200 ms');
  });
});

test('close() before, during and after connect() ends the connection, and nothing is logged after it', async () => {
  const redis = await startRedis();
  const states: boolean[] = [];
  const options = { ...storeOptions(redis.port), onConnection: ({ connected }: { connected: boolean }) => states.push(connected) };
  const before = new RedisStore(options);
  await before.close();
  await before.connect({ waitMs: 60_000 });
  const during = new RedisStore(options);
  const connecting = during.connect({ waitMs: 60_000 });
  await during.close();
  await connecting;
  await during.close();
  expect(states).toEqual([]);
  await redis.stop();
});
