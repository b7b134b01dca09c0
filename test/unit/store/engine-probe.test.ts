/** The time of a write is measured by the quietest of a few rounds, so that a busy moment changes nothing. */

import { measureWrite } from '../../../src/state/store/redis/engine-probe';

/** Measures an engine whose answers to PING and to writes take these times. */
function measured(input: { readonly pingsMs: readonly number[]; readonly writesMs: readonly number[] }): Promise<number> {
  let nowMs = 1_000;
  const answers = (timesMs: readonly number[]) => {
    const left = [...timesMs];
    return () => Promise.resolve((nowMs += left.shift()!));
  };
  return measureWrite({ ping: answers(input.pingsMs), write: answers(input.writesMs), nowMs: () => nowMs });
}

test.each([
  ['every round is quiet', [1, 1, 1], [5, 5, 5], 4],
  ['the first round is busy', [90, 1, 1], [80, 5, 5], 4],
  ['a quiet PING and a quiet write are of different rounds', [90, 1, 70], [80, 60, 5], 4],
  ['a write takes no longer than an answer', [3, 2, 4], [3, 2, 4], 0],
  ['a write seems faster than an answer', [8, 9, 7], [3, 2, 4], 0],
])('%s: PING of %j ms and writes of %j ms make %i ms', async (_what, pingsMs, writesMs, expectedMs) => {
  expect(await measured({ pingsMs, writesMs })).toBe(expectedMs);
});
