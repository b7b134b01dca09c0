/** A bucket that passes an event line queues one mark for the line and window. */

import { anyValueEntry } from '../../../src/domain/bucket/bucket-key';
import { reservedLimit, type Limit } from '../../../src/domain/rule/limit';
import { eventSpan } from '../../../src/domain/rule/soft/event-line';
import type { Marked } from '../../../src/state/events/mark-queue';
import { EVENT_BYTES_MAX, type Mark } from '../../../src/state/events/outbox';
import { GRACE_MS, SEEN_MAX, ThresholdWatch } from '../../../src/state/events/threshold-watch';
import { limitOf, ruleOf } from '../../support/decisions/rules';
import { CLEAR, decidedOf, limitWith } from '../../support/events/watched';

const HOUR_US = 3_600_000_000;
const START_US = 500_000 * HOUR_US;

interface Queued {
  readonly mark: Mark;
  readonly marked: Marked;
}

function watching({ accepts = () => true }: { readonly accepts?: () => boolean } = {}) {
  const queued: Queued[] = [];
  const queue = {
    add: (mark: Mark, marked: Marked) => {
      if (accepts()) queued.push({ mark, marked });
      return accepts();
    },
  };
  const watch = new ThresholdWatch({ queue, privacy: CLEAR });
  const lines = () => queued.splice(0).map(({ mark }) => dataOf(mark).at_percent);
  return { watch, queued, lines };
}

interface Data {
  readonly at_percent: number;
  readonly used: number;
  readonly window_end?: string;
  readonly descriptor?: unknown;
}

const dataOf = ({ text }: Mark) => (JSON.parse(text) as { readonly data: Data }).data;

test.each([
  { percents: [80], capacity: 3, used: [0, 1, 2], lines: [] },
  { percents: [80], capacity: 3, used: [2, 3], lines: [80] },
  { percents: [50, 80, 100], capacity: 10, used: [4, 5, 6, 7, 8, 9, 10, 11], lines: [50, 80, 100] },
  // One jump over two lines, a refund, and the same lines again.
  { percents: [50, 80, 100], capacity: 10, used: [9, 2, 9, 10], lines: [50, 80, 100] },
  { percents: [100], capacity: 1, used: [1, 1, 2], lines: [100] },
  { percents: [0.0001], capacity: 2 ** 53 - 1, used: [9_007_199_254, 9_007_199_255], lines: [0.0001] },
  { percents: [50], capacity: 2 ** 53 - 1, used: [2 ** 52 - 1, 2 ** 52], lines: [50] },
  // A limit of 0 is always used up.
  { percents: [50], capacity: 0, used: [0, 1], lines: [] },
])('lines at $percents % of $capacity hits, with $used used, have the events $lines', ({ percents, capacity, used, lines }) => {
  const { watch, lines: seen } = watching();
  const limit = limitWith(percents, { requestsPerUnit: capacity });
  used.forEach((hits, i) => {
    watch.record(decidedOf({ limit, used: hits, nowUs: START_US + i }));
  });
  expect(seen()).toEqual(lines);
});

test('the next window has its events again, and each names its window', () => {
  const { watch, queued } = watching();
  const limit = limitWith([80]);
  for (const nowUs of [START_US, START_US + HOUR_US - 1, START_US + HOUR_US, START_US + 2 * HOUR_US - 1])
    watch.record(decidedOf({ limit, used: 90, nowUs }));
  const ends = [START_US + HOUR_US, START_US + 2 * HOUR_US].map((endUs) => endUs / 1_000);
  expect(queued.map(({ mark }) => mark.lateAfterMs)).toEqual(ends.map((end) => end + GRACE_MS));
  expect(queued.map(({ mark }) => dataOf(mark).window_end)).toEqual(ends.map((end) => new Date(end).toISOString()));
  expect(new Set(queued.map(({ mark }) => mark.key)).size).toBe(2);
  // Another process names the mark of a window in the same way, also at another time in it.
  const other = watching();
  other.watch.record(decidedOf({ limit, used: 85, nowUs: START_US + 12_345 }));
  expect(other.queued[0]?.mark).toMatchObject({ key: queued[0]?.mark.key, id: queued[0]?.mark.id });
});

test('a clock of another part of a split request that is a little off names the same window', () => {
  const limit = limitWith([80]);
  for (const skewUs of [-900_000, 0, 900_000])
    expect(eventSpan(limit, { nowUs: START_US + skewUs, resetAfterUs: HOUR_US })).toEqual({ endUs: START_US + HOUR_US });
});

test.each([
  ['a token bucket', { algorithm: 'token_bucket', burst: 300 }, 3 * HOUR_US],
  ['a leaky bucket', { algorithm: 'leaky_bucket', burst: 49 }, HOUR_US / 2],
  ['a sliding window log', { algorithm: 'sliding_window_log' }, HOUR_US],
  ['a sliding window counter', { algorithm: 'sliding_window_counter' }, HOUR_US],
] as const)('%s has one event in each period, from the event on', (_name, spec, periodUs) => {
  const { watch, queued, lines } = watching();
  const limit = limitWith([80], spec);
  expect(eventSpan(limit, { nowUs: START_US, resetAfterUs: 1 })).toEqual({ periodUs });
  const at = (nowUs: number) => {
    watch.record(decidedOf({ limit, used: limit.capacity, nowUs, resetAfterUs: 5 }));
  };
  at(START_US);
  at(START_US + 10 * HOUR_US);
  expect(queued).toHaveLength(1);
  // The store says until when the mark stays.
  queued[0]?.marked({ outcome: 'known', endsMs: (START_US + 20 * HOUR_US) / 1_000 });
  at(START_US + 20 * HOUR_US - 1);
  expect(lines()).toEqual([80]);
  at(START_US + 20 * HOUR_US);
  expect(lines()).toEqual([80]);
});

