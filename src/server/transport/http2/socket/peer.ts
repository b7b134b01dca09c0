/** A connection with its socket: reads input as its share of the turn allows, writes output, and closes. */

import type { Socket } from 'node:net';
import { placeOf } from '../../port/grpc-listener';
import type { Connection } from '../connection/connection';
import type { PeerWatch } from './peer-watch';
import type { ReadShare, TurnTaker } from '../../../../lib/read-turns';

/** Output that may wait in this process for a slow peer before its input is no longer read. */
const WAITING_BYTES_MAX = 1024 * 1024;

/** How long a peer may take to close its side after the last output, and to read the GOAWAY after a protocol error. */
const LAST_WORDS_MS = 1000;

export interface PeerParts {
  readonly socket: Socket;
  readonly connection: Connection;
  readonly watch: PeerWatch;
  /** Called before and after waiting input is processed. */
  readonly onTurn: (nowMs: number) => void;
  readonly onRead: () => void;
}

export class Peer implements TurnTaker {
  /** Whether a write is scheduled. */
  isWriting = false;
  /** Received input that is not processed yet, from `unreadFrom` in the first chunk. It is almost always empty. */
  private readonly unread: Buffer[] = [];
  private unreadFrom = 0;
  /** The peer has closed its side. */
  private hasEnded = false;

  constructor(private readonly parts: PeerParts) {}

  get connection(): Connection {
    return this.parts.connection;
  }

  get watch(): PeerWatch {
    return this.parts.watch;
  }

  /** The peer's address, for the log. */
  get place(): string {
    return placeOf(this.parts.socket);
  }

  mayBeRead(): boolean {
    return this.unread.length > 0 && !this.parts.connection.isChoked;
  }

  keep(chunk: Buffer): void {
    this.unread.push(chunk);
    this.parts.socket.pause();
  }

  /** Processes new input, and keeps the rest. */
  read(chunk: Buffer, share: ReadShare): void {
    // Chunks may still arrive after `pause`.
    if (this.unread.length > 0) {
      this.unread.push(chunk);
      return;
    }
    const end = this.parts.connection.push(chunk, 0, share);
    if (end === chunk.length) return;
    this.unreadFrom = end;
    this.keep(chunk);
  }

  readOn(share: ReadShare, nowMs: number): void {
    this.parts.onTurn(nowMs);
    for (let chunk = this.unread[0]; chunk !== undefined; chunk = this.unread[0]) {
      this.unreadFrom = this.parts.connection.push(chunk, this.unreadFrom, share);
      if (this.unreadFrom < chunk.length) break;
      this.unread.shift();
      this.unreadFrom = 0;
    }
    this.endIfRead();
    this.parts.onRead();
    this.resumeIfRead();
  }

  /** The peer closed its side: waiting input is processed first, because 'end' may come before. */
  onInputEnd(): void {
    this.hasEnded = true;
    this.endIfRead();
  }

  /** The peer has read its output, so its input is read again. */
  onDrain(): void {
    this.parts.connection.release();
    this.resumeIfRead();
  }

  write(): void {
    const { socket, connection } = this.parts;
    const output = connection.takeOutput();
    if (socket.destroyed || socket.writableEnded) return;
    if (connection.isClosed) {
      this.sendLast(output);
      return;
    }
    if (output.length > 0 && !socket.write(output) && socket.writableLength > WAITING_BYTES_MAX) {
      connection.choke();
      socket.pause();
    }
    this.endIfDrained();
  }

  close(): void {
    this.unread.length = 0;
    this.parts.connection.close();
    this.parts.socket.destroy();
  }

  private endIfRead(): void {
    if (this.hasEnded && this.unread.length === 0) this.parts.connection.endInput();
  }

  private resumeIfRead(): void {
    if (this.unread.length === 0 && !this.parts.connection.isChoked) this.parts.socket.resume();
  }

  private endIfDrained(): void {
    const { socket, connection } = this.parts;
    const isFinished = connection.load === 0 && this.unread.length === 0 && (socket.readableEnded || connection.isDrained);
    if (!isFinished || this.isWriting || socket.writableEnded) return;
    connection.close();
    // Output may still wait in the socket: a slow reader gets the same time limit as any other.
    socket.end(() => {
      this.destroyLater();
    });
    // Nothing else empties the socket now, and unread input would make the system reset the connection and drop the output.
    socket.resume();
  }

  private sendLast(output: Buffer): void {
    this.parts.socket.end(output);
    this.destroyLater();
  }

  private destroyLater(): void {
    setTimeout(() => this.parts.socket.destroy(), LAST_WORDS_MS).unref();
  }
}
