/** A client that is closed at once does not connect again. */

import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '../../../src/program/library/client/create-client';

/** A channel connects again after 100 ms at first, and at least each second. */
const SECOND_TRY_MS = 400;

test('a client that is closed before its first connection makes no other', async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = createClient({ address: `127.0.0.1:${(server.address() as AddressInfo).port}`, connections: 1 });
  await client.close();
  await pause(SECOND_TRY_MS);
  expect(connections).toBeLessThanOrEqual(1);
  server.close();
});
