/** A live tail opens in all workers, which together send the rate of one process. */

import type { TailFilter, TailSample } from '../../../src/server/observability/tail/tail-sample';
import { WorkerTails, type TailOrder } from '../../../src/server/workers/worker-tails';

const FILTER: TailFilter = { entries: [], deniedOnly: false, perSecond: 2 };

function sampleOf(pid: number, skipped = 0): TailSample {
  return { atMs: 0, pid, domain: 'd', overLimit: false, descriptors: [], skipped };
}

function scene() {
  const sent: (readonly [TailOrder, number | undefined])[] = [];
  let nowMs = 0;
  const tails = new WorkerTails({ send: (message, worker) => sent.push([message, worker]), nowMs: () => nowMs });
  const seen: TailSample[] = [];
  return {
    tails,
    sent,
    seen,
    open: () => {
      tails.open(7, FILTER, (sample) => seen.push(sample));
    },
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

test('a tail is opened in all workers, in one that starts later, and closed in all', () => {
  const { tails, sent, open } = scene();
  open();
  tails.join(3);
  tails.close(7);
  tails.close(7);
  tails.join(4);
  expect(sent).toEqual([
    [{ kind: 'tail', tail: 7, filter: FILTER }, undefined],
    [{ kind: 'tail', tail: 7, filter: FILTER }, 3],
    [{ kind: 'tail_end', tail: 7 }, undefined],
  ]);
});

test('two workers at their rates send the rate of one, and each sample that is left out is counted', () => {
  const { tails, seen, open, pass } = scene();
  open();
  for (let i = 0; i < 2; i += 1) for (const pid of [1, 2]) tails.take(7, sampleOf(pid, 10));
  expect(seen.map(({ pid, skipped }) => [pid, skipped])).toEqual([
    [1, 10],
    [2, 10],
  ]);
  pass(1_000);
  tails.take(7, sampleOf(2, 5));
  expect(seen.at(-1)).toMatchObject({ pid: 2, skipped: 2 * 11 + 5 });
});

test('a sample of a tail that was closed meanwhile is dropped', () => {
  const { tails, seen, open } = scene();
  open();
  tails.close(7);
  tails.take(7, sampleOf(1));
  expect(seen).toEqual([]);
});
