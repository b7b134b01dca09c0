/** The deny cache answers as the store does, and a flood on an exhausted key calls the store once a second. */

import fc from 'fast-check';
import { ALGORITHMS } from '../../../src/domain/algorithm/algorithms';
import { NEVER } from '../../../src/domain/algorithm/engine';
import type { BucketLimit, Group, Take } from '../../../src/domain/bucket/take';
import { LIMITS_MAX } from '../../../src/configuration/compile/fields/descriptor';
import { DESCRIPTORS_MAX } from '../../../src/domain/descriptor/descriptor-bounds';
import { DenyCacheStore } from '../../../src/state/resilience/deny-cache';
import { UsageSnapshot } from '../../../src/state/resilience/usage-snapshot';
import { WINDOW_US_MAX } from '../../../src/domain/descriptor/unit';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import type { GroupOutcome } from '../../../src/state/store/port/store';
import { casesOf } from '../../support/random/form';
import { groupOf, LIMITS, adjustment, take, TEN_PER_SECOND, THREE_PER_MINUTE } from '../../support/decisions/groups';
import { decided } from '../../support/decisions/outcomes';
import { seeded } from '../../support/random/random';
import { schedules, type ScheduleStep } from '../../support/random/schedules';
import { SwitchedStore } from '../../support/redis/switched-store';

const START_US = 1_800_000_000_000_000;
const RUNS = 1_000;
const TWO_PER_SECOND: BucketLimit = { ...TEN_PER_SECOND, requestsPerUnit: 2, capacity: 2 };
const TEN_PER_HOUR: BucketLimit = { ...TEN_PER_SECOND, windowUs: 3_600_000_000 };

function open({ bucketsMax = 100 } = {}) {
  const clock = { nowMs: 0 };
  const inner = new SwitchedStore(new MemoryStore({ nowUs: () => START_US + Math.round(clock.nowMs * 1_000), bucketsMax: 10_000 }));
  const nowMs = () => clock.nowMs;
  const lastKnown = new UsageSnapshot({ nowMs, bucketsMax: 100 });
  const denied = { here: 0 };
  const cache = new DenyCacheStore(inner, { nowMs, bucketsMax, lastKnown, onDenied: () => (denied.here += 1) });
  const decide = async (group: Group) => decided((await cache.take([group]))[0]);
  /** Answers, and says whether the store was asked for it. */
  const ask = async (group: Group) => {
    const before = inner.asked.take;
    const verdict = await decide(group);
    return { verdict, asked: inner.asked.take > before };
  };
  const one = (key: string, parts: Partial<Take> = {}) => ask(groupOf([take(key, parts)]));
  /** Uses the bucket up and has a hit denied. */
  const exhaust = async (key: string, limit = TEN_PER_SECOND) => {
    await one(key, { limit, hits: limit.capacity });
    expect((await one(key, { limit })).verdict.overLimit).toBe(true);
  };
  return { cache, inner, clock, lastKnown, denied, ask, one, exhaust };
}

test('a denied take is denied again without the store, with the remaining time', async () => {
  const { clock, denied, one, exhaust } = open();
  await exhaust('a');
  clock.nowMs = 60;
  const { verdict, asked } = await one('a');
  expect(asked).toBe(false);
  expect(verdict).toEqual({
    overLimit: true,
    cached: true,
    nowUs: START_US + 60_000,
    verdicts: [{ fits: false, remaining: 0, retryAfterUs: 40_000, resetAfterUs: 940_000, denies: true }],
  });
  expect(denied.here).toBe(1);
});

test('a denial lasts until these hits would fit again', async () => {
  const { clock, one, exhaust } = open();
  await exhaust('a');
  clock.nowMs = 99.999;
  expect((await one('a')).asked).toBe(false);
  clock.nowMs = 100;
  const { verdict, asked } = await one('a');
  expect([asked, verdict.overLimit]).toEqual([true, false]);
});

