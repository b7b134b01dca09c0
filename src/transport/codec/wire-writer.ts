/** A buffer that a protobuf message is written into, field by field; used again for message after message. */

import { FIXED64, LENGTH_DELIMITED, VARINT } from './wire-reader';

/** Bytes to begin with: more than an answer without long names needs. */
const FIRST_BYTES = 1024;

/** Bytes of the longest varint that a double holds exactly (2^53), with a tag before it. */
const NUMBER_BYTES_MAX = 10;

const DOUBLE_BYTES = 8;

/** UTF-8 of one UTF-16 unit. */
const UNIT_BYTES_MAX = 3;

export class WireWriter {
  private buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  private position = 0;
  /** The first so many bytes of the buffer, by length, for the short ones: a view costs as much as an answer to write. */
  private views: Buffer[] = [];

  reset(): void {
    this.position = 0;
  }

  /** What has been written since `reset`; valid until the next one. */
  bytes(): Buffer {
    if (this.position >= FIRST_BYTES) return this.buffer.subarray(0, this.position);
    return (this.views[this.position] ??= this.buffer.subarray(0, this.position));
  }

  /** A whole number from 0 to 2^53. */
  number(field: number, value: number): void {
    this.reserve(NUMBER_BYTES_MAX);
    this.buffer[this.position++] = (field << 3) | VARINT;
    this.varint(value);
  }

  /** A number as a double has it. */
  double(field: number, value: number): void {
    this.reserve(1 + DOUBLE_BYTES);
    this.buffer[this.position++] = (field << 3) | FIXED64;
    this.position = this.buffer.writeDoubleLE(value, this.position);
  }

  /** Text as UTF-8. */
  text(field: number, value: string): void {
    const start = this.begin(field);
    this.reserve(value.length * UNIT_BYTES_MAX);
    this.position += this.buffer.write(value, this.position, 'utf8');
    this.end(start);
  }

  /** Begins a submessage; the answer is for its `end`. */
  begin(field: number): number {
    this.reserve(2);
    this.buffer[this.position] = (field << 3) | LENGTH_DELIMITED;
    // A length below 128 has one byte, and nearly all are.
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
