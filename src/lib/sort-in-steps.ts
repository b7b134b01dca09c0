/** A stable sort that yields between steps, for lists that would block the event loop if sorted at once. */

/** Items sorted at once, and merged between two yields: less than a tenth of a millisecond. */
const ITEMS_AT_ONCE = 256;

/** A bottom-up merge sort. Returns a new array. */
export function* sortInSteps<T>(items: readonly T[], isBefore: (one: T, other: T) => boolean): Generator<undefined, T[]> {
  let sorted: T[] = [];
  for (let from = 0; from < items.length; from += ITEMS_AT_ONCE) {
    const run = items.slice(from, from + ITEMS_AT_ONCE).sort((one, other) => (isBefore(one, other) ? -1 : isBefore(other, one) ? 1 : 0));
    for (const item of run) sorted.push(item);
    yield;
  }
  for (let width = ITEMS_AT_ONCE; width < items.length; width *= 2) sorted = yield* mergeRuns(sorted, { width, isBefore });
  return sorted;
}

interface Merge<T> {
  /** Length of a sorted run. */
  readonly width: number;
  readonly isBefore: (one: T, other: T) => boolean;
}

function* mergeRuns<T>(runs: readonly T[], { width, isBefore }: Merge<T>): Generator<undefined, T[]> {
  const merged: T[] = [];
  for (let from = 0; from < runs.length; from += 2 * width) {
    const middle = Math.min(from + width, runs.length);
    const end = Math.min(from + 2 * width, runs.length);
    let [left, right] = [from, middle];
    while (left < middle || right < end) {
      const one = runs[left] as T;
      const other = runs[right] as T;
      const takesRight = left >= middle || (right < end && isBefore(other, one));
      merged.push(takesRight ? other : one);
      if (takesRight) right += 1;
      else left += 1;
      if (merged.length % ITEMS_AT_ONCE === 0) yield;
    }
  }
  return merged;
}
