/** The newest error of Redis is remembered with its time and store. */

import { LastStoreError } from '../../../src/server/observability/last-store-error';

test('the newest error is remembered with its time and store, and every error is still counted', () => {
  let nowMs = 1_000;
  const counted: string[] = [];
  const last = new LastStoreError(() => nowMs);
  const measureOf = (store: string) =>
    last.remembering(store, {
      onCall: () => undefined,
      onError: (reason) => counted.push(reason),
    });
  const [main, second] = [measureOf('redis'), measureOf('redis_per_second')];
  expect(last.facts).toBeUndefined();
  main.onError('timeout');
  nowMs = 2_000;
  main.onError('breaker');
  expect(last.facts).toEqual({ store: 'redis', reason: 'timeout', atMs: 1_000 });
  second.onError('connection');
  expect(last.facts).toEqual({ store: 'redis_per_second', reason: 'connection', atMs: 2_000 });
  expect(counted).toEqual(['timeout', 'breaker', 'connection']);
});
