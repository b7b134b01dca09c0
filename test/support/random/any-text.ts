/** Random texts of any characters. */

import fc from 'fast-check';

const SURROGATES = { from: 0xd800, count: 0x800 };
const CODE_POINT_MAX = 0x10_ff_ff;

/** Every code point but the halves of surrogate pairs. */
const character = fc
  .integer({ min: 0, max: CODE_POINT_MAX - SURROGATES.count })
  .map((number) => String.fromCodePoint(number < SURROGATES.from ? number : number + SURROGATES.count));

/** As `unit: 'binary'` of fast-check, which takes 1.5 s of processor time in each test file for a table of all characters. */
export function anyText({ minLength = 0, maxLength }: { readonly minLength?: number; readonly maxLength: number }): fc.Arbitrary<string> {
  return fc.string({ unit: character, minLength, maxLength });
}
