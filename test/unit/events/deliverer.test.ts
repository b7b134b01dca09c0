/** Events are tried again with growing waits until they are too old. */

import { Deliverer, type Delivery } from '../../../src/state/events/deliverer';
import { MemoryOutbox } from '../../../src/state/events/memory-outbox';
import type { Outbox } from '../../../src/state/events/outbox';

const TEXT = JSON.stringify({ type: 'weir.limit.threshold', subject: 'd.k', time: '2026-01-01T00:00:00.000Z', data: { used: 8 } });

function delivering({ retryForMs = 3_600_000, wrap = (outbox: Outbox) => outbox } = {}) {
  let nowMs = 1_000_000;
  const outbox = new MemoryOutbox({ nowMs: () => nowMs });
  const sent: { readonly atMs: number; readonly id: string; readonly body: string }[] = [];
  const deliveries: Delivery[] = [];
  const errors: unknown[] = [];
  let answer: string | undefined;
  const deliverer = new Deliverer({
    outbox: wrap(outbox),
    send: (event) => {
      sent.push({ ...event, atMs: nowMs });
      return Promise.resolve(answer);
    },
    timeoutMs: 5_000,
    retryForMs,
    source: 'weir/test',
    random: () => 0,
    onDelivery: (delivery) => deliveries.push(delivery),
    onFacts: () => undefined,
    onGone: () => undefined,
    onError: (error) => errors.push(error),
  });
  return {
    outbox,
    deliverer,
    sent,
    deliveries,
    errors,
    answerWith: (reason: string | undefined) => {
      answer = reason;
    },
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

test('an event is sent as a CloudEvent, once', async () => {
  const { outbox, deliverer, sent, deliveries } = delivering();
  await outbox.add([{ key: 'a', id: 'threshold.a', text: TEXT }]);
  await deliverer.step();
  await deliverer.step();
  expect(deliveries).toEqual(['delivered']);
  expect(sent.map(({ id }) => id)).toEqual(['threshold.a']);
  expect(JSON.parse(sent[0]!.body)).toEqual({
    specversion: '1.0',
    id: 'threshold.a',
    source: 'weir/test',
    type: 'weir.limit.threshold',
    subject: 'd.k',
    time: '2026-01-01T00:00:00.000Z',
    datacontenttype: 'application/json',
    data: { used: 8 },
  });
});

test('the waits between tries double up to a bound, and an event that is too old is given up', async () => {
  const { outbox, deliverer, sent, deliveries, answerWith, pass } = delivering();
  answerWith('the answer is 500');
  await outbox.add([{ key: 'a', id: 'a', text: TEXT }]);
  for (let second = 0; second < 2 * 3_600; second += 1) {
    await deliverer.step();
    pass(1_000);
  }
  const waits = sent.slice(1).map(({ atMs }, i) => (atMs - sent[i]!.atMs) / 1_000);
  // Half of each wait, as `random` says, in steps of a second.
  expect(waits.slice(0, 11)).toEqual([1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
  expect(Math.max(...waits)).toBe(300);
  expect(deliveries.at(-1)).toBe('undelivered');
  expect(deliveries.filter((each) => each === 'undelivered')).toHaveLength(1);
  expect(await outbox.read()).toMatchObject({ events: 0, undeliveredCount: 1, deliveredCount: 0 });
  expect(sent.at(-1)!.atMs - sent[0]!.atMs).toBeLessThanOrEqual(3_600_000);
});

test('a receiver that takes nothing is asked less often, until it takes one', async () => {
  const { outbox, deliverer, answerWith, pass } = delivering();
  await outbox.add(Array.from({ length: 100 }, (_, i) => ({ key: `${i}`, id: `${i}`, text: TEXT })));
  answerWith('no');
  const waits: number[] = [];
  for (let round = 0; round < 8; round += 1) {
    waits.push(await deliverer.step());
    pass(waits.at(-1)!);
  }
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  answerWith(undefined);
  expect(await deliverer.step()).toBe(0);
});

test('an acknowledgement that the store did not get is repeated, or the event comes again with its id', async () => {
  let isAway = true;
  const { outbox, deliverer, sent, errors, pass } = delivering({
    wrap: (inner) => ({
      add: (marks) => inner.add(marks),
      claim: (input) => inner.claim(input),
      settle: (settlements) => (isAway ? Promise.reject(new Error('away')) : inner.settle(settlements)),
      read: () => inner.read(),
    }),
  });
  await outbox.add([{ key: 'a', id: 'a', text: TEXT }]);
  await deliverer.step();
  expect([sent.length, errors.length]).toEqual([1, 1]);
  // The store is back before the claim ends.
  isAway = false;
  pass(1_000);
  await deliverer.step();
  expect(await outbox.read()).toMatchObject({ events: 0, deliveredCount: 1 });
  expect(sent).toHaveLength(1);
});

test('an event whose text cannot be read does not stop the others', async () => {
  const { outbox, deliverer, sent, deliveries } = delivering();
  await outbox.add([
    { key: 'a', id: 'a', text: 'no JSON' },
    { key: 'b', id: 'b', text: TEXT },
  ]);
  await deliverer.step();
  expect(sent.map(({ id }) => id)).toEqual(['b']);
  expect(deliveries.sort()).toEqual(['delivered', 'failed']);
});