test('a denial lasts to the microsecond, though 6000.002 ms plus 0.001 is more than 6000.003', async () => {
  const { clock, one, exhaust } = open();
  clock.nowMs = 6000.002;
  await exhaust('a', { ...TEN_PER_SECOND, requestsPerUnit: 1_000_000 });
  clock.nowMs = 6000.003;
  const { verdict, asked } = await one('a', { limit: { ...TEN_PER_SECOND, requestsPerUnit: 1_000_000 } });
  expect([asked, verdict.overLimit]).toEqual([true, false]);
});

test('a denial lasts a second at most, however long the hits do not fit', async () => {
  const { clock, one, exhaust } = open();
  await exhaust('a', TEN_PER_HOUR);
  expect((await one('b', { hits: 11 })).verdict.verdicts[0]!.retryAfterUs).toBe(NEVER);
  clock.nowMs = 999;
  expect((await one('a', { limit: TEN_PER_HOUR })).asked).toBe(false);
  const never = await one('b', { hits: 11 });
  expect(never).toMatchObject({
    asked: false,
    verdict: { verdicts: [{ fits: false, remaining: 10, retryAfterUs: NEVER, resetAfterUs: 0 }] },
  });
  clock.nowMs = 1_000;
  expect((await one('a', { limit: TEN_PER_HOUR })).asked).toBe(true);
  expect((await one('b', { hits: 11 })).asked).toBe(true);
});

test.each([0, 3])(
  'hits that never fit a fixed window of %d a second are denied to its end, and then the store is called',
  async (capacity) => {
    const limit: BucketLimit = { algorithm: 'fixed_window', windowUs: 1_000_000, requestsPerUnit: capacity, capacity };
    const { clock, one } = open();
    clock.nowMs = 400;
    if (capacity > 0) await one('a', { limit, hits: 1 });
    expect((await one('a', { limit, hits: 4 })).verdict.verdicts).toEqual([
      { fits: false, remaining: Math.max(0, capacity - 1), retryAfterUs: NEVER, resetAfterUs: 600_000, denies: true },
    ]);
    clock.nowMs = 999.999;
    expect(await one('a', { limit, hits: 4 })).toMatchObject({ asked: false, verdict: { verdicts: [{ resetAfterUs: 1 }] } });
    clock.nowMs = 1_000;
    expect(await one('a', { limit, hits: 4 })).toMatchObject({
      asked: true,
      verdict: { overLimit: true, verdicts: [{ fits: false, remaining: capacity, retryAfterUs: NEVER, resetAfterUs: 1_000_000 }] },
    });
  },
);

test('a denial covers as many hits, or more, and no fewer', async () => {
  const { one } = open();
  await one('a', { hits: 8 });
  await one('a', { hits: 4 });
  expect(await one('a', { hits: 4 })).toMatchObject({ asked: false, verdict: { verdicts: [{ remaining: 2 }] } });
  expect((await one('a', { hits: 9 })).asked).toBe(false);
  expect(await one('a', { hits: 2 })).toMatchObject({ asked: true, verdict: { overLimit: false } });
});

test.each(ALGORITHMS)('more hits than were denied show their own wait (%s)', async (algorithm) => {
  const limit: BucketLimit = { ...LIMITS[algorithm], windowUs: 7_000_000 };
  const { inner, clock, one, exhaust } = open();
  await exhaust('a', limit);
  clock.nowMs = 50.5;
  for (let hits = 2; hits <= limit.capacity + 2; hits += 1) {
    const { verdict, asked } = await one('a', { limit, hits });
    expect(asked).toBe(false);
    const [shown, own] = [verdict, decided((await inner.take([groupOf([take('a', { limit, hits })])]))[0])].map(
      ({ verdicts }) => verdicts[0]!.retryAfterUs,
    );
    if (own === NEVER || algorithm === 'fixed_window') expect([hits, shown]).toEqual([hits, own]);
    // Of a bucket that drains it is rounded up twice; of a log and a counter it is that of the hits that were denied.
    else expect(shown).toBeLessThanOrEqual(own! + 1);
    if (algorithm === 'token_bucket' || algorithm === 'leaky_bucket') expect(shown).toBeGreaterThanOrEqual(own!);
  }
});

