/** Writes JSON that stays inert wherever a client shows it. */

/** Characters that end a script or begin a tag in HTML, end a line in JavaScript, or control a terminal. */
const RISKY = /[<>&\u007f-\u009f\u2028\u2029]/g;

/** As JSON.stringify, which escapes control characters and halves of surrogate pairs; `<` is `\u003c`. */
export function jsonText(value: string | number | boolean | null | readonly string[]): string {
  return JSON.stringify(value).replace(RISKY, escapeUnit);
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
