/** Characters on which YAML parsers differ or which YAML forbids: other line ends, and invalid characters. */

/** YAML 1.1, which the reference reads, also ends a line at each of these. In 1.2 NEL is text, and in the parser a lone CR is. */
const LINE_END = /\r(?!\n)|\x85/g;

/**
 * LS and PS end a line in YAML 1.1, but stay in the text; in 1.2 they are text. YAML forbids the others:
 * control characters, halves of surrogate pairs, noncharacters.
 */
const BAD_CHARACTER = /[\u2028\u2029\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]|\p{Cs}/u;

/** Replaces every line end by a line feed, without moving offsets. */
export function withLineFeeds(text: string): string {
  return text.replace(LINE_END, '\n');
}

/** The first forbidden character, or undefined. */
export function findBadCharacter(text: string): { readonly offset: number; readonly message: string } | undefined {
  const found = BAD_CHARACTER.exec(text);
  if (found === null) return undefined;
  const [character] = found;
  const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  const isSeparator = character === '\u2028' || character === '\u2029';
  const message = isSeparator
    ? `U+${code} is a line end for some YAML parsers and text for others; write a line break, or \\${character === '\u2028' ? 'L' : 'P'} within double quotes`
    : `U+${code} is not allowed in YAML; remove it, or write it as an escape within double quotes`;
  return { offset: found.index, message };
}
