/**
 * Exact whole-number arithmetic on doubles. Twin of `lua/include/arithmetic.lua`: Redis runs that one, the memory
 * store this one, and both must give the same digits.
 *
 * A rate is a fraction, `requests / windowUs` hits per microsecond, and time times rate passes 2^53 easily (a month in
 * microseconds times 4,000 hits). So nothing here takes a product as it is before it has made sure that it is exact. Rounding never
 * changes the order of two numbers, so a product or sum above `EXACT_MAX` is above it in doubles too.
 *
 * A quotient `a / b` of whole numbers up to `EXACT_MAX` rounds down and up to what the exact one does: one that is not whole is at least
 * `1 / b` away from the whole numbers `n` and `n + 1` around it, and is rounded by half the distance of two doubles at most.
 * That is `n / 2^53` there (below 1 even less than `1 / 2^53`), and less than `1 / b`, since `n * b < a < 2^53`.
 */

/** The largest whole number up to which doubles are exact. */
const EXACT_MAX = Number.MAX_SAFE_INTEGER;

/** The time of a rate is cut to 100 years of 365 days: it says "never" well enough, and stays exact. */
export const DURATION_US_MAX = 100 * 365 * 86_400 * 1_000_000;

export interface Quotient {
  readonly quotient: number;
  readonly remainder: number;
}

/**
 * `a * b` divided by `m`, exactly. Needs whole numbers up to `EXACT_MAX`, and `0 <= a < m`. Where the product would not be
 * exact, it halves `b`: at most 53 steps, none for usual limits.
 */
export function multiplyDivide(a: number, b: number, m: number): Quotient {
  const product = a * b;
  if (product <= EXACT_MAX) {
    const quotient = Math.floor(product / m);
    return { quotient, remainder: product - quotient * m };
  }
  const odd = b % 2;
  const half = multiplyDivide(a, (b - odd) / 2, m);
  let quotient = half.quotient * 2;
  // The remainder less m, so that no step leaves the range from -m to m. Twice a number is exact, even above 2^53.
  let below = half.remainder * 2 - m;
  if (below >= 0) {
    quotient += 1;
    below -= m;
  }
  below += odd * a;
  return below >= 0 ? { quotient: quotient + 1, remainder: below } : { quotient, remainder: below + m };
}

/** Whole hits, and what is left of the next one in parts of `1 / windowUs` hit. */
export interface Refill {
  readonly hits: number;
  readonly rest: number;
}

/**
 * The tokens that flow in over `elapsedUs` at `requests` per `windowUs`, on top of `rest` that had gathered before.
 * `hits` may pass 2^53 (and lose digits there): it is then above every capacity.
 */
export function refill({ elapsedUs, rest, requests, windowUs }: RefillInput): Refill {
  const parts = elapsedUs * requests + rest;
  // Usual case: the sum is exact, so one division suffices.
  if (parts <= EXACT_MAX) {
    const hits = Math.floor(parts / windowUs);
    return { hits, rest: parts - hits * windowUs };
  }
  const partUs = elapsedUs % windowUs;
  const windows = (elapsedUs - partUs) / windowUs;
  const part = multiplyDivide(partUs, requests, windowUs);
  const gathered = part.remainder + rest;
  const whole = windows * requests + part.quotient;
  return gathered >= windowUs ? { hits: whole + 1, rest: gathered - windowUs } : { hits: whole, rest: gathered };
}

interface RefillInput {
  readonly elapsedUs: number;
  readonly rest: number;
  readonly requests: number;
  readonly windowUs: number;
}

/**
 * The least time in microseconds after which `refill` gives at least `hits`, at most `DURATION_US_MAX`. A rate of 0
 * never gives any: then it is one window, the only length the limit names.
 */
export function timeToRefill({ hits, rest, requests, windowUs }: TimeToRefillInput): number {
  if (hits <= 0) return 0;
  if (requests === 0) return windowUs;
  const parts = hits * windowUs;
  if (parts > DURATION_US_MAX * requests) return DURATION_US_MAX;
  if (parts <= EXACT_MAX) return Math.ceil((parts - rest) / requests);
  // (hits * windowUs - rest) / requests, rounded up, with windowUs = wholeUs * requests + partUs.
  const partUs = windowUs % requests;
  const wholeUs = (windowUs - partUs) / requests;
  const part = multiplyDivide(partUs, hits, requests);
  // The least time, if it rounds, is one of about 100 years.
  return Math.min(DURATION_US_MAX, hits * wholeUs + part.quotient + Math.ceil((part.remainder - rest) / requests));
}

interface TimeToRefillInput {
  readonly hits: number;
  readonly rest: number;
  readonly requests: number;
  readonly windowUs: number;
}
