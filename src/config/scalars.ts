/** Plain YAML scalars as the reference's parser reads them: YAML 1.1 booleans, numbers with underscores. */

export const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((text) => [text, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((text) => [text, false] as const),
]);

/** Octal to one reader, decimal to another. */
export const LEADING_ZERO = /^[-+]?0\d+$/;

/** Underscores may stand anywhere in a number but at its beginning, or behind a point there: that is text. */
export function withoutUnderscores(text: string): string {
  return /^[_.]/.test(text) ? text : text.replaceAll('_', '');
}
