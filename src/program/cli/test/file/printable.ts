/** Replaces characters of a test file that a terminal or a reader of reports would obey or refuse. */

/** Control characters, noncharacters, and halves of surrogate pairs. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}\u2028\u2029]/gu;

export function printable(line: string): string {
  return line.replace(UNPRINTABLE, '?');
}
