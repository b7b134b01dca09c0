/** The content of a line of a log: a request at a time, or why the line is wrong. */

import type { RateLimitRequest } from '../../../../domain/descriptor/descriptor';

export interface LogEvent {
  /** The start of the request, in microseconds since 1970. */
  readonly timeUs: number;
  /** Undefined: the request is given by its keys. */
  readonly request: RateLimitRequest | undefined;
  /** By form of descriptors, the text of the key; undefined: the request has no such descriptor. */
  readonly texts: readonly (string | undefined)[];
  readonly hits: number;
  /** The bytes of its line. */
  bytes: number;
  /** Requests of one time keep the order of their lines. */
  number: number;
}

export const NO_TEXTS: readonly (string | undefined)[] = [];

export interface WrongLine {
  /** The fault, as it follows the name of the line. */
  readonly wrong: string;
}

export type LineResult = LogEvent | WrongLine;

export function asWrong(wrong: string): WrongLine {
  return { wrong };
}

export function isWrong(result: LineResult): result is WrongLine {
  return 'wrong' in result;
}
