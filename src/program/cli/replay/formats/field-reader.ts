/** The port of a log format: takes the wanted fields out of a line. */

import type { ByteString } from '../../../../domain/descriptor/descriptor';

/** The values of a line, in the order of the wanted fields. Undefined: the line lacks the field. */
export type FieldValues = (ByteString | undefined)[];

export interface FieldReader {
  /** Fills the values from a line; returns what is wrong with the line, or undefined. The text has one character for each byte. */
  read(text: ByteString, start: number, end: number, values: FieldValues): string | undefined;
  /** Where the line that begins at `start` ends; -1: after this text. Absent: at the next line feed. */
  endOf?(text: ByteString, start: number): number;
}

/** Fields of a format, and those that a mapping names but the format does not have. */
export class UnknownFieldError extends Error {
  override readonly name = 'UnknownFieldError';
}
