/**
 * A connection of an HTTP port. Node's parser gets its bytes in small slices, within a share of each turn of the event loop: it calls
 * JavaScript for each chunk of a body and for each request, and a read of 64 KiB has ten thousand of the former.
 * After an answer that came before the end of its request, the parser gets nothing more.
 */

import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { ReadShare, ReadTurns, TurnTaker } from '../read-turns';

/** A common request is one slice; 170 chunks of one byte are one, too. */
const SLICE_BYTES = 1024;

export interface LingerBounds {
  /** Bytes that are dropped after the last answer. */
  readonly bytes: number;
  /** Time from the early answer to the end, in milliseconds. */
  readonly ms: number;
}

/** A client that sends its whole body before it reads would lose the answer if the connection ended at once. */
export const LINGER: LingerBounds = { bytes: 128 * 1024 * 1024, ms: 30_000 };

/** The bytes of all connections that wait for a turn. */
export interface WaitingBytes {
  /** False: no room is left. The bytes are given back in any case. */
  hold(bytes: number): boolean;
  giveBack(bytes: number): void;
}

export interface PacedSocketParts {
  readonly raw: Socket;
  readonly turns: Pick<ReadTurns<PacedSocket>, 'arrived' | 'wait'>;
  readonly waiting: WaitingBytes;
  readonly linger?: LingerBounds;
}

export class PacedSocket extends Duplex implements TurnTaker {
  /** The bytes that Node's parser got. */
  parsedBytes = 0;
  private readonly unread: Buffer[] = [];
  /** Where the first unread chunk goes on. */
  private unreadFrom = 0;
  private heldBytes = 0;
  /** The stream is full or paused. */
  private isChoked = false;
  /** The peer has closed its side. */
  private hasEnded = false;
  private isDropping = false;
  private droppedBytes = 0;
  private lingering: NodeJS.Timeout | undefined;

  constructor(private readonly parts: PacedSocketParts) {
    super({ decodeStrings: false, readableHighWaterMark: SLICE_BYTES, allowHalfOpen: true });
    const { raw, turns } = parts;
    raw.on('data', (chunk: Buffer) => {
      if (this.isDropping) this.discard(chunk);
      else turns.arrived(this, chunk);
    });
    raw.once('end', () => {
      this.hasEnded = true;
      this.endIfRead();
    });
    raw.once('error', (error) => this.destroy(error));
    raw.once('close', () => this.destroy());
    raw.on('timeout', () => this.emit('timeout'));
  }

  // Node, fastify and the routes use these of a socket.

  get remoteAddress(): string | undefined {
    return this.parts.raw.remoteAddress;
  }

  get remotePort(): number | undefined {
    return this.parts.raw.remotePort;
  }

  get localAddress(): string | undefined {
    return this.parts.raw.localAddress;
  }

  get localPort(): number | undefined {
    return this.parts.raw.localPort;
  }

  get encrypted(): boolean {
    return 'encrypted' in this.parts.raw;
  }

  get bytesRead(): number {
    return this.parts.raw.bytesRead;
  }

  get bytesWritten(): number {
    return this.parts.raw.bytesWritten;
  }

  setTimeout(ms: number, onTimeout?: () => void): this {
    this.parts.raw.setTimeout(ms);
    if (onTimeout !== undefined) this.once('timeout', onTimeout);
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  /** Whether an answer came before the end of its request, so that the connection ends with it. */
  get isEnding(): boolean {
    return this.isDropping;
  }

  /** From now on input is dropped: the connection ends with the answer that is given now. */
  stopReading(): void {
    if (this.isDropping) return;
    this.isDropping = true;
    this.unread.length = 0;
    this.freeHeld();
    this.parts.raw.resume();
    this.lingering = setTimeout(() => this.destroy(), this.linger.ms).unref();
  }

  /** Node calls it after the last answer of a connection. */
  destroySoon(): void {
    this.end();
    if (this.writableFinished) this.endAnswered();
    else {
      this.once('finish', () => {
        this.endAnswered();
      });
    }
  }

  mayBeRead(): boolean {
    return this.unread.length > 0 && !this.isChoked && !this.destroyed;
  }

  keep(chunk: Buffer): void {
    this.unread.push(chunk);
    this.heldBytes += chunk.length;
    this.parts.raw.pause();
    if (!this.parts.waiting.hold(chunk.length)) this.destroy();
  }

  /** New input: reads it until the share is spent, and keeps the rest. */
  readNew(chunk: Buffer, share: ReadShare): void {
    // Chunks may still arrive after `pause`.
    const end = this.unread.length > 0 || this.isChoked ? 0 : this.feed(chunk, 0, share);
    if (end === chunk.length || this.isDropping) return;
    if (this.unread.length === 0) this.unreadFrom = end;
    this.keep(chunk);
  }

  readOn(share: ReadShare): void {
    for (let chunk = this.unread[0]; chunk !== undefined; chunk = this.unread[0]) {
      this.unreadFrom = this.feed(chunk, this.unreadFrom, share);
      if (this.isDropping) return;
      if (this.unreadFrom < chunk.length) return;
      this.unread.shift();
      this.unreadFrom = 0;
      this.heldBytes -= chunk.length;
      this.parts.waiting.giveBack(chunk.length);
    }
    this.endIfRead();
    if (!this.isChoked) this.parts.raw.resume();
  }

  override _read(): void {
    if (!this.isChoked) return;
    this.isChoked = false;
    if (this.unread.length > 0) this.parts.turns.wait(this);
    else this.parts.raw.resume();
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.parts.raw.write(chunk, encoding, done);
  }

  override _writev(chunks: { chunk: Buffer | string; encoding: BufferEncoding }[], done: (error?: Error | null) => void): void {
    const { raw } = this.parts;
    raw.cork();
    const last = chunks.length - 1;
    for (const [i, { chunk, encoding }] of chunks.entries()) {
      if (i === last) raw.write(chunk, encoding, done);
      else raw.write(chunk, encoding);
    }
    raw.uncork();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.parts.raw.end(() => {
      done();
    });
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.lingering);
    this.unread.length = 0;
    this.freeHeld();
    this.parts.raw.destroy();
    done(error);
  }

  private get linger(): LingerBounds {
    return this.parts.linger ?? LINGER;
  }

  /** Returns the position in the chunk up to which the parser got it. */
  private feed(chunk: Buffer, from: number, share: ReadShare): number {
    let at = from;
    while (at < chunk.length) {
      const end = Math.min(at + SLICE_BYTES, chunk.length);
      this.parsedBytes += end - at;
      const goesOn = this.push(chunk.subarray(at, end));
      at = end;
      if (this.isDropping || this.destroyed) return chunk.length;
      this.isChoked = !goesOn || this.isPaused();
      if (this.isChoked || share.isOver()) break;
    }
    return at;
  }

  private endIfRead(): void {
    if (this.hasEnded && this.unread.length === 0 && !this.isDropping) this.push(null);
  }

  private discard(chunk: Buffer): void {
    const { raw } = this.parts;
    this.droppedBytes += chunk.length;
    if (this.droppedBytes > this.linger.bytes) {
      this.destroy();
      return;
    }
    // One read for each turn.
    raw.pause();
    setImmediate(() => raw.resume());
  }

  /** The answers are written: a client that still sends gets time to read them. */
  private endAnswered(): void {
    if (!this.isDropping || this.hasEnded) this.destroy();
    else this.parts.raw.once('end', () => this.destroy());
  }

  private freeHeld(): void {
    this.parts.waiting.giveBack(this.heldBytes);
    this.heldBytes = 0;
  }
}