test('a budget in total has each event once for all, and says in which unit people read it', () => {
  const { watch, queued } = watching();
  const limit = limitWith([80], { unit: 'total', algorithm: 'budget', show: { unit: 'USD', divide: 1_000_000 } });
  for (const nowUs of [START_US, START_US + 100 * HOUR_US])
    watch.record(decidedOf({ limit, used: 90, nowUs, resetAfterUs: 3_153_600_000_000_000 }));
  expect(queued).toHaveLength(1);
  expect(queued[0]?.mark.staysMs).toBeUndefined();
  expect(dataOf(queued[0]!.mark)).toMatchObject({ used: 90, limit: { unit: 'total', show: { unit: 'USD', divide: 1_000_000 } } });
});

test('lines are parts of the whole limit, whatever the class of a reserve may use', () => {
  const { watch, queued, lines } = watching();
  const whole = limitWith([60, 80, 100]);
  const limit = reservedLimit(whole, 300_000);
  watch.record(decidedOf({ limit, used: 70, nowUs: START_US }));
  expect(dataOf(queued[0]!.mark)).toMatchObject({ used: 70, remaining: 30, limit: { capacity: 100 } });
  expect(lines()).toEqual([60]);
});

test('a limit that never refills has each event once for all', () => {
  const { watch, queued } = watching();
  const limit: Limit = { ...limitWith([80], { algorithm: 'token_bucket' }), requestsPerUnit: 0 };
  expect(eventSpan(limit, { nowUs: START_US, resetAfterUs: 0 })).toBe('once');
  watch.record(decidedOf({ limit, used: 90, nowUs: START_US, resetAfterUs: 0 }));
  expect(queued[0]?.mark).not.toHaveProperty('lateAfterMs');
  expect(queued[0]?.mark).not.toHaveProperty('staysMs');
});

test('a mark that found no room is tried again at the next verdict', () => {
  let isFull = true;
  const { watch, queued, lines } = watching({ accepts: () => !isFull });
  const limit = limitWith([80]);
  const again = () => {
    watch.record(decidedOf({ limit, used: 90, nowUs: START_US }));
  };
  again();
  isFull = false;
  again();
  expect(queued).toHaveLength(1);
  // The outbox was full.
  queued[0]?.marked(undefined);
  again();
  expect(lines()).toEqual([80, 80]);
});

test('a mark of a bucket that refills is tried again if it came too late; one of a window is not', () => {
  for (const [spec, tries] of [
    [{ algorithm: 'token_bucket' }, 2],
    [{ algorithm: 'fixed_window' }, 1],
  ] as const) {
    const { watch, queued } = watching();
    const limit = limitWith([80], spec);
    const again = () => {
      watch.record(decidedOf({ limit, used: 90, nowUs: START_US }));
    };
    again();
    queued[0]?.marked({ outcome: 'late', endsMs: (START_US + HOUR_US) / 1_000 });
    again();
    expect(queued).toHaveLength(tries);
  }
});

test.each([
  ['a decision without the store', { fallback: true }],
  ['a cached denial', { cached: true }],
])('%s has no event', (_what, more) => {
  const { watch, queued } = watching();
  watch.record(decidedOf({ limit: limitWith([50]), used: 100, nowUs: START_US, more }));
  expect(queued).toEqual([]);
});

test('buckets have events of their own, and remembering them is bounded', () => {
  const { watch, queued } = watching();
  const limit = limitWith([80]);
  const at = (i: number) => {
    watch.record(decidedOf({ limit, used: 90, nowUs: START_US, entries: [{ key: 'k', value: `v${i}` }] }));
  };
  for (let i = 0; i < SEEN_MAX + 10; i += 1) at(i);
  expect(queued).toHaveLength(SEEN_MAX + 10);
  expect(watch.size).toBe(SEEN_MAX);
  at(SEEN_MAX);
  expect(queued).toHaveLength(SEEN_MAX + 10);
  // A forgotten bucket tries its mark once more, which the store knows.
  at(0);
  expect(queued.at(-1)?.mark.key).toBe(queued[0]?.mark.key);
});

test('values that share a bucket have one event, which names none of them', () => {
  const { watch, queued } = watching();
  const limit = limitWith([80]);
  const rule = ruleOf({ limits: [limit], shareThreshold: [anyValueEntry('k')] });
  for (const value of ['a', 'b']) {
    const decided = decidedOf({ limit, used: 90, nowUs: START_US, entries: [{ key: 'k', value }] });
    const matches = decided.matched.matches.map((match) => ({ ...match, rule }));
    watch.record({ ...decided, matched: { ...decided.matched, matches } });
  }
  expect(queued.map(({ mark }) => dataOf(mark).descriptor)).toEqual([[{ key: 'k' }]]);
});

test('an event is bounded, whatever the request says', () => {
  const { watch, queued } = watching();
  const entries = Array.from({ length: 300 }, (_, i) => ({ key: `k${i}`, value: '\u0001'.repeat(60_000) }));
  watch.record(decidedOf({ limit: limitWith([80]), used: 90, nowUs: START_US, entries }));
  expect(Buffer.byteLength(queued[0]!.mark.text)).toBeLessThanOrEqual(EVENT_BYTES_MAX);
  expect(dataOf(queued[0]!.mark)).toMatchObject({ shortened: true, used: 90 });
});

test('limits without lines cost no mark', () => {
  const { watch, queued } = watching();
  watch.record(decidedOf({ limit: limitOf(), used: 10, nowUs: START_US }));
  expect(queued).toEqual([]);
  expect(watch.size).toBe(0);
});
