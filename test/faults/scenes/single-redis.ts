/** The scene of most faults: one Redis, reached directly or through a proxy. */

import { makeTestClient, type TestClient } from '../../support/redis/redis-store';
import { startRedis, type RedisOptions, type RedisServer } from '../../support/redis/redis-server';
import { TcpProxy } from '../../support/servers/tcp-proxy';
import type { During, Fault, Seen } from '../run/fault';

export interface OnRedis extends During {
  readonly redis: RedisServer;
  /** Of its own connection, past any proxy. */
  readonly admin: TestClient;
}

export interface OnProxy extends OnRedis {
  readonly proxy: TcpProxy;
}

type Strike<Input> = (input: Input) => Promise<Seen | undefined>;

export interface OnRedisOptions extends RedisOptions {
  /** Of the Weir processes. */
  readonly weirEnv?: Readonly<Record<string, string>>;
  readonly onClose?: () => void;
}

/** Opens a Redis for a fault. */
export function onRedis(strike: Strike<OnRedis>, { weirEnv = {}, onClose, ...options }: OnRedisOptions = {}): Fault['open'] {
  return async () => {
    const redis = await startRedis(options);
    return {
      env: { REDIS_URL: `redis://127.0.0.1:${redis.port}`, ...weirEnv },
      reconnect: () => withAdmin(redis, killClients),
      strike: async (during) => (await withAdmin(redis, (admin) => strike({ ...during, redis, admin }))) ?? {},
      close: async () => {
        await redis.stop();
        onClose?.();
      },
    };
  };
}

/** The same through a proxy. */
export function onProxy(strike: Strike<OnProxy>): Fault['open'] {
  return async () => {
    const redis = await startRedis();
    const proxy = await TcpProxy.start(redis.port);
    return {
      env: { REDIS_URL: `redis://127.0.0.1:${proxy.port}` },
      reconnect: () => withAdmin(redis, killClients),
      strike: async (during) => (await withAdmin(redis, (admin) => strike({ ...during, redis, admin, proxy }))) ?? {},
      close: async () => {
        await proxy.stop();
        await redis.stop();
      },
    };
  };
}

/** Every connection but this one. */
export async function killClients(admin: TestClient): Promise<void> {
  await admin.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
}

async function withAdmin<T>(redis: RedisServer, during: (admin: TestClient) => Promise<T>): Promise<T> {
  const admin = makeTestClient(redis.port);
  // Some faults end this connection too.
  admin.on('error', () => undefined);
  await admin.connect();
  try {
    return await during(admin);
  } finally {
    admin.destroy();
  }
}
