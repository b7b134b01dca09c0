/** The Redis store on a real Redis, alone and behind the deadline: the contract. */

import { DeadlineStore } from '../../src/resilience/deadline';
import { openClockedRedis } from '../support/redis-store';
import { startRedis, type RedisServer } from '../support/redis-server';
import { describeStore } from './store-contract';

let server: RedisServer;

beforeAll(async () => {
  server = await startRedis();
});

afterAll(() => server.stop());

describeStore('RedisStore', () => openClockedRedis(server));

describeStore('DeadlineStore over RedisStore', async () => {
  const opened = await openClockedRedis(server);
  return { ...opened, store: new DeadlineStore(opened.store, { timeoutMs: 5_000 }) };
});
