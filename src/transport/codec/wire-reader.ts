/** A cursor over a protobuf message, one character per byte: tags, values and submessages, and what is unknown skipped. */

import type { ByteString } from '../../descriptor/descriptor';

export const VARINT = 0;
export const FIXED64 = 1;
export const LENGTH_DELIMITED = 2;
const GROUP = 3;
const GROUP_END = 4;
const FIXED32 = 5;

/** How deep groups may be nested, as in protobuf's own parsers. */
const GROUP_DEPTH_MAX = 100;

/** Bytes of the longest tag and of the longest varint. */
const TAG_BYTES_MAX = 5;
const VARINT_BYTES_MAX = 10;

/** The bytes are no message. */
export class MalformedError extends Error {
  override readonly name = 'MalformedError';
}

/**
 * Stricter than protobuf's parsers in one point: a known field under another wire type is an error, where they would take
 * it for an unknown one. No encoder writes that.
 */
export class WireReader {
  private message: ByteString = '';
  private position = 0;
  private end = 0;
  /** The upper half of the varint that was read last. */
  private high = 0;

  /** From the first byte of a message on. As text it is cut into its keys and values without a copy. */
  begin(message: ByteString): void {
    this.message = message;
    this.position = 0;
    this.end = message.length;
  }

  /** Whether the message, or the submessage that was entered, goes on. */
  more(): boolean {
    return this.position < this.end;
  }

  /** The next field's tag: its number shifted by 3, and its wire type. */
  tag(): number {
    const first = this.byte();
    if (first < 0x80 && first >= 8) return first;
    this.position -= 1;
    const start = this.position;
    const tag = this.uint32();
    if (this.position - start > TAG_BYTES_MAX || this.high !== 0) throw new MalformedError('a tag of over 32 bits');
    if (tag >>> 3 === 0) throw new MalformedError('a field without a number');
    return tag;
  }

  /** Reads the length of a submessage and goes into it; answers what `leave` needs. */
  enter(): number {
    const outer = this.end;
    this.end = this.lengthEnd();
    return outer;
  }

  leave(outer: number): void {
    this.end = outer;
  }

  /** A varint's lower 32 bits; more are cut off, as in every parser. */
  uint32(): number {
    const first = this.byte();
    if (first < 0x80) {
      this.high = 0;
      return first;
    }
    return this.longVarint(first);
  }

  int32(): number {
    return this.uint32() | 0;
  }

  bool(): boolean {
    return this.uint32() !== 0 || this.high !== 0;
  }

  /** Decimal digits. */
  uint64(): string {
    const low = this.uint32();
    return this.high === 0 ? String(low) : ((BigInt(this.high) << 32n) | BigInt(low)).toString();
  }

  text(): ByteString {
    const end = this.lengthEnd();
    const text = this.message.slice(this.position, end);
    this.position = end;
    return text;
  }

  /** Skips the value of a field that is unknown. */
  skip(tag: number): void {
    this.skipValue(tag, 0);
  }

  private skipValue(tag: number, depth: number): void {
    switch (tag & 7) {
      case VARINT:
        this.uint32();
        return;
      case FIXED64:
        this.advance(8);
        return;
      case LENGTH_DELIMITED:
        this.position = this.lengthEnd();
        return;
      case GROUP:
        this.skipGroup(tag, depth + 1);
        return;
      case FIXED32:
        this.advance(4);
        return;
      default:
        throw new MalformedError('a wire type that does not exist, or the end of no group');
    }
  }

  private skipGroup(start: number, depth: number): void {
    if (depth > GROUP_DEPTH_MAX) throw new MalformedError('groups nested too deep');
    const end = (start & ~7) | GROUP_END;
    for (;;) {
      const tag = this.tag();
      // Tags are unsigned, what bitwise operators answer is not.
      if (tag === end >>> 0) return;
      this.skipValue(tag, depth);
    }
  }

  private longVarint(first: number): number {
    let low = first & 0x7f;
    let high = 0;
    for (let index = 1; index < VARINT_BYTES_MAX; index++) {
      const byte = this.byte();
      const bits = byte & 0x7f;
      if (index < 5) low |= bits << (7 * index);
      if (index === 4) high = bits >>> 4;
      else if (index > 4) high |= bits << (7 * index - 32);
      if (byte < 0x80) {
        this.high = high >>> 0;
        return low >>> 0;
      }
    }
    throw new MalformedError('a varint of over 10 bytes');
  }

  private byte(): number {
    if (this.position >= this.end) throw new MalformedError('it ends early');
    return this.message.charCodeAt(this.position++);
  }

  private advance(length: number): void {
    if (length > this.end - this.position) throw new MalformedError('it ends early');
    this.position += length;
  }

  /** Reads a length; where what has it ends. */
  private lengthEnd(): number {
    const length = this.uint32();
    if (this.high !== 0 || length > this.end - this.position) throw new MalformedError('a length beyond the end');
    return this.position + length;
  }
}
