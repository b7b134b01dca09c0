/** The queue of marks is bounded, keeps what the store did not take, and counts each loss. */

import { MarkQueue, QUEUE_BYTES_MAX, QUEUE_MARKS_MAX, type QueueOutcome } from '../../../src/state/events/mark-queue';
import { MemoryOutbox } from '../../../src/state/events/memory-outbox';
import { EVENT_BYTES_MAX, MARKS_MAX, type Mark, type MarkResult, type Outbox } from '../../../src/state/events/outbox';

const mark = (key: string, text = '{}'): Mark => ({ key, id: key, text });

function queueOn(outbox: Pick<Outbox, 'add'>) {
  const outcomes: QueueOutcome[] = [];
  const errors: unknown[] = [];
  const queue = new MarkQueue({
    outbox,
    onOutcome: (outcome) => outcomes.push(outcome),
    onFacts: () => undefined,
    onError: (error) => errors.push(error),
  });
  const count = (outcome: QueueOutcome) => outcomes.filter((each) => each === outcome).length;
  return { queue, count, errors };
}

test('a full queue refuses marks and counts them, and takes a known one without a place', () => {
  const { queue, count } = queueOn(new MemoryOutbox({ nowMs: () => 0 }));
  for (let i = 0; i < QUEUE_MARKS_MAX; i += 1) expect(queue.add(mark(`${i}`))).toBe(true);
  expect(queue.add(mark('0'))).toBe(true);
  expect(queue.add(mark('more'))).toBe(false);
  expect([queue.size, count('queued'), count('queue_full')]).toEqual([QUEUE_MARKS_MAX, QUEUE_MARKS_MAX, 1]);
});

test('the bytes of the queue are bounded', () => {
  const { queue, count } = queueOn(new MemoryOutbox({ nowMs: () => 0 }));
  const text = 'é'.repeat(EVENT_BYTES_MAX / 2);
  let added = 0;
  while (queue.add(mark(`${added}`, text))) added += 1;
  expect(added * EVENT_BYTES_MAX).toBeLessThanOrEqual(QUEUE_BYTES_MAX);
  expect((added + 2) * EVENT_BYTES_MAX).toBeGreaterThan(QUEUE_BYTES_MAX);
  expect(count('queue_full')).toBe(1);
});

test('marks stay while the store is away, and each is sent once it is back', async () => {
  const outbox = new MemoryOutbox({ nowMs: () => 0 });
  let isAway = true;
  const { queue, count, errors } = queueOn({
    add: (marks) => (isAway ? Promise.reject(new Error('away')) : outbox.add(marks)),
  });
  for (let i = 0; i < MARKS_MAX + 5; i += 1) queue.add(mark(`${i}`));
  expect(await queue.flush()).toBe(false);
  expect([queue.size, errors.length]).toEqual([MARKS_MAX + 5, 1]);
  isAway = false;
  await queue.stop();
  expect([queue.size, count('added')]).toEqual([0, MARKS_MAX + 5]);
});

test('a mark whose event found the outbox full leaves the queue, and may be tried again', async () => {
  const outbox = new MemoryOutbox({ nowMs: () => 0, eventsMax: 1 });
  const { queue, count } = queueOn(outbox);
  const results: (MarkResult | undefined)[] = [];
  for (const key of ['a', 'b']) queue.add(mark(key), (result) => results.push(result));
  expect(await queue.flush()).toBe(false);
  expect(results).toMatchObject([{ outcome: 'added' }, undefined]);
  expect([queue.size, count('full')]).toEqual([0, 1]);
  const [claimed] = (await outbox.claim({ max: 1, leaseMs: 1 })).claimed;
  await outbox.settle([{ number: claimed!.number, ending: 'delivered', waitMs: 0 }]);
  queue.add(mark('b'));
  expect(await queue.flush()).toBe(true);
  expect(count('added')).toBe(2);
});
