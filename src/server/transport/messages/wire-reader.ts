/** A cursor over a protobuf message as a byte string: reads tags, values and submessages, and skips unknown fields. */

import type { ByteString } from '../../../domain/descriptor/descriptor';

export const VARINT = 0;
export const FIXED64 = 1;
export const LENGTH_DELIMITED = 2;
const GROUP = 3;
const GROUP_END = 4;
const FIXED32 = 5;

/** Maximum nesting of groups, as in protobuf's own parsers. */
const GROUP_DEPTH_MAX = 100;

/** Maximum length of a tag and of a varint. */
const TAG_BYTES_MAX = 5;
const VARINT_BYTES_MAX = 10;

/** The bytes are not a valid message. */
export class MalformedError extends Error {
  override readonly name = 'MalformedError';
}

/** The message may be valid, but has too many fields to read. */
export class TooManyFieldsError extends Error {
  override readonly name = 'TooManyFieldsError';
}

/**
 * Stricter than protobuf's parsers in one point: a known field with another wire type is an error, while they would
 * skip it as unknown. No encoder writes that.
 */
export class WireReader {
  private message: ByteString = '';
  private position = 0;
  private end = 0;
  /** The upper half of the last varint. */
  private high = 0;
  private fieldsLeft = 0;

  constructor(private readonly fieldsMax: number) {}

  /** Starts at the first byte of a message. Keys and values are slices of its text. */
  begin(message: ByteString): void {
    this.message = message;
    this.position = 0;
    this.end = message.length;
    this.fieldsLeft = this.fieldsMax;
  }

  /** Whether the message, or the submessage entered, has more fields. */
  more(): boolean {
    return this.position < this.end;
  }

  /**
   * Reads the next tag: the field number shifted by 3, and the wire type.
   *
   * @throws TooManyFieldsError if the message has too many fields, including those of submessages and unknown ones
   */
  tag(): number {
    if (this.fieldsLeft === 0) throw new TooManyFieldsError();
    this.fieldsLeft -= 1;
    const first = this.byte();
    if (first < 0x80 && first >= 8) return first;
    this.position -= 1;
    const start = this.position;
    const tag = this.uint32();
    if (this.position - start > TAG_BYTES_MAX || this.high !== 0) throw new MalformedError('a tag of over 32 bits');
    if (tag >>> 3 === 0) throw new MalformedError('a field without a number');
    return tag;
  }

  /** Reads the length of a submessage and enters it; `leave` takes the result. */
  enter(): number {
    const outer = this.end;
    this.end = this.lengthEnd();
    return outer;
  }

  leave(outer: number): void {
    this.end = outer;
  }

  /** The lower 32 bits of a varint; the rest is dropped, as in every parser. */
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

  /** Skips the value of an unknown field. */
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
        throw new MalformedError('an unknown wire type, or the end of a group that was not started');
    }
  }

  private skipGroup(start: number, depth: number): void {
    if (depth > GROUP_DEPTH_MAX) throw new MalformedError('groups nested too deep');
    const end = (start & ~7) | GROUP_END;
    for (;;) {
      const tag = this.tag();
      // Tags are unsigned, results of bitwise operators are signed.
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

  /** Reads a length, and returns the end of the value. */
  private lengthEnd(): number {
    const length = this.uint32();
    if (this.high !== 0 || length > this.end - this.position) throw new MalformedError('a length beyond the end');
    return this.position + length;
  }
}
