/** The error for an invalid command line, and readers of option values. */

/** The message says what is wrong and what to do; the command exits with the code for invalid usage. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** One of the words; the first one if the option is absent. */
export function readChoice<const Word extends string>(option: string, given: string | undefined, words: readonly [Word, ...Word[]]): Word {
  if (given === undefined) return words[0];
  const word = words.find((each) => each === given);
  if (word === undefined) throw new UsageError(`${option}: ${JSON.stringify(given)} is not accepted; use ${words.join(', ')}`);
  return word;
}

export function readWhole(option: string, given: string | undefined, { min, max, otherwise }: WholeRange): number {
  if (given === undefined) return otherwise;
  const value = /^\d{1,16}$/.test(given) ? Number(given) : NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`${option}: ${JSON.stringify(given)} is not accepted; use a whole number from ${min} to ${max}`);
}

interface WholeRange {
  readonly min: number;
  readonly max: number;
  readonly otherwise: number;
}
