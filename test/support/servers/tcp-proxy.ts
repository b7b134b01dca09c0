/** A TCP proxy on loopback that can go silent, be slow, lose replies, reset, and forward new connections elsewhere. */

import { connect, createServer, type Server, type Socket, type AddressInfo } from 'node:net';

export class TcpProxy {
  private readonly pairs = new Set<readonly [Socket, Socket]>();
  private connectionCount = 0;
  private bytesCount = 0;
  private replyDelayMs = 0;
  private losesReply: () => boolean = () => false;

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
      server.pause();
    }
  }

  /** From now on what the server sends comes so much later, in order; 0 ends it. */
  delayReplies(delayMs: number): void {
    this.replyDelayMs = delayMs;
  }

  /**
   * From now on each time the server sends something this says whether it is lost. TCP loses nothing within a
   * connection, so the connection ends with it, as when the host or the network between has failed.
   */
  loseReplies(isLost: () => boolean): void {
    this.losesReply = isLost;
  }

  /** Ends the open connections without a farewell (RST). */
  resetOpen(): void {
    for (const pair of this.pairs) for (const socket of pair) socket.resetAndDestroy();
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
    server.on('data', this.makeReplyPath(pair));
    for (const socket of pair) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        for (const each of pair) each.destroy();
        this.pairs.delete(pair);
      });
    }
  }

  /** Passes on what the server sends. Each timer lets go the oldest that waits, so that a shorter delay overtakes nothing. */
  private makeReplyPath(pair: readonly [Socket, Socket]): (bytes: Buffer) => void {
    const [client] = pair;
    const waiting: Buffer[] = [];
    const passOldest = (): void => {
      const bytes = waiting.shift();
      if (bytes !== undefined && !client.destroyed) client.write(bytes);
    };
    return (bytes) => {
      if (this.losesReply()) {
        for (const socket of pair) socket.resetAndDestroy();
        return;
      }
      waiting.push(bytes);
      if (this.replyDelayMs === 0 && waiting.length === 1) passOldest();
      else setTimeout(passOldest, this.replyDelayMs);
    };
  }
}
