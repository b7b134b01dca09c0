/** Makes texts of callers safe for a terminal. */

/** Control characters, which a terminal obeys; and those that reverse or hide text. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** Each character that a terminal would obey, as `\u001b`. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
