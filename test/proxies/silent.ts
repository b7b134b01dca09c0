/** A server that takes connections and never answers, like a process that stands still. */

import { createServer, type AddressInfo, type Socket } from 'node:net';

export interface Silent {
  readonly port: number;
  /** How many have come. */
  connections(): number;
  stop(): void;
}

export async function startSilent(): Promise<Silent> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).resume();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => sockets.size,
    stop: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
