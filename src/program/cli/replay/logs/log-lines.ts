/** The lines of one log, as bytes in a buffer, with their numbers. */

import { isUtf8 } from 'node:buffer';
import type { LogBytes } from './log-bytes';

/** A longer line is wrong, and is skipped without being kept. */
export const LINE_BYTES_MAX = 1024 * 1024;

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

const NOTHING: Buffer = Buffer.alloc(0);

export type LineEnd = (bytes: Buffer, start: number) => number;

const endOfLine: LineEnd = (bytes, start) => bytes.indexOf(LINE_FEED, start);

/** What `next` found: a line, an end of the bytes that were read, or a line that is too long. */
export type Found = 'line' | 'more' | 'long';

export class LogLines {
  /** The line is from `start` to `end` of these bytes. */
  bytes: Buffer = NOTHING;
  start = 0;
  end = 0;
  /** The number of the line, from 1. */
  number = 0;
  /** Finds the end of a line; a format may have lines with line feeds in them. */
  endOf: LineEnd = endOfLine;
  private nextStart = 0;
  private lineFeeds = 0;
  private isEnded = false;
  private isSkipping = false;
  /** The bytes that were read have a NUL or are not UTF-8, so each line must be looked at. */
  private isSuspect = false;

  constructor(private readonly source: LogBytes) {}

  /** Reads more bytes behind the rest of those before. Returns false at the end. */
  async fill(): Promise<boolean> {
    if (this.isEnded) return false;
    const read = await this.source.chunks.next();
    const rest = this.bytes.subarray(this.nextStart);
    this.nextStart = 0;
    if (read.done === true) {
      this.isEnded = true;
      this.bytes = rest;
      return rest.length > 0;
    }
    this.bytes = rest.length === 0 ? read.value : Buffer.concat([rest, read.value]);
    this.isSuspect = this.bytes.includes(0) || !isUtf8(this.bytes);
    return true;
  }

  /** Finds the next line that is not empty. */
  next(): Found {
    for (;;) {
      this.number += this.lineFeeds;
      this.lineFeeds = 0;
      const start = this.nextStart;
      if (start >= this.bytes.length) return 'more';
      let end = this.isSkipping ? endOfLine(this.bytes, start) : this.endOf(this.bytes, start);
      if (end < 0) {
        const atEnd = this.atOpenEnd(start);
        if (atEnd !== undefined) return atEnd;
        end = this.bytes.length;
      }
      this.nextStart = end + 1;
      this.lineFeeds = this.endOf === endOfLine ? 0 : countLineFeeds(this.bytes, start, end);
      this.number += 1;
      if (this.isSkipping) {
        this.isSkipping = false;
        continue;
      }
      if (end - start > LINE_BYTES_MAX) return 'long';
      if (end === start || (end === start + 1 && this.bytes[start] === CARRIAGE_RETURN)) continue;
      this.start = start;
      this.end = end;
      return 'line';
    }
  }

  /** Reads the lines of the one that was found again, from the second one on: a quote that nothing closes made them one. */
  splitAtLineFeed(): void {
    const end = endOfLine(this.bytes, this.start);
    if (this.lineFeeds === 0 || end < 0) return;
    this.nextStart = end + 1;
    this.lineFeeds = 0;
  }

  /** What makes the bytes of the line no text. */
  fault(): string | undefined {
    if (!this.isSuspect) return undefined;
    const line = this.bytes.subarray(this.start, this.end);
    if (line.includes(0)) return 'has a NUL byte';
    return isUtf8(line) ? undefined : 'is not UTF-8';
  }

  close(): void {
    this.source.close();
  }

  /** The line has no end yet. Undefined: it ends with the log. */
  private atOpenEnd(start: number): Found | undefined {
    const open = this.bytes.length - start;
    if (this.isEnded) {
      const whole = endOfLine(this.bytes, start);
      // A quote stays open until the end.
      if (whole >= 0 && !this.isSkipping) this.lineFeeds = countLineFeeds(this.bytes, start, this.bytes.length);
      return undefined;
    }
    if (this.isSkipping) {
      this.nextStart = this.bytes.length;
      return 'more';
    }
    if (open <= LINE_BYTES_MAX) return 'more';
    const end = endOfLine(this.bytes, start);
    this.number += 1;
    if (end >= 0) {
      this.nextStart = end + 1;
      return 'long';
    }
    this.isSkipping = true;
    this.number -= 1;
    this.nextStart = this.bytes.length;
    return 'long';
  }
}

function countLineFeeds(bytes: Buffer, start: number, end: number): number {
  let count = 0;
  for (let at = bytes.indexOf(LINE_FEED, start); at >= 0 && at < end; at = bytes.indexOf(LINE_FEED, at + 1)) count += 1;
  return count;
}
