/** The lines of one log, with their numbers. */

import { isUtf8 } from 'node:buffer';
import type { ByteString } from '../../../../domain/descriptor/descriptor';
import type { LogBytes } from './log-bytes';

/** A longer line is wrong, and is skipped without being kept. */
export const LINE_BYTES_MAX = 1024 * 1024;

const CARRIAGE_RETURN = 13;

export type LineEnd = (text: ByteString, start: number) => number;

const endOfLine: LineEnd = (text, start) => text.indexOf('\n', start);

/** What `next` found: a line, an end of the bytes that were read, or a line that is too long. */
export type Found = 'line' | 'more' | 'long';

export class LogLines {
  /** The line is from `start` to `end` of this text, which has one character for each byte. */
  text: ByteString = '';
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
  /** The text may have a NUL or invalid UTF-8, so each line must be looked at. */
  private isSuspect = false;

  constructor(private readonly source: LogBytes) {}

  /** Reads more bytes behind the rest of those before. Returns false at the end. */
  async fill(): Promise<boolean> {
    if (this.isEnded) return false;
    const read = await this.source.chunks.next();
    const rest = this.text.slice(this.nextStart);
    this.nextStart = 0;
    if (read.done === true) {
      this.isEnded = true;
      this.text = rest;
      return rest.length > 0;
    }
    // A character may be cut between two reads: then each line is looked at, and none of them is wrong.
    this.isSuspect = (this.isSuspect && rest.length > 0) || read.value.includes(0) || !isUtf8(read.value);
    this.text = rest + read.value.toString('latin1');
    return true;
  }

  /** Finds the next line that is not empty. */
  next(): Found {
    for (;;) {
      this.number += this.lineFeeds;
      this.lineFeeds = 0;
      const start = this.nextStart;
      if (start >= this.text.length) return 'more';
      let end = this.isSkipping ? endOfLine(this.text, start) : this.endOf(this.text, start);
      if (end < 0) {
        const atEnd = this.atOpenEnd(start);
        if (atEnd !== undefined) return atEnd;
        end = this.text.length;
      }
      this.nextStart = end + 1;
      this.lineFeeds = this.endOf === endOfLine ? 0 : countLineFeeds(this.text, start, end);
      this.number += 1;
      if (this.isSkipping) {
        this.isSkipping = false;
        continue;
      }
      if (end - start > LINE_BYTES_MAX) return 'long';
      if (end === start || (end === start + 1 && this.text.charCodeAt(start) === CARRIAGE_RETURN)) continue;
      this.start = start;
      this.end = end;
      return 'line';
    }
  }

  /** Reads the lines of the one that was found again, from the second one on: a quote that nothing closes made them one. */
  splitAtLineFeed(): void {
    const end = endOfLine(this.text, this.start);
    if (this.lineFeeds === 0 || end < 0) return;
    this.nextStart = end + 1;
    this.lineFeeds = 0;
  }

  /** The reason why the line is not text; undefined: it is. */
  fault(): string | undefined {
    if (!this.isSuspect) return undefined;
    const line = this.text.slice(this.start, this.end);
    if (line.includes('\0')) return 'has a NUL byte';
    return isUtf8(Buffer.from(line, 'latin1')) ? undefined : 'is not UTF-8';
  }

  close(): void {
    this.source.close();
  }

  /** The line has no end yet. Undefined: it ends with the log. */
  private atOpenEnd(start: number): Found | undefined {
    const open = this.text.length - start;
    if (this.isEnded) {
      const whole = endOfLine(this.text, start);
      // A quote stays open until the end.
      if (whole >= 0 && !this.isSkipping) this.lineFeeds = countLineFeeds(this.text, start, this.text.length);
      return undefined;
    }
    if (this.isSkipping) {
      this.nextStart = this.text.length;
      return 'more';
    }
    if (open <= LINE_BYTES_MAX) return 'more';
    const end = endOfLine(this.text, start);
    this.number += 1;
    if (end >= 0) {
      this.nextStart = end + 1;
      return 'long';
    }
    this.isSkipping = true;
    this.number -= 1;
    this.nextStart = this.text.length;
    return 'long';
  }
}

function countLineFeeds(text: ByteString, start: number, end: number): number {
  let count = 0;
  for (let at = text.indexOf('\n', start); at >= 0 && at < end; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}
