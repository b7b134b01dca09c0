/** The log names each key that cannot be decided, and the hits that Redis will never count. */

import { StoreLog } from '../../../../src/server/observability/log/store-log';
import { BucketError } from '../../../../src/state/store/port/store-error';

function open() {
  const clock = { nowMs: 0 };
  const lines: string[] = [];
  const log = new StoreLog({ log: { warn: (_fields: unknown, line?: unknown) => lines.push(String(line)) }, nowMs: () => clock.nowMs });
  return { clock, lines, log };
}

test('a bucket that cannot be decided is logged with its escaped key', () => {
  const { lines, log } = open();
  log.undecided(new BucketError('no bucket', ['1{d}tb1|k=\n', `1{d}tb1|k=${'v'.repeat(1_000)}`]));
  log.undecided(new BucketError('no bucket', ['1{d}tb1|k=other']));
  expect(lines).toEqual([
    `Redis cannot decide on "1{d}tb1|k=\\n" or "1{d}tb1|k=${'v'.repeat(290)}…": no bucket. The failure mode of the limit decides instead.`,
  ]);
});

test('lost hits are logged with their total since the start, by cause', () => {
  const { clock, lines, log } = open();
  log.hitsLost(3, 'answer');
  log.hitsLost(0, 'room');
  for (let i = 0; i < 100; i += 1) log.hitsLost(2, 'room');
  clock.nowMs = 60_000;
  log.hitsLost(2, 'room');
  log.hitsLost(5, 'bucket');
  expect(lines).toEqual([
    '3 hits admitted without Redis since the start may never be counted there: its reply to their charge was lost.',
    '2 hits admitted without Redis since the start may never be counted there: too many buckets were in use during the outage.',
    '202 hits admitted without Redis since the start may never be counted there: too many buckets were in use during the outage. (99 similar messages suppressed)',
    '5 hits admitted without Redis since the start may never be counted there: their keys hold other data, or its clock is in another calendar window.',
  ]);
});
