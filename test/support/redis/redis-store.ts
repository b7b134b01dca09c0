/** A real Redis store on a real Redis, with a clock that the test sets. */

import { createClient } from '@redis/client';
import { RedisStore } from '../../../src/state/store/redis/redis-store';
import { loadClockedScripts, setClock } from './clocked-script';
import type { RedisServer } from './redis-server';
import { hangLimitMs } from '../clock/hang-limit';

export interface ClockedRedis {
  readonly store: RedisStore;
  /** For looking at the keys and for faults. */
  readonly client: TestClient;
  setNow(nowUs: number): Promise<void>;
  close(): Promise<void>;
}

export type TestClient = ReturnType<typeof makeTestClient>;

/** A connection that is lost fails what waits for it, and no more: servers that change their role end all of theirs. */
export function makeTestClient(port: number) {
  return createClient({ socket: { host: '127.0.0.1', port }, RESP: 2 }).on('error', () => undefined);
}

/** Empties the Redis first. */
export async function openClockedRedis(server: RedisServer): Promise<ClockedRedis> {
  const client = makeTestClient(server.port);
  await client.connect();
  await client.flushAll();
  const store = new RedisStore({ ...storeOptions(server.port), scripts: loadClockedScripts() });
  await store.connect({ waitMs: hangLimitMs(5_000) });
  return {
    store,
    client,
    setNow: (nowUs) => setClock(client, nowUs),
    close: async () => {
      await store.close();
      client.destroy();
    },
  };
}

/** The same connection on the same Redis, emptied: `close` leaves it to the next test. */
export async function emptied(redis: Omit<ClockedRedis, 'close'>): Promise<ClockedRedis> {
  await redis.client.flushAll();
  return { ...redis, close: () => Promise.resolve() };
}

export function storeOptions(port: number) {
  return {
    server: { socket: { host: '127.0.0.1', port } },
    silenceMs: 10_000,
    connectTimeoutMs: 1_000,
    inFlightMax: 10_000,
    onConnection: () => undefined,
  };
}
