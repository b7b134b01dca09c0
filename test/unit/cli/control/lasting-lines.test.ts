/** `weir tail` opens its stream again, a bounded number of times. */

import { AdminError } from '../../../../src/program/cli/admin/admin-error';
import { lastingLines, TRIES_MAX } from '../../../../src/program/cli/admin/lasting-lines';

type Stream = readonly (string | Error)[];

/** Reads until the streams are over, or an error. */
async function readAll(streams: readonly Stream[]) {
  const stop = new AbortController();
  const waits: number[] = [];
  const reasons: string[] = [];
  const lines: string[] = [];
  let opened = 0;
  const reading = lastingLines({
    open: async function* () {
      const stream = streams[opened];
      opened += 1;
      if (stream === undefined) {
        stop.abort();
        return;
      }
      for (const each of stream) {
        await Promise.resolve();
        if (each instanceof Error) throw each;
        yield each;
      }
    },
    signal: stop.signal,
    pause: (ms) => {
      waits.push(ms);
      return Promise.resolve();
    },
    onPause: (reason) => reasons.push(reason),
  });
  try {
    for await (const line of reading) lines.push(line);
    return { lines, waits, reasons, opened, error: undefined };
  } catch (error) {
    return { lines, waits, reasons, opened, error };
  }
}

const lost = new AdminError('lost');

test('a stream that ends, or breaks, is opened again, and its lines go on', async () => {
  const { lines, reasons, error } = await readAll([['a', 'b'], ['c', lost], ['d']]);
  expect(error).toBeUndefined();
  expect(lines).toEqual(['a', 'b', 'c', 'd']);
  expect(reasons).toEqual(['the stream ended', 'lost', 'the stream ended']);
});

test('tries without a line are bounded, and their waits grow; a line starts them again', async () => {
  const failing: Stream[] = Array.from({ length: TRIES_MAX - 1 }, () => [lost]);
  const { lines, waits, opened, error } = await readAll([['a'], ...failing, ['b'], ...failing, [lost]]);
  expect(error).toBe(lost);
  expect(lines).toEqual(['a', 'b']);
  expect(opened).toBe(3 + 2 * failing.length);
  expect(Math.max(...waits)).toBeLessThanOrEqual(10_000);
  expect(waits[5]!).toBeGreaterThan(waits[0]!);
});

test('the first try, and a refusal that lasts, end it at once', async () => {
  expect(await readAll([[lost]])).toMatchObject({ opened: 1, error: lost });
  const refused = new AdminError('refused with 401', { isFinal: true });
  expect(await readAll([['a'], [refused], ['b']])).toMatchObject({ opened: 2, lines: ['a'], error: refused });
});
