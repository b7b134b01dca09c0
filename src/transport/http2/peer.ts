/** A connection with its socket, and what of it is with grpc-js: writes what there is to say, and lets go. */

import type { Socket } from 'node:net';
import { placeOf } from '../grpc-listener';
import type { Bridge } from './bridge';
import type { Connection } from './connection';
import type { PeerWatch } from './peer-watch';

/** What a connection that reads too slowly may leave waiting in this process before it is not read from either. */
const WAITING_BYTES_MAX = 1024 * 1024;

/** How long the last words of a connection may take. */
const LAST_WORDS_MS = 1000;

export interface PeerParts {
  readonly socket: Socket;
  readonly connection: Connection;
  readonly bridge: Bridge;
  readonly watch: PeerWatch;
}

export class Peer {
  /** Whether it waits for its turn to write. */
  isWriting = false;

  constructor(private readonly parts: PeerParts) {}

  get connection(): Connection {
    return this.parts.connection;
  }

  get watch(): PeerWatch {
    return this.parts.watch;
  }

  /** For the log. */
  get place(): string {
    return placeOf(this.parts.socket);
  }

  write(): void {
    const { socket, connection } = this.parts;
    const output = connection.takeOutput();
    if (socket.destroyed || socket.writableEnded) return;
    if (connection.isClosed) {
      this.sayLast(output);
      return;
    }
    if (output.length > 0 && !socket.write(output) && socket.writableLength > WAITING_BYTES_MAX) socket.pause();
    this.endIfDrained();
  }

  close(): void {
    this.parts.connection.close();
    this.parts.bridge.close();
    this.parts.socket.destroy();
  }

  private endIfDrained(): void {
    const { socket, connection } = this.parts;
    const isFinished = connection.load === 0 && (socket.readableEnded || connection.isDrained);
    if (isFinished && !this.isWriting && !socket.writableEnded) this.sayLast(Buffer.alloc(0));
  }

  private sayLast(output: Buffer): void {
    const { socket, connection } = this.parts;
    connection.close();
    socket.end(output);
    setTimeout(() => socket.destroy(), LAST_WORDS_MS).unref();
  }
}
