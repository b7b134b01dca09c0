/** The part of a file that says where the project is: between two marks, which stay. */

const BEGIN = 'begin home: written by `node scripts/release/set-home.mjs`';
const END = 'end home';

/** How each kind of file writes a comment. @type {Readonly<Record<'#' | '<!--', (text: string) => string>>} */
const COMMENTS = { '#': (text) => `# ${text}`, '<!--': (text) => `<!-- ${text} -->` };

/**
 * The text with these lines between its marks.
 *
 * @param {string} text
 * @param {readonly string[]} lines
 * @param {keyof typeof COMMENTS} comment
 */
export function inBlock(text, lines, comment) {
  const [begin, end] = [`${COMMENTS[comment](BEGIN)}\n`, `${COMMENTS[comment](END)}\n`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`a file has lost its marks; restore the lines ${begin.trim()} and ${end.trim()}`);
  return `${text.slice(0, from + begin.length)}${lines.map((line) => `${line}\n`).join('')}${text.slice(to)}`;
}
