/** A process that forwards TCP connections to a port of this machine and delays each reply: a Redis that is a network away. */

import { connect, createServer, type Socket, type AddressInfo } from 'node:net';

/** Bytes of replies that wait on one connection; beyond it the proxy stops reading from the server. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024;

const [targetPort, delayMs] = process.argv.slice(2).map(Number);
if (targetPort === undefined || delayMs === undefined) throw new Error('delaying-proxy.ts <port> <delay in ms>');

interface Waiting {
  readonly bytes: Buffer;
  readonly dueMs: number;
}

/** Passes on what the server sends, in order, each piece after its delay. */
function delayReplies(server: Socket, client: Socket, delay: number): void {
  const waiting: Waiting[] = [];
  let waitingBytes = 0;
  let timer: NodeJS.Timeout | undefined;
  const passDue = (): void => {
    timer = undefined;
    const nowMs = performance.now();
    while (waiting[0] !== undefined && waiting[0].dueMs <= nowMs) {
      const { bytes } = waiting.shift()!;
      waitingBytes -= bytes.length;
      client.write(bytes);
    }
    if (waitingBytes < WAITING_BYTES_MAX) server.resume();
    if (waiting[0] !== undefined) timer = setTimeout(passDue, waiting[0].dueMs - nowMs);
  };
  server.on('data', (bytes) => {
    waiting.push({ bytes, dueMs: performance.now() + delay });
    waitingBytes += bytes.length;
    if (waitingBytes >= WAITING_BYTES_MAX) server.pause();
    timer ??= setTimeout(passDue, delay);
  });
  server.on('close', () => {
    clearTimeout(timer);
  });
}

const proxy = createServer({ noDelay: true }, (client) => {
  const server = connect({ host: '127.0.0.1', port: targetPort, noDelay: true });
  client.pipe(server);
  delayReplies(server, client, delayMs);
  for (const [socket, other] of [
    [client, server],
    [server, client],
  ] as const) {
    socket.on('error', () => undefined);
    socket.on('close', () => {
      other.destroy();
    });
  }
});

process.on('disconnect', () => process.exit(0));
proxy.listen({ host: '127.0.0.1', port: 0 }, () => process.send?.({ port: (proxy.address() as AddressInfo).port }));
