/** Plain YAML scalars in the interpretation of the reference's parser: YAML 1.1 booleans, numbers with underscores. */

export const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((text) => [text, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((text) => [text, false] as const),
]);

/** Some YAML parsers read it as octal, others as decimal. */
export const LEADING_ZERO = /^[-+]?0\d+$/;

/** Underscores may be anywhere in a number except at its start, or after a leading point: that is text. */
export function withoutUnderscores(text: string): string {
  return /^[_.]/.test(text) ? text : text.replaceAll('_', '');
}
