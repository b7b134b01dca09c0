/** Readers of replies: each checks what Redis answered before anything is done with it. */

import { ReplyError } from './reply-error';

/**
 * Reads the reply of its command.
 *
 * @throws ReplyError if the reply is invalid for that command
 */
export type ReadReply<Answer> = (reply: unknown) => Answer;

/** Reads the reply of a command that always answers the same word. */
export function readWord(word: string): ReadReply<void> {
  return (reply) => {
    if (reply !== word) throw new ReplyError(`it is not ${word}`);
  };
}

/** The numbers of a reply, one after the other. Each is checked before anything is done with it: a loop may run up to it. */
export class ReplyNumbers {
  private readonly values: readonly unknown[];
  private at = 0;

  /**
   * @throws ReplyError if the reply is not a list
   */
  constructor(reply: unknown) {
    this.values = readList(reply);
  }

  /**
   * The next one: a whole number from `min` to `max`.
   *
   * @throws ReplyError if it is something else, or there is none
   */
  next(min: number, max: number): number {
    const { at } = this;
    if (at >= this.values.length) throw new ReplyError(`it has ${at} numbers, and more belong to what was asked`);
    const value = this.values[at];
    this.at = at + 1;
    if (isWhole(value, min, max)) return value;
    const large = readLarge(value);
    if (isWhole(large, min, max)) return large;
    throw new ReplyError(`number ${at + 1} of it is ${describeValue(value)}, where ${min} to ${max} is possible`);
  }

  /**
   * @throws ReplyError if there are more: then those before may not be what they were taken for
   */
  end(): void {
    if (this.at !== this.values.length)
      throw new ReplyError(`it has ${this.values.length} numbers, and ${this.at} belong to what was asked`);
  }
}

/**
 * @throws ReplyError if it is not a list
 */
export function readList(reply: unknown): readonly unknown[] {
  if (!Array.isArray(reply)) throw new ReplyError(`it is ${describeValue(reply)} in place of a list`);
  return reply;
}

/**
 * @throws ReplyError if it is not a whole number from `min` to `max`
 */
export function readWhole(reply: unknown, min: number, max: number): number {
  if (isWhole(reply, min, max)) return reply;
  const large = readLarge(reply);
  if (isWhole(large, min, max)) return large;
  throw new ReplyError(`it is ${describeValue(reply)}, where ${min} to ${max} is possible`);
}

/** A number that scripts send as a text, because node-redis adds 48 to a number on the way to it (`in_reply` in `lua/include/numbers.lua`). */
function readLarge(reply: unknown): number | undefined {
  return typeof reply === 'string' && /^-?90071992547409\d\d$/.test(reply) ? Number(reply) : undefined;
}

function isWhole(value: unknown, min: number, max: number): value is number {
  return typeof value === 'number' && value >= min && value <= max && Number.isInteger(value);
}

/** A text may hold a key: of it only that it is one. */
function describeValue(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'string' ? 'a text' : 'nothing';
}
