/** Checks options and requests of a program, which may be JavaScript: their names, and whole numbers. */

import { didYouMean } from '../../../lib/text/did-you-mean';

/** Names the type of a value for an error message. Texts are not quoted, because requests have those of users. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : value === undefined ? 'undefined' : `a ${typeof value}`;
}

/** Whether a value has fields. */
export function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The sentence on the first name that nothing reads; undefined: there is none. `place`: what has it, such as `the request`. */
export function unknownName(
  given: object,
  { names, place }: { readonly names: readonly string[]; readonly place: string },
): string | undefined {
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown === undefined) return undefined;
  const meant = didYouMean(unknown, names) ?? names.find((name) => name.toLowerCase().startsWith(unknown.toLowerCase()));
  const advice = meant === undefined ? `use ${names.join(', ')}` : `did you mean ${meant}?`;
  return `${place} has the field ${JSON.stringify(unknown.slice(0, 40))}, which nothing reads; ${advice}`;
}

/** @throws TypeError if this is not an object with options, or has a name that nothing reads */
export function checkOptions(options: unknown, { names, place }: { readonly names: readonly string[]; readonly place: string }): void {
  if (!isFields(options)) throw new TypeError(`${place} takes an object with options, not ${kindOf(options)}`);
  const sentence = unknownName(options, { names, place: `the argument of ${place}` });
  if (sentence !== undefined) throw new TypeError(sentence);
}

/** @throws TypeError */
export function readWhole(name: string, value: unknown, { min, max }: { readonly min: number; readonly max: number }): number {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
  throw new TypeError(`${name} is ${typeof value === 'number' ? String(value) : kindOf(value)}; set a whole number from ${min} to ${max}`);
}

/** @throws TypeError */
export function readHook<Hook>(name: string, value: Hook | undefined): Hook | undefined {
  if (value === undefined || typeof value === 'function') return value;
  throw new TypeError(`${name} is ${kindOf(value)}; set a function`);
}
