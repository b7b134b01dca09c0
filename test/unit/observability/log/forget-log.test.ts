/** A full embedded store logs each kind of forgotten bucket at most once a minute. */

import { ForgetLog } from '../../../../src/server/observability/log/forget-log';
import { THROTTLE_MS } from '../../../../src/server/observability/log/throttled-log';

test('each kind is logged at most once a minute, with the number since the start', () => {
  const clock = { nowMs: 0 };
  const lines: string[] = [];
  const log = new ForgetLog({
    log: {
      warn: (_fields: unknown, line?: string) => {
        lines.push(line ?? '');
      },
    },
    bucketsMax: 7,
    nowMs: () => clock.nowMs,
  });
  const store = { evictions: 0, usedUpEvictions: 0 };
  const forget = (usedUp: boolean): void => {
    store.evictions += 1;
    if (usedUp) store.usedUpEvictions += 1;
    log.forgotten({ usedUp }, store);
  };
  for (let i = 0; i < 1_000; i += 1) forget(false);
  expect(lines).toEqual([
    'the memory store is full: since the start it evicted 1 partly used buckets, each of which admits its used hits again; raise MEMORY_BUCKETS_MAX (7), or count in Redis',
  ]);
  forget(true);
  clock.nowMs += THROTTLE_MS;
  forget(true);
  forget(false);
  expect(lines.slice(1)).toEqual([
    'the memory store is full: since the start it evicted 1 used-up limits, each of which admits its whole limit again; raise MEMORY_BUCKETS_MAX (7), or count in Redis',
    'the memory store is full: since the start it evicted 2 used-up limits, each of which admits its whole limit again; raise MEMORY_BUCKETS_MAX (7), or count in Redis',
    'the memory store is full: since the start it evicted 1001 partly used buckets, each of which admits its used hits again; raise MEMORY_BUCKETS_MAX (7), or count in Redis (999 similar messages suppressed)',
  ]);
});