test('a denied check denies checks and hits until one hit is left', async () => {
  const { clock, one } = open();
  await one('a', { hits: 10 });
  expect((await one('a', { hits: 0 })).verdict.overLimit).toBe(true);
  clock.nowMs = 99;
  for (const hits of [0, 1, 7]) expect(await one('a', { hits })).toMatchObject({ asked: false, verdict: { overLimit: true } });
  clock.nowMs = 100;
  expect(await one('a', { hits: 0 })).toMatchObject({ asked: true, verdict: { overLimit: false } });
});

test('a denial of several hits denies no check', async () => {
  const { one } = open();
  await one('a', { hits: 8 });
  expect((await one('a', { hits: 4 })).verdict.overLimit).toBe(true);
  expect(await one('a', { hits: 0 })).toMatchObject({ asked: true, verdict: { overLimit: false } });
});

test('a bucket in debt is denied without the store until one hit is left', async () => {
  const { clock, one } = open();
  const report = await one('a', { hits: 14, overdraftMax: 10 });
  expect(report.verdict.verdicts).toEqual([
    { fits: false, remaining: 0, debt: 4, retryAfterUs: 500_000, resetAfterUs: 1_400_000, denies: true },
  ]);
  clock.nowMs = 499;
  for (const hits of [0, 1, 7]) expect(await one('a', { hits })).toMatchObject({ asked: false, verdict: { overLimit: true } });
  clock.nowMs = 500;
  expect(await one('a', { hits: 0 })).toMatchObject({ asked: true, verdict: { overLimit: false } });
});

test('a usage report is charged beside a take with a cached denial', async () => {
  const { ask, exhaust, one } = open();
  await exhaust('a', TEN_PER_HOUR);
  const group = groupOf([take('a', { limit: TEN_PER_HOUR }), take('tokens', { hits: 7, limit: TEN_PER_HOUR, overdraftMax: 10 })]);
  expect(await ask(group)).toMatchObject({
    asked: true,
    verdict: { overLimit: true, verdicts: [{ fits: false }, { fits: true, remaining: 3 }] },
  });
  expect((await one('tokens', { hits: 4, limit: TEN_PER_HOUR })).verdict.overLimit).toBe(true);
});

test('the hits of a group on a bucket are summed', async () => {
  const { ask, one } = open();
  const six = take('a', { hits: 6 });
  expect((await ask(groupOf([six, six]))).verdict.overLimit).toBe(true);
  expect((await ask(groupOf([six, six]))).asked).toBe(false);
  expect((await one('a', { hits: 12 })).asked).toBe(false);
  expect(await ask(groupOf([six]))).toMatchObject({ asked: true, verdict: { overLimit: false } });
});

test('the other takes of such a group show that they fit, with their last known remaining hits', async () => {
  const { ask, clock, exhaust, lastKnown, one } = open();
  await one('b', { hits: 3, limit: THREE_PER_MINUTE });
  const { verdict } = await one('b', { limit: THREE_PER_MINUTE, mode: 'shadow' });
  expect(verdict.verdicts[0]!.fits).toBe(false);
  await one('c', { hits: 3 });
  lastKnown.record('c', TEN_PER_SECOND, { fits: true, remaining: 7, retryAfterUs: 0, resetAfterUs: 300_000 });
  await exhaust('a');
  clock.nowMs = 50;
  const group = groupOf([take('c'), take('b', { limit: THREE_PER_MINUTE, mode: 'shadow' }), take('a'), take('d', { hits: -1 })]);
  const answered = await ask(group);
  expect(answered.asked).toBe(false);
  expect(answered.verdict.verdicts.map(({ fits, remaining, resetAfterUs }) => [fits, remaining, resetAfterUs])).toEqual([
    [true, 7, 250_000],
    [true, 3, 59_950_000],
    [false, 0, 950_000],
    [true, 10, 0],
  ]);
});

