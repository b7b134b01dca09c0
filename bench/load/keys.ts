/** Which key each call asks for: one of a number of keys at random, the same in every run of a seed; or each in turn. */

import { randomFrom } from '../../test/support/random/random';

export interface KeyChoice {
  readonly count: number;
  readonly order: { readonly seed: number } | 'in_turn';
}

/** Key numbers from 0 up to, but not, `count`. */
export function keysOf({ count, order }: KeyChoice): () => number {
  if (count === 1) return () => 0;
  if (order === 'in_turn') return inTurn(count);
  const random = randomFrom(order);
  return () => random(count);
}

function inTurn(count: number): () => number {
  let next = 0;
  return () => {
    const key = next;
    next = (next + 1) % count;
    return key;
  };
}
