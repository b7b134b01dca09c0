/** Draws keys as real traffic has them: the key of rank r is as frequent as 1 / r^exponent. */

import type { Random } from '../../support/random/random';

const PRECISION = 2 ** 30;

export interface ZipfOptions {
  readonly exponent: number;
  readonly keys: number;
  readonly random: Random;
}

/** The returned function draws a rank, from 0. */
export function zipf({ exponent, keys, random }: ZipfOptions): () => number {
  const sums = new Float64Array(keys);
  let total = 0;
  for (let rank = 0; rank < keys; rank += 1) sums[rank] = total += 1 / (rank + 1) ** exponent;
  return () => {
    const drawn = (random(PRECISION) / PRECISION) * total;
    let [low, high] = [0, keys - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle]! <= drawn) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}
