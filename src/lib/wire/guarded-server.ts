/** Guards the connections of an HTTP server, the same for each port: paced reading, and room for new connections. */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { CountedRequest, EndingResponse } from './counted-messages';
import { PacedSocket, type LingerBounds } from './paced-socket';
import { WAITING_BYTES, WIRE_TURNS } from './wire-turns';

/** Options for node:http that a guarded server needs. */
export const GUARDED_MESSAGES = { IncomingMessage: CountedRequest, ServerResponse: EndingResponse } as const;

/** A connection that ends for a new one is counted until it is closed. */
const HEADROOM_MAX = 64;

/** Connections to look at for one that is idle. */
const LOOKS_MAX = 256;

export interface GuardBounds {
  /** Maximum of open connections. Beyond it the one that has been idle for longest ends, or the new one. */
  readonly connectionsMax: number;
  readonly linger?: LingerBounds;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Node types that of a request as a Socket. */
type Client = PacedSocket | Socket;

type Listener = (this: Server, socket: Duplex) => void;

export class ConnectionGuard {
  /** The last request of each open connection; the one without a request for longest comes first. */
  private readonly last = new Map<Client, Exchange | undefined>();

  /** Before anything connects. `server` was made with GUARDED_MESSAGES; `onTooMany` is called for each connection that ends for another. */
  constructor(
    server: Server,
    private readonly bounds: GuardBounds,
    private readonly onTooMany: (open: number) => void = () => undefined,
  ) {
    const { connectionsMax } = bounds;
    // One of node:https hands its connections over after the handshake.
    const opened = 'setSecureContext' in server ? 'secureConnection' : 'connection';
    for (const listener of server.listeners(opened) as Listener[]) {
      server.off(opened, listener);
      server.on(opened, (raw: Socket) => {
        const socket = this.admit(raw);
        if (socket !== undefined) listener.call(server, socket);
      });
    }
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
      this.last.delete(request.socket);
      if (!request.socket.destroyed) this.last.set(request.socket, { request, response });
    });
    server.maxConnections = connectionsMax + Math.min(HEADROOM_MAX, Math.ceil(connectionsMax / 8));
    server.on('drop', () => {
      onTooMany(connectionsMax);
    });
  }

  /** Ends the connections on which nothing is to be answered. Node leaves those that never had a request, or have an incomplete one. */
  closeIdle(): void {
    for (const [socket, exchange] of this.last) if (isIdle(socket, exchange)) socket.destroy();
  }

  private admit(raw: Socket): PacedSocket | undefined {
    const { connectionsMax, linger } = this.bounds;
    if (this.last.size >= connectionsMax) {
      this.onTooMany(connectionsMax);
      const idle = this.longestIdle();
      if (idle === undefined) {
        raw.destroy();
        return undefined;
      }
      this.last.delete(idle);
      idle.destroy();
    }
    const socket = new PacedSocket({ raw, turns: WIRE_TURNS, waiting: WAITING_BYTES, ...(linger && { linger }) });
    this.last.set(socket, undefined);
    socket.once('close', () => this.last.delete(socket));
    return socket;
  }

  /** Whatever has no request that waits for an answer, also if it has begun to send one. */
  private longestIdle(): Client | undefined {
    let looks = 0;
    for (const [socket, exchange] of this.last) {
      if (exchange === undefined || exchange.response.writableFinished) return socket;
      looks += 1;
      if (looks >= LOOKS_MAX) return undefined;
    }
    return undefined;
  }
}

function isIdle({ bytesRead }: Client, exchange: Exchange | undefined): boolean {
  if (exchange === undefined) return bytesRead === 0;
  return exchange.response.writableFinished && !exchange.request.complete;
}
