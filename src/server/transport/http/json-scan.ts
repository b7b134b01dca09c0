/** Scans JSON byte by byte as it arrives, and rejects too deep nesting or too many items before anything is parsed. */

import { DESCRIPTORS_MAX, ENTRIES_MAX } from '../../../domain/descriptor/descriptor-bounds';
import { BadRequestError } from '../../../lib/errors';

/** Maximum nesting of lists and objects; a request has five levels. */
export const JSON_DEPTH_MAX = 16;

/** Maximum of items in a list or fields in an object: above the bounds of a request, whose errors say more. */
export const JSON_ITEMS_MAX = 1024;

/** Braces, colons and commas of an entry. */
const ENTRY_MARKS = 5;

/** Braces, colons and commas of a descriptor with every field and its limit, without its entries. */
const DESCRIPTOR_MARKS = 24;

/** Maximum of opening brackets, colons and commas: those of the largest valid request. */
export const JSON_MARKS_MAX = DESCRIPTORS_MAX * (ENTRIES_MAX * ENTRY_MARKS + DESCRIPTOR_MARKS) + DESCRIPTOR_MARKS;

/** From this length on a string's end is found by Buffer.indexOf, whose call costs more but whose search is faster. */
const SHORT_STRING = 32;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

export class JsonScan {
  /** The number of commas in each open list and object. */
  private readonly commas = new Uint16Array(JSON_DEPTH_MAX + 1);
  private depth = 0;
  private marks = 0;
  private isString = false;
  private isEscaped = false;

  /** Scans the next bytes. Returns why the body is rejected, or undefined. Whether it is valid JSON is left to the parser. */
  push(chunk: Buffer): BadRequestError | undefined {
    let at = 0;
    while (at < chunk.length) {
      if (this.isString) {
        at = this.skipString(chunk, at);
        continue;
      }
      const byte = chunk[at];
      at += 1;
      if (byte === QUOTE) this.isString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        this.depth += 1;
        this.marks += 1;
        if (this.depth > JSON_DEPTH_MAX)
          return new BadRequestError(`the body nests lists and objects more than ${JSON_DEPTH_MAX} deep; a request has five levels`);
        this.commas[this.depth] = 0;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        // Surplus closing brackets are not valid JSON: the parser reports them.
        if (this.depth > 0) this.depth -= 1;
      } else if (byte === COMMA) {
        this.marks += 1;
        const commas = (this.commas[this.depth] ?? 0) + 1;
        this.commas[this.depth] = commas;
        if (commas >= JSON_ITEMS_MAX)
          return new BadRequestError(
            `a list or an object of the body has over ${JSON_ITEMS_MAX} items; send at most ${DESCRIPTORS_MAX} descriptors of ${ENTRIES_MAX} entries each`,
          );
      } else if (byte === COLON) this.marks += 1;
      if (this.marks > JSON_MARKS_MAX)
        return new BadRequestError(
          `the body has more fields and items than ${DESCRIPTORS_MAX} descriptors of ${ENTRIES_MAX} entries each; send fewer`,
        );
    }
    return undefined;
  }

  /** Returns the position after the part of the string in the chunk. */
  private skipString(chunk: Buffer, from: number): number {
    let at = from;
    while (at < chunk.length) {
      const byte = chunk[at];
      at += 1;
      if (this.isEscaped) this.isEscaped = false;
      else if (byte === BACKSLASH) this.isEscaped = true;
      else if (byte === QUOTE) {
        this.isString = false;
        return at;
      } else if (at - from === SHORT_STRING) at = nextOf(chunk, at);
    }
    return at;
  }
}

/** The position of the next quote or backslash, or the end. */
function nextOf(chunk: Buffer, from: number): number {
  const quote = chunk.indexOf(QUOTE, from);
  const end = quote === -1 ? chunk.length : quote;
  const backslash = chunk.subarray(from, end).indexOf(BACKSLASH);
  return backslash === -1 ? end : from + backslash;
}
