/** A connection with its socket, and what of it is with grpc-js: writes what there is to say, and lets go. */

import type { Socket } from 'node:net';
import { placeOf } from '../grpc-listener';
import type { Bridge } from './bridge';
import type { Connection } from './connection';
import type { PeerWatch } from './peer-watch';

/** What a connection that reads too slowly may leave waiting in this process before it is not read from either. */
const WAITING_BYTES_MAX = 1024 * 1024;

/** How long a peer may take to end its side once it has been told all, and for the last words to one that has broken a rule. */
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
    if (!isFinished || this.isWriting || socket.writableEnded) return;
    connection.close();
    // What it has been answered may still lie here: a peer that takes it slowly is held to no more than any that does.
    socket.end(() => {
      this.letGoSoon();
    });
    // Nothing tells that there is room again, and what lies unread would cut off what is on its way to the peer.
    socket.resume();
  }

  private sayLast(output: Buffer): void {
    this.parts.socket.end(output);
    this.letGoSoon();
  }

  private letGoSoon(): void {
    setTimeout(() => this.parts.socket.destroy(), LAST_WORDS_MS).unref();
  }
}