test.each(ALGORITHMS)('hits that can never fit show so beside a cached denial, as in the store (%s)', async (algorithm) => {
  const { ask, exhaust, inner } = open();
  await exhaust('a', TEN_PER_HOUR);
  const limit = LIMITS[algorithm];
  const none: BucketLimit = { ...limit, requestsPerUnit: 0, capacity: 0 };
  const tooMany = [
    take('b', { limit: none }),
    take('c', { limit: none, mode: 'shadow' }),
    take('d', { limit, hits: limit.capacity + 1 }),
    take('e', { limit, hits: limit.capacity }),
    take('e', { limit, hits: 1 }),
    take('f', { limit: none, hits: 0 }),
  ];
  const [stored] = await inner.take([groupOf(tooMany)]);
  const { asked, verdict } = await ask(groupOf([take('a', { limit: TEN_PER_HOUR }), ...tooMany]));
  expect(decided(stored).verdicts.map(({ fits }) => fits)).toEqual([false, false, false, false, false, false]);
  expect([asked, verdict.verdicts.slice(1)]).toEqual([false, decided(stored).verdicts]);
});

test('a window beside a cached denial ends when it ends in the store, used or not', async () => {
  const calendar: BucketLimit = {
    ...THREE_PER_MINUTE,
    windowUs: 86_400_000_000,
    edgesUs: [START_US - 1_000_000, START_US + 2_000_000, START_US + 9_000_000],
  };
  const passed: BucketLimit = { ...calendar, edgesUs: [START_US - 9_000_000, START_US] };
  const ahead: BucketLimit = { ...calendar, edgesUs: [START_US + 2_000_000, START_US + 9_000_000] };
  const { ask, clock, exhaust, inner, one } = open();
  await exhaust('a', TEN_PER_HOUR);
  await one('used', { limit: THREE_PER_MINUTE });
  clock.nowMs = 250;
  const windows = [
    take('used', { limit: THREE_PER_MINUTE }),
    take('unused', { limit: THREE_PER_MINUTE }),
    take('calendar', { limit: calendar }),
  ];
  const { asked, verdict } = await ask(
    groupOf([take('a', { limit: TEN_PER_HOUR }), ...windows, take('passed', { limit: passed }), take('ahead', { limit: ahead })]),
  );
  const [stored] = await inner.take([groupOf(windows.map((each) => ({ ...each, hits: 0 })))]);
  const ends = [59_750_000, 59_750_000, 1_750_000];
  expect(decided(stored).verdicts.map(({ resetAfterUs }) => resetAfterUs)).toEqual(ends);
  expect([asked, verdict.verdicts.slice(1).map(({ resetAfterUs }) => resetAfterUs)]).toEqual([false, [...ends, 0, 0]]);
});

test('a take that is known to be full never again shows 100 years', async () => {
  const { ask, exhaust, lastKnown } = open();
  lastKnown.charge({ bucketKey: 'b', limit: TEN_PER_SECOND, hits: 1, resetAfterUs: Infinity });
  await exhaust('a');
  const { asked, verdict } = await ask(groupOf([take('a'), take('b')]));
  expect([asked, verdict.verdicts[1]!.resetAfterUs]).toEqual([false, WINDOW_US_MAX]);
});

