/** What Redis could not decide, and will never count, is told by name and number, once a minute. */

import { StoreLog } from '../../../src/observability/store-log';
import { BucketError } from '../../../src/store/store';

function open() {
  const clock = { nowMs: 0 };
  const lines: string[] = [];
  const log = new StoreLog({ log: { warn: (line: unknown) => lines.push(String(line)) }, nowMs: () => clock.nowMs });
  return { clock, lines, log };
}

test('a bucket that can not be decided on is told by its key, whatever is in it', () => {
  const { lines, log } = open();
  log.undecided(new BucketError('no bucket', ['1{d}tb1|k=\n', `1{d}tb1|k=${'v'.repeat(1_000)}`]));
  log.undecided(new BucketError('no bucket', ['1{d}tb1|k=other']));
  expect(lines).toEqual([`Redis can't decide on "1{d}tb1|k=\\n" or "1{d}tb1|k=${'v'.repeat(290)}…": no bucket. Its limit goes by its failure mode.`]);
});

test('hits that are lost are told with all of them since the start, by cause', () => {
  const { clock, lines, log } = open();
  log.hitsLost(3, 'answer');
  log.hitsLost(0, 'room');
  for (let i = 0; i < 100; i += 1) log.hitsLost(2, 'room');
  clock.nowMs = 60_000;
  log.hitsLost(2, 'room');
  log.hitsLost(5, 'bucket');
  expect(lines).toEqual([
    'Hits that passed without Redis, and that it may never count, since the start: 3; its answer to their charge was lost.',
    'Hits that passed without Redis, and that it may never count, since the start: 2; too many buckets were asked for while it was away.',
    'Hits that passed without Redis, and that it may never count, since the start: 202; too many buckets were asked for while it was away. (and 99 more since the last line of this kind)',
    'Hits that passed without Redis, and that it may never count, since the start: 5; it holds something else under their keys, or its clock is in another window of the calendar.',
  ]);
});
