/** The interval of a share that was measured on a number of trials. */

/** Both ends are exceeded in 2.5 % of cases each. */
const Z = 1.959964;

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Wilson's score interval of 95 %: unlike the simple one it is right for few trials, and for shares near 0. Without trials nothing is known. */
export function wilson(count: number, trials: number): Interval {
  if (trials === 0) return { low: 0, high: 1 };
  const share = count / trials;
  const spread = (Z * Z) / trials;
  const middle = (share + spread / 2) / (1 + spread);
  const half = (Z / (1 + spread)) * Math.sqrt((share * (1 - share)) / trials + spread / (4 * trials));
  return { low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}