describe('never cached', () => {
  test.each([
    ['a shadow take', groupOf([take('a', { mode: 'shadow' })])],
    ['a quota take', groupOf([take('a', { mode: 'quota' })])],
    ['a peek', groupOf([take('a', { hits: 0, peek: true })])],
    ['a refund of nothing that was used', groupOf([take('b', { hits: -1 })])],
    ['a dry group', groupOf([take('a')], { dry: true })],
    ['a group under SHADOW_MODE', groupOf([take('a')], { shadow: true })],
    ['a larger limit', groupOf([take('a', { limit: { ...TEN_PER_HOUR, capacity: 11, requestsPerUnit: 11 } })])],
  ])('the cache ignores %s', async (_what, group) => {
    const remembering = open();
    await remembering.exhaust('a', TEN_PER_HOUR);
    const { takes, ...flags } = group;
    const same = { ...flags, takes: takes.map((each) => (each.limit === TEN_PER_SECOND ? { ...each, limit: TEN_PER_HOUR } : each)) };
    expect((await remembering.ask(same)).asked).toBe(true);

    const asking = open();
    await asking.one('a', { hits: 10, limit: TEN_PER_HOUR });
    await asking.ask(same);
    await asking.ask(same);
    expect(asking.denied.here).toBe(0);
    expect((await asking.one('a', { limit: TEN_PER_HOUR })).asked).toBe(true);
  });

  test('a limit beside a smaller one on its bucket, which slows the refill, is not cached', async () => {
    const { ask, one } = open();
    await one('a', { hits: 10 });
    await ask(groupOf([take('a'), take('a', { limit: TWO_PER_SECOND, mode: 'shadow' })]));
    expect((await one('a')).asked).toBe(true);
  });

  test('the denial of a fallback is not cached', async () => {
    const { cache, inner } = open();
    inner.failing = { reason: 'connection' };
    await expect(cache.take([groupOf([take('a')])])).rejects.toThrow('no');
    inner.failing = undefined;
    const [outcome] = await cache.take([groupOf([take('a')])]);
    expect(decided(outcome).overLimit).toBe(false);
  });
});

describe('a denial is dropped at once', () => {
  test('after a refund', async () => {
    const { one, exhaust } = open();
    await exhaust('a', TEN_PER_HOUR);
    await one('a', { hits: -1, limit: TEN_PER_HOUR });
    expect(await one('a', { limit: TEN_PER_HOUR })).toMatchObject({ asked: true, verdict: { overLimit: false } });
  });

  test('after hits are given back, here or in a lower layer', async () => {
    const { cache, one, exhaust } = open();
    await exhaust('a', TEN_PER_HOUR);
    await cache.adjust([adjustment('a', { hits: -1, limit: TEN_PER_HOUR, takenAtUs: START_US })]);
    expect((await one('a', { limit: TEN_PER_HOUR })).asked).toBe(true);
    await exhaust('b', TEN_PER_HOUR);
    cache.forget([{ bucketKey: 'b' }]);
    expect((await one('b', { limit: TEN_PER_HOUR })).asked).toBe(true);
  });

  test('when the store may have lost its counts', async () => {
    const { cache, one, exhaust } = open();
    await exhaust('a', TEN_PER_HOUR);
    cache.clear();
    expect((await one('a', { limit: TEN_PER_HOUR })).asked).toBe(true);
  });

  test('by another limit on the bucket, which may refill it faster', async () => {
    const { one, exhaust } = open();
    await exhaust('a', TEN_PER_HOUR);
    await one('a', { limit: { ...TEN_PER_HOUR, requestsPerUnit: 1_000 } });
    expect((await one('a', { limit: TEN_PER_HOUR })).asked).toBe(true);
  });

  test('by another limit that was requested while the denial was under way', async () => {
    const { cache, clock, one } = open();
    await one('a', { hits: 10, limit: TEN_PER_HOUR });
    clock.nowMs = 500;
    const [denied, refilling] = await Promise.all(
      [TEN_PER_HOUR, TEN_PER_SECOND].map((limit) => cache.take([groupOf([take('a', { limit })])])),
    );
    expect([denied, refilling].map((outcomes) => decided(outcomes?.[0]).overLimit)).toEqual([true, false]);
    expect(await one('a', { limit: TEN_PER_HOUR })).toMatchObject({ asked: true, verdict: { overLimit: false } });
  });

  test.each<[string, (cache: DenyCacheStore) => unknown]>([
    ['a refund', (cache) => cache.take([groupOf([take('a', { hits: -1, limit: TEN_PER_HOUR })])])],
    [
      'hits given back below',
      (cache) => {
        cache.forget([{ bucketKey: 'a' }]);
      },
    ],
    [
      'a store that may have forgotten',
      (cache) => {
        cache.clear();
      },
    ],
  ])('a denial from before %s that arrives after it is not cached', async (_what, change) => {
    const { cache, inner, one } = open();
    await one('a', { hits: 10, limit: TEN_PER_HOUR });
    const takeOf = inner.take.bind(inner);
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    inner.take = async (groups) => {
      const outcomes = await takeOf(groups);
      await answered;
      return outcomes;
    };
    const late = cache.take([groupOf([take('a', { limit: TEN_PER_HOUR })])]);
    inner.take = takeOf;
    await change(cache);
    answer();
    expect(decided((await late)[0]).overLimit).toBe(true);
    expect((await one('a', { limit: TEN_PER_HOUR })).asked).toBe(true);
  });
});

