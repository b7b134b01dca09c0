/** A TCP proxy on loopback that can go silent, and forward new connections elsewhere. */

import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

export class TcpProxy {
  private readonly pairs = new Set<readonly [Socket, Socket]>();
  private connectionCount = 0;
  private bytesCount = 0;

  private constructor(
    private readonly server: Server,
    private target: number,
  ) {
    server.on('connection', (socket) => {
      this.forward(socket);
    });
  }

  /** A proxy in front of a port of this machine. */
  static async start(target: number): Promise<TcpProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve));
    return new TcpProxy(server, target);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Connections since the start. */
  get connections(): number {
    return this.connectionCount;
  }

  /** Bytes that clients have sent. */
  get bytesFromClients(): number {
    return this.bytesCount;
  }

  /** Where new connections go; those that are open stay. */
  pointTo(target: number): void {
    this.target = target;
  }

  /** From now on nothing passes on the open connections, in either direction, and nobody is told. */
  silenceOpen(): void {
    for (const [client, server] of this.pairs) {
      client.unpipe(server).pause();
      server.unpipe(client).pause();
    }
  }

  async stop(): Promise<void> {
    for (const pair of this.pairs) for (const socket of pair) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private forward(client: Socket): void {
    this.connectionCount += 1;
    const server = connect({ host: '127.0.0.1', port: this.target });
    const pair = [client, server] as const;
    this.pairs.add(pair);
    client.on('data', (bytes) => {
      this.bytesCount += bytes.length;
    });
    client.pipe(server);
    server.pipe(client);
    for (const socket of pair) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        for (const each of pair) each.destroy();
        this.pairs.delete(pair);
      });
    }
  }
}
