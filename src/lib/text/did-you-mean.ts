/** Suggests the word that a misspelled one stands for. */

/** Longer words are not typing mistakes of our names, and comparing them would be expensive. */
const WORD_LENGTH_MAX = 40;

/** The nearest candidate, if at most one in `lettersPerMistake` letters differs (default 3); one letter may always differ. */
export function didYouMean(word: string, candidates: readonly string[], { lettersPerMistake = 3 } = {}): string | undefined {
  if (word.length > WORD_LENGTH_MAX) return undefined;
  const lower = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = Infinity;
  for (const candidate of candidates) {
    const distanceMax = Math.max(1, Math.floor(candidate.length / lettersPerMistake));
    // The difference in length is a lower bound of the distance.
    if (Math.abs(candidate.length - word.length) > distanceMax) continue;
    const distance = editDistance(lower, candidate, Math.min(distanceMax, bestDistance - 1));
    if (distance < bestDistance && distance <= distanceMax) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Number of letters to insert, delete, replace or swap with a neighbour to turn one word into the other; Infinity if it is above `max`. */
function editDistance(from: string, to: string, max: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      let least = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1));
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (swapped) least = Math.min(least, at(beforeLast, column - 2) + 1);
      current.push(least);
    }
    // No later row has less than this one, because a swap adds one to a row that has at most one less.
    if (Math.min(...current) > max) return Infinity;
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

function at(distances: readonly number[], column: number): number {
  return distances[column] ?? Infinity;
}
