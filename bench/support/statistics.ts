/** What is told of several rounds: the median, and how far the rounds lie apart. */

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** @throws Error if there are no values */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low, high] = [sorted.at(sorted.length % 2 === 0 ? middle - 1 : middle), sorted.at(middle)];
  const [min, max] = [sorted.at(0), sorted.at(-1)];
  if (low === undefined || high === undefined || min === undefined || max === undefined) throw new Error('no rounds, no spread');
  return { median: (low + high) / 2, min, max };
}