test('only the unknown ones of several groups go to the store, and each gets its answer', async () => {
  const { cache, inner, exhaust } = open();
  await exhaust('a', TEN_PER_HOUR);
  const [known, other] = [groupOf([take('a', { limit: TEN_PER_HOUR })]), groupOf([take('b', { hits: 4 })])];
  const outcomes = await cache.take([known, other, known, other]);
  expect(outcomes.map((outcome) => decided(outcome).overLimit)).toEqual([true, false, true, false]);
  expect(outcomes.map((outcome) => decided(outcome).verdicts[0]!.remaining)).toEqual([0, 6, 0, 2]);
  expect(inner.asked.take).toBe(3);
});

test('each take of a request of maximum size is visited a few times, whatever the others are', async () => {
  const { cache } = open({ bucketsMax: 10_000 });
  const takes = DESCRIPTORS_MAX * LIMITS_MAX;
  let looks = 0;
  const counted = Array.from({ length: takes }, (_, i): Take => {
    const key = `bucket ${i}`;
    return {
      ...take(key, { limit: TEN_PER_HOUR }),
      get bucketKey() {
        looks += 1;
        return key;
      },
    };
  });
  await cache.take([groupOf(Array.from({ length: takes }, (_, i) => take(`bucket ${i}`, { limit: TEN_PER_HOUR, hits: 10 })))]);
  const group: Group = { takes: counted, shadow: false, quotaAlwaysFits: false };
  for (const cached of [undefined, true]) {
    looks = 0;
    expect(decided((await cache.take([group]))[0])).toMatchObject({ overLimit: true, ...(cached && { cached }) });
    expect(looks).toBeLessThan(20 * takes);
  }
});

test('beyond its bound the cache drops the oldest denial', async () => {
  const { one, exhaust } = open({ bucketsMax: 2 });
  for (const key of ['a', 'b', 'c']) await exhaust(key, TEN_PER_HOUR);
  expect((await one('b', { limit: TEN_PER_HOUR })).asked).toBe(false);
  expect((await one('c', { limit: TEN_PER_HOUR })).asked).toBe(false);
  expect((await one('a', { limit: TEN_PER_HOUR })).asked).toBe(true);
});

test('a flood on an exhausted key calls the store once a second', async () => {
  const { clock, inner, one, exhaust } = open();
  await exhaust('a', TEN_PER_HOUR);
  const before = inner.asked.take;
  for (let i = 1; i <= 10_000; i += 1) {
    clock.nowMs = i;
    expect((await one('a', { limit: TEN_PER_HOUR })).verdict.overLimit).toBe(true);
  }
  expect(inner.asked.take - before).toBe(10);
});

