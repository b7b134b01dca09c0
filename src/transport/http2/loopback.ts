/** Connections from this process to itself, over the loopback address: nobody else's are let in. */

import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

const LOOPBACK = '127.0.0.1';

/** How long one may wait to be known as ours. */
const UNKNOWN_MS = 1000;

/**
 * Real sockets and no pair of streams in JavaScript: node:http2 over such a pair ended with a failed assertion of Node's,
 * which takes the process with it, when many streams were cut off at once.
 */
export class Loopback {
  private readonly server: Server;
  /** By port, since nobody else can have the same one: ends that we dialled, and those that came. */
  private readonly dialled = new Set<number>();
  private readonly arrived = new Map<number, Socket>();

  constructor(private readonly onSocket: (socket: Socket) => void) {
    this.server = createServer({ noDelay: true }, (socket) => {
      this.arrive(socket);
    });
  }

  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      // `exclusive`: among workers a port would be shared, and another one's calls come here.
      this.server.listen({ host: LOOPBACK, port: 0, exclusive: true }, () => {
        this.server.off('error', reject);
        resolve();
      });
    });
  }

  /** The other end comes to `onSocket`. */
  dial(): Socket {
    const { port } = this.server.address() as AddressInfo;
    const socket = connect({ host: LOOPBACK, port, noDelay: true });
    socket.once('connect', () => {
      const { localPort } = socket;
      if (localPort === undefined) return;
      this.dialled.add(localPort);
      socket.once('close', () => this.dialled.delete(localPort));
      this.match(localPort);
    });
    return socket;
  }

  /** Takes no more; those that are open stay. */
  close(): void {
    this.server.close();
  }

  private arrive(socket: Socket): void {
    const { remotePort } = socket;
    if (remotePort === undefined) return;
    this.arrived.set(remotePort, socket);
    socket.on('error', () => undefined);
    this.match(remotePort);
    if (!this.arrived.has(remotePort)) return;
    const timer = setTimeout(() => {
      if (this.arrived.get(remotePort) !== socket) return;
      this.arrived.delete(remotePort);
      socket.destroy();
    }, UNKNOWN_MS);
    timer.unref();
  }

  private match(port: number): void {
    const socket = this.arrived.get(port);
    if (socket === undefined || !this.dialled.has(port)) return;
    this.arrived.delete(port);
    this.onSocket(socket);
  }
}
