/** A real Redis for all tests of a file, and a store on it with a clock that they set. */

import { openClockedRedis, type ClockedRedis } from './redis-store';
import { startRedis, type RedisServer } from './redis-server';

export interface RedisOfFile extends Omit<ClockedRedis, 'close'> {
  readonly port: number;
}

/** Starts it before the first test of the file and stops it after the last one: until then nothing may be read from it. */
export function redisOfFile(): RedisOfFile {
  let server: RedisServer;
  let redis: ClockedRedis;
  beforeAll(async () => {
    server = await startRedis();
    redis = await openClockedRedis(server);
  });
  afterAll(async () => {
    await redis.close();
    await server.stop();
  });
  return {
    get port() {
      return server.port;
    },
    get store() {
      return redis.store;
    },
    get client() {
      return redis.client;
    },
    setNow: (nowUs) => redis.setNow(nowUs),
  };
}
