/** Collects the received bytes of a call's messages in one buffer, within the budget of all connections. */

import type { ByteBudget } from '../../byte-budget';
import { MESSAGE_PREFIX_BYTES } from '../frames/frame-writer';
import { readUint32 } from '../frames/frames';

const NO_BYTES = Buffer.alloc(0);

/** One message with the flag of its prefix. Its bytes are a copy and may be kept. */
export interface FramedMessage {
  readonly isCompressed: boolean;
  readonly bytes: Buffer;
}

/** Frames are copied together, into at most twice the memory that they need: a buffer for each frame would cost a hundred bytes for a frame of one byte. */
export class MessageBytes {
  private bytes: Buffer = NO_BYTES;
  private start = 0;
  private end = 0;

  constructor(private readonly budget: ByteBudget) {}

  get length(): number {
    return this.end - this.start;
  }

  /** The length of the next message, once its prefix has arrived. */
  get nextLength(): number | undefined {
    return this.length < MESSAGE_PREFIX_BYTES ? undefined : readUint32(this.bytes, this.start + 1);
  }

  /** Copies the bytes. False: the budget has no room, and nothing was kept. */
  append(from: Buffer, start: number, end: number): boolean {
    const added = end - start;
    if (!this.budget.take(added)) return false;
    this.makeRoom(added);
    from.copy(this.bytes, this.end, start, end);
    this.end += added;
    return true;
  }

  /** Removes and returns the next message, if it is complete. */
  take(): FramedMessage | undefined {
    const { nextLength } = this;
    if (nextLength === undefined || this.length < MESSAGE_PREFIX_BYTES + nextLength) return undefined;
    const from = this.start + MESSAGE_PREFIX_BYTES;
    const message = { isCompressed: this.bytes[this.start] !== 0, bytes: this.bytes.subarray(from, from + nextLength) };
    this.start = from + nextLength;
    this.budget.giveBack(MESSAGE_PREFIX_BYTES + nextLength);
    if (this.start === this.end) this.clear();
    return message;
  }

  /** Returns all bytes. */
  takeAll(): Buffer {
    const all = this.bytes.subarray(this.start, this.end);
    this.clear();
    return all;
  }

  clear(): void {
    this.budget.giveBack(this.length);
    this.bytes = NO_BYTES;
    this.start = this.end = 0;
  }

  /** Allocates new memory instead of moving bytes within the old, because returned messages lie in the old. */
  private makeRoom(added: number): void {
    if (this.end + added <= this.bytes.length) return;
    const { length } = this;
    // The first buffer has the exact size, because most messages arrive in one frame.
    const larger = Buffer.allocUnsafeSlow(length === 0 ? added : (length + added) * 2);
    this.bytes.copy(larger, 0, this.start, this.end);
    this.bytes = larger;
    this.start = 0;
    this.end = length;
  }
}
