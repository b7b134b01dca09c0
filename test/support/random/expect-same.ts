/** `expect(…).toEqual(…)` for long loops, where most of the time went into expectations that hold. */

import { isDeepStrictEqual } from 'node:util';

/** Fails as `toEqual` does, and only where it does: what is strictly equal needs no further look. */
export function expectSame(received: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(received, expected)) expect(received).toEqual(expected);
}
