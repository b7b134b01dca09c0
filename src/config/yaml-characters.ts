/** Characters of a YAML text that two readers read in two ways: those that end a line, and those that no YAML holds. */

/** YAML 1.1, which the reference reads, ends a line at each of these, too; 1.2 takes NEL for text, and the parser a lone CR. */
const LINE_END = /\r(?!\n)|\x85/g;

/**
 * LS and PS end a line in YAML 1.1, but stay in the text; in 1.2 they are text like any other. The rest is not to be in YAML
 * at all: control characters, halves of surrogate pairs, noncharacters.
 */
const BAD_CHARACTER = /[\u2028\u2029\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]|\p{Cs}/u;

/** Every end of a line as line feed, at the same offset. */
export function withLineFeeds(text: string): string {
  return text.replace(LINE_END, '\n');
}

/** The first character that is not to be there; undefined: there is none. */
export function findBadCharacter(text: string): { readonly offset: number; readonly message: string } | undefined {
  const found = BAD_CHARACTER.exec(text);
  if (found === null) return undefined;
  const [character] = found;
  const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  const isSeparator = character === '\u2028' || character === '\u2029';
  const message = isSeparator
    ? `U+${code} ends a line for some readers of YAML and is text for others; write a line break, or \\${character === '\u2028' ? 'L' : 'P'} within double quotes`
    : `U+${code} is no character of YAML; remove it, or write it as an escape within double quotes`;
  return { offset: found.index, message };
}
