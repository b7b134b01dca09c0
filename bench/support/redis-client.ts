/** Connections to Redis for the bench's own questions, and for what it measures Weir against. */

import { makeTestClient, type TestClient } from '../../test/support/redis/redis-store';

export async function openClient(port: number): Promise<TestClient> {
  const client = makeTestClient(port);
  await client.connect();
  return client;
}

export function closeAll(clients: readonly TestClient[]): Promise<void> {
  for (const client of clients) client.destroy();
  return Promise.resolve();
}
