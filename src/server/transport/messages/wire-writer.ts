/** A reusable buffer that protobuf messages are written to, field by field. */

import { FIXED64, LENGTH_DELIMITED, VARINT } from './wire-reader';

/** Initial size: enough for a response without long names. */
const FIRST_BYTES = 1024;

/** Length of the longest varint of a number up to 2^53, with its tag. */
const NUMBER_BYTES_MAX = 10;

const DOUBLE_BYTES = 8;

/** Maximum UTF-8 length of a UTF-16 unit. */
const UNIT_BYTES_MAX = 3;

export class WireWriter {
  private buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  private position = 0;
  /** Views of the buffer's start, by length, for short messages: creating a view costs as much as writing a response. */
  private views: Buffer[] = [];

  reset(): void {
    this.position = 0;
  }

  /** The bytes since `reset`; valid until the next one. */
  bytes(): Buffer {
    if (this.position >= FIRST_BYTES) return this.buffer.subarray(0, this.position);
    return (this.views[this.position] ??= this.buffer.subarray(0, this.position));
  }

  /** Writes a whole number from 0 to 2^53. */
  number(field: number, value: number): void {
    this.reserve(NUMBER_BYTES_MAX);
    this.buffer[this.position++] = (field << 3) | VARINT;
    this.varint(value);
  }

  /** Writes a double. */
  double(field: number, value: number): void {
    this.reserve(1 + DOUBLE_BYTES);
    this.buffer[this.position++] = (field << 3) | FIXED64;
    this.position = this.buffer.writeDoubleLE(value, this.position);
  }

  /** Writes a text as UTF-8. */
  text(field: number, value: string): void {
    const start = this.begin(field);
    this.reserve(value.length * UNIT_BYTES_MAX);
    this.position += this.buffer.write(value, this.position, 'utf8');
    this.end(start);
  }

  /** Writes the bytes of a bytes field, or of an encoded submessage. */
  raw(field: number, bytes: Uint8Array): void {
    const start = this.begin(field);
    this.reserve(bytes.length);
    this.buffer.set(bytes, this.position);
    this.position += bytes.length;
    this.end(start);
  }

  /** Begins a submessage; pass the result to `end`. */
  begin(field: number): number {
    this.reserve(2);
    this.buffer[this.position] = (field << 3) | LENGTH_DELIMITED;
    // One byte for the tag, and one for the length, which is almost always below 128.
    this.position += 2;
    return this.position;
  }

  end(start: number): void {
    const length = this.position - start;
    if (length < 0x80) {
      this.buffer[start - 1] = length;
      return;
    }
    const more = varintBytes(length) - 1;
    this.reserve(more);
    this.buffer.copyWithin(start + more, start, this.position);
    this.position = start - 1;
    this.varint(length);
    this.position += length;
  }

  private varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.buffer[this.position++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.buffer[this.position++] = rest;
  }

  private reserve(bytes: number): void {
    if (this.position + bytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafeSlow((this.position + bytes) * 2);
    this.buffer.copy(larger, 0, 0, this.position);
    this.buffer = larger;
    this.views = [];
  }
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes += 1;
  return bytes;
}