/** As one instance is asked: a bucket's limit stays, and the clock does not step back. */
function asOneInstance(steps: readonly ScheduleStep[]): readonly ScheduleStep[] {
  const limits = new Map<string, BucketLimit>();
  let nowUs = START_US;
  let clockUs = START_US;
  return steps.map((step) => {
    // Half of the steps are short ones, so that denials are asked for again while they are remembered.
    const aheadUs = Math.max(0, step.nowUs - clockUs);
    clockUs = step.nowUs;
    nowUs += aheadUs % 2 === 0 ? aheadUs % 700_000 : aheadUs;
    const takes = step.group.takes.map((each) => {
      // A limit of 0 that holds hits would never refill, and none is made.
      const limit = limits.get(each.bucketKey) ?? { ...each.limit, capacity: each.limit.requestsPerUnit === 0 ? 0 : each.limit.capacity };
      limits.set(each.bucketKey, limit);
      return { ...each, limit };
    });
    return { nowUs, group: { ...step.group, takes } };
  });
}

test.each([...ALGORITHMS, undefined])('the cache answers as the store for random schedules (%s; undefined: any mix)', async (algorithm) => {
  let answeredHere = 0;
  await fc.assert(
    fc.asyncProperty(schedules(algorithm), async (planned) => {
      const opened = open();
      const clock = { nowUs: START_US };
      const plain = new MemoryStore({ nowUs: () => clock.nowUs, bucketsMax: 10_000 });
      const codes = (outcomes: readonly GroupOutcome[]) => outcomes.map((outcome) => decided(outcome).overLimit);
      const steps = asOneInstance(planned);
      // Each twice: what was denied is asked for again.
      for (const { nowUs, group } of steps.flatMap((step) => [step, { ...step, nowUs: step.nowUs + 3 }])) {
        clock.nowUs = Math.max(clock.nowUs, nowUs);
        opened.clock.nowMs = (clock.nowUs - START_US) / 1_000;
        expect(codes(await opened.cache.take([group]))).toEqual(codes(await plain.take([group])));
      }
      answeredHere += opened.denied.here;
    }),
    seeded(RUNS),
  );
  expect(answeredHere).toBeGreaterThan(casesOf(RUNS) / 20);
});

test('an exhausted bucket of each algorithm is cached', async () => {
  for (const algorithm of ALGORITHMS) {
    const { one, exhaust } = open();
    await exhaust('a', LIMITS[algorithm]);
    expect((await one('a', { limit: LIMITS[algorithm] })).asked).toBe(false);
  }
});

test('denials of the classes of a reserve stand beside each other, and none denies another class', async () => {
  const { clock, denied, one } = open();
  const classOf = (reserved: number): BucketLimit => ({ ...TEN_PER_SECOND, capacity: 10 - reserved, reserved });
  const asked = async (reserved: number) => {
    const { verdict, asked: isAsked } = await one('a', { limit: classOf(reserved) });
    return [isAsked, verdict.overLimit];
  };
  await one('a', { limit: classOf(5), hits: 5 });
  expect(await asked(5)).toEqual([true, true]);
  // What a higher class takes makes no room for others: their denial stays.
  for (let i = 0; i < 3; i += 1) expect(await asked(2)).toEqual([true, false]);
  expect(await asked(2)).toEqual([true, true]);
  for (let i = 0; i < 2; i += 1) expect(await asked(0)).toEqual([true, false]);
  expect(await asked(0)).toEqual([true, true]);
  for (const reserved of [5, 2, 0, 5]) expect(await asked(reserved)).toEqual([false, true]);
  expect(denied.here).toBe(4);
  // A hit is back for the highest class first.
  clock.nowMs = 100;
  expect(await asked(0)).toEqual([true, false]);
  expect(await asked(5)).toEqual([true, true]);
  // A refund drops the denials of all classes.
  await one('a', { limit: classOf(0), hits: -10 });
  expect(await asked(5)).toEqual([true, false]);
});
