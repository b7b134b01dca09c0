/** What every store must do, whatever it is made of: run by each store's own test file. */

import type { Group, GroupVerdict, Settlement } from '../../src/bucket/take';
import { NEVER, UNSETTLED } from '../../src/bucket/take';
import { ALGORITHMS } from '../../src/rule/limit';
import type { Store } from '../../src/store/store';
import { groupOf, LIMITS, settlement, take, TEN_PER_SECOND, THREE_PER_MINUTE } from '../support/groups';
import { decided, hitsOf } from '../support/outcomes';
import { loadTimelines, toStepOutcome } from '../support/timelines';

/** A store with an empty memory and a clock that the suite sets. */
export interface StoreUnderTest {
  readonly store: Store;
  setNow(nowUs: number): Promise<void>;
  close(): Promise<void>;
}

const START_US = 1_800_000_000_000_000;

export function describeStore(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`${name} keeps the contract of a store`, () => {
    let opened: StoreUnderTest;

    beforeEach(async () => {
      opened = await open();
      await opened.setNow(START_US);
    });

    afterEach(() => opened.close());

    async function decide(group: Group): Promise<GroupVerdict> {
      const [outcome] = await opened.store.take([group]);
      return decided(outcome);
    }

    async function remaining(key: string, limit = TEN_PER_SECOND): Promise<number> {
      return (await decide(groupOf([take(key, { hits: 0, limit })]))).verdicts[0]!.remaining;
    }

    async function settle(bucketKey: string, parts: Partial<Settlement> = {}): Promise<number> {
      const [applied] = await opened.store.settle([settlement(bucketKey, parts)]);
      return hitsOf(applied);
    }

    describe('timelines', () => {
      test.each(loadTimelines())('$name', async ({ steps }) => {
        for (const { nowUs, group, expected } of steps) {
          await opened.setNow(nowUs);
          expect(toStepOutcome(await decide(group), expected.why)).toEqual(expected);
        }
      });
    });

    test('a verdict says when it was decided', async () => {
      await opened.setNow(START_US + 123_456);
      expect((await decide(groupOf([take('a')]))).nowUs).toBe(START_US + 123_456);
    });

    test('a group without takes is allowed', async () => {
      expect(await decide(groupOf([]))).toEqual({ overLimit: false, verdicts: [], nowUs: START_US });
    });

    describe('all or nothing', () => {
      test('a denied group takes nothing from the buckets that would have fitted', async () => {
        await decide(groupOf([take('full', { hits: 10 })]));
        const denied = await decide(groupOf([take('a', { hits: 4 }), take('full'), take('b', { limit: THREE_PER_MINUTE })]));
        expect(denied.overLimit).toBe(true);
        expect(denied.verdicts.map((verdict) => [verdict.fits, verdict.remaining])).toEqual([
          [true, 10],
          [false, 0],
          [true, 3],
        ]);
        expect(await remaining('a')).toBe(10);
        expect(await remaining('b', THREE_PER_MINUTE)).toBe(3);
      });

      test('an allowed group takes from every bucket, whatever the algorithms', async () => {
        const allowed = await decide(groupOf([take('a', { hits: 4 }), take('b', { hits: 2, limit: THREE_PER_MINUTE })]));
        expect(allowed.overLimit).toBe(false);
        expect(allowed.verdicts.map((verdict) => verdict.remaining)).toEqual([6, 1]);
      });

      test('a refund of a denied group is not applied', async () => {
        await decide(groupOf([take('full', { hits: 10 }), take('a', { hits: 5 })]));
        expect((await decide(groupOf([take('full'), take('a', { hits: -5 })]))).overLimit).toBe(true);
        expect(await remaining('a')).toBe(5);
      });

      test('groups of one call are decided in their order, each on what the last left', async () => {
        const six = groupOf([take('a', { hits: 6 })]);
        const outcomes = await opened.store.take([six, six, groupOf([take('a', { hits: 4 })])]);
        expect(outcomes.map((outcome) => decided(outcome).overLimit)).toEqual([false, true, false]);
        expect(await remaining('a')).toBe(0);
      });
    });

    describe('duplicates: the hits of one group on one bucket are one sum', () => {
      test('two that fit alone do not fit together', async () => {
        const both = await decide(groupOf([take('a', { hits: 6 }), take('a', { hits: 5 })]));
        expect(both.overLimit).toBe(true);
        expect(both.verdicts.map((verdict) => verdict.fits)).toEqual([false, false]);
        expect(await remaining('a')).toBe(10);
      });

      test('two that fit together are charged once each, and show the same rest', async () => {
        const both = await decide(groupOf([take('a', { hits: 6 }), take('a', { hits: 4 })]));
        expect(both.verdicts.map((verdict) => verdict.remaining)).toEqual([0, 0]);
        expect(await remaining('a')).toBe(0);
      });

      test('each is judged by its own limit; what fits is charged', async () => {
        const small = { ...TEN_PER_SECOND, requestsPerUnit: 3, capacity: 3 };
        const group = groupOf([take('a', { hits: 2 }), take('a', { hits: 2, limit: small, mode: 'shadow' })]);
        const decided = await decide(group);
        expect(decided.overLimit).toBe(false);
        expect(decided.verdicts.map((verdict) => [verdict.fits, verdict.remaining])).toEqual([
          [true, 8],
          [false, 1],
        ]);
        expect(await remaining('a')).toBe(8);
      });

      test('a check and a refund beside a charge fit, and the refund comes after the charge', async () => {
        const decided = await decide(groupOf([take('a', { hits: -2 }), take('a', { hits: 10 }), take('a', { hits: 0 })]));
        expect(decided.verdicts.map((verdict) => [verdict.fits, verdict.remaining])).toEqual([
          [true, 2],
          [true, 2],
          [true, 2],
        ]);
      });

      test('a sum that no number of waits makes fit says never', async () => {
        const decided = await decide(groupOf([take('a', { hits: 6 }), take('a', { hits: 6 })]));
        expect(decided.verdicts.map((verdict) => verdict.retryAfterUs)).toEqual([NEVER, NEVER]);
      });
    });

    describe('checks', () => {
      test('a check denies the whole group where nothing is left, and takes nothing where something is', async () => {
        await decide(groupOf([take('full', { hits: 10 })]));
        const denied = await decide(groupOf([take('a', { hits: 4 }), take('full', { hits: 0 })]));
        expect([denied.overLimit, denied.verdicts.map(({ fits, retryAfterUs }) => [fits, retryAfterUs])]).toEqual([true, [[true, 0], [false, 100_000]]]);
        expect(await remaining('a')).toBe(10);
        expect((await decide(groupOf([take('a', { hits: 0 })]))).overLimit).toBe(false);
        expect(await remaining('a')).toBe(10);
      });

      test('a check beside hits on its bucket that do not fit fits: it asks for one', async () => {
        const denied = await decide(groupOf([take('a', { hits: 11 }), take('a', { hits: 0 })]));
        expect([denied.overLimit, denied.verdicts.map(({ fits }) => fits)]).toEqual([true, [false, true]]);
      });

      test('a peek is OK even where nothing is left', async () => {
        await decide(groupOf([take('full', { hits: 10 })]));
        const peeked = await decide(groupOf([take('full', { hits: 0, peek: true })]));
        expect([peeked.overLimit, peeked.verdicts]).toEqual([false, [{ fits: true, remaining: 0, retryAfterUs: 0, resetAfterUs: 1_000_000 }]]);
      });

      test('a check of a shadow or a quota descriptor denies as such a take does', async () => {
        await decide(groupOf([take('full', { hits: 10 })]));
        expect((await decide(groupOf([take('full', { hits: 0, mode: 'shadow' }), take('a')]))).overLimit).toBe(false);
        expect((await decide(groupOf([take('full', { hits: 0, mode: 'quota' }), take('a', { hits: 0, mode: 'quota' })]))).overLimit).toBe(false);
        expect((await decide(groupOf([take('full', { hits: 0, mode: 'quota' })]))).overLimit).toBe(true);
      });
    });

    describe('usage reports', () => {
      const report = (key: string, hits: number, overdraftMax = 10) => take(key, { hits, overdraftMax });

      test('one that does not fit is charged in full, and later hits wait until the debt is paid', async () => {
        const charged = await decide(groupOf([report('a', 13)]));
        expect([charged.overLimit, charged.verdicts]).toEqual([true, [{ fits: false, remaining: 0, debt: 3, retryAfterUs: 400_000, resetAfterUs: 1_300_000 }]]);
        await opened.setNow(START_US + 400_000);
        expect((await decide(groupOf([take('a', { hits: 0 })]))).overLimit).toBe(false);
      });

      test('of three rules of which one is in debt, all are charged', async () => {
        await decide(groupOf([report('b', 15)]));
        const charged = await decide(groupOf([report('a', 3), report('b', 3), report('c', 3)]));
        expect(charged.verdicts).toMatchObject([{ fits: true, remaining: 7 }, { fits: false, debt: 8 }, { fits: true, remaining: 7 }]);
        expect([await remaining('a'), await remaining('c')]).toEqual([7, 7]);
      });

      test('one is charged though an admission beside it is denied, which takes nothing', async () => {
        const charged = await decide(groupOf([report('a', 3), take('b', { hits: 11 }), take('c')]));
        expect([charged.overLimit, await remaining('a'), await remaining('b'), await remaining('c')]).toEqual([true, 7, 10, 10]);
      });

      test('one that does not fit denies the admissions beside it', async () => {
        expect((await decide(groupOf([report('a', 11), take('b')]))).overLimit).toBe(true);
        expect(await remaining('b')).toBe(10);
      });

      test('what lies beyond the overdraft is cut off', async () => {
        expect((await decide(groupOf([report('a', 25)]))).verdicts).toMatchObject([{ fits: false, debt: 10, cut: 5 }]);
        expect((await decide(groupOf([report('a', 25, 12)]))).verdicts).toMatchObject([{ fits: false, debt: 12, cut: 23 }]);
      });

      test('a refund by report is applied though the request is denied, and never fills beyond full', async () => {
        await decide(groupOf([take('a', { hits: 5 }), take('full', { hits: 10 })]));
        expect((await decide(groupOf([report('a', -3), take('full')]))).overLimit).toBe(true);
        expect(await remaining('a')).toBe(8);
        await decide(groupOf([report('a', -30)]));
        expect(await remaining('a')).toBe(10);
      });

      test('a dry one charges nothing', async () => {
        expect((await decide(groupOf([report('a', 13)], { dry: true }))).overLimit).toBe(true);
        expect(await remaining('a')).toBe(10);
      });

      test('a settlement with an overdraft charges below zero, one without stops there', async () => {
        expect(await settle('a', { hits: 14 })).toBe(10);
        expect(await settle('b', { hits: 14, overdraftMax: 3 })).toBe(13);
        expect((await decide(groupOf([take('b', { hits: 0 })]))).verdicts).toMatchObject([{ fits: false, debt: 3 }]);
      });

      test('of many calls at once on one bucket every report is charged', async () => {
        const groups = Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? groupOf([report('a', 3)]) : groupOf([take('a', { hits: 1 })])));
        const outcomes = await opened.store.take(groups);
        expect(outcomes.map((outcome) => decided(outcome).overLimit)).toEqual([false, false, false, false, true, true, true, true]);
        expect((await decide(groupOf([take('a', { hits: 0 })]))).verdicts).toMatchObject([{ fits: false, debt: 4 }]);
      });
    });

    describe('modes', () => {
      test('a shadow take that does not fit denies nothing and is not charged', async () => {
        const decided = await decide(groupOf([take('a', { hits: 11, mode: 'shadow' }), take('b')]));
        expect(decided.overLimit).toBe(false);
        expect(decided.verdicts.map((verdict) => verdict.fits)).toEqual([false, true]);
        expect([await remaining('a'), await remaining('b')]).toEqual([10, 9]);
      });

      test('one quota descriptor over of two denies nothing', async () => {
        const group = groupOf([take('a', { hits: 11, mode: 'quota' }), take('b', { mode: 'quota' })]);
        expect((await decide(group)).overLimit).toBe(false);
        expect([await remaining('a'), await remaining('b')]).toEqual([10, 9]);
      });

      test('all quota descriptors over deny', async () => {
        const group = groupOf([take('a', { hits: 11, mode: 'quota' }), take('b', { hits: 11, mode: 'quota' }), take('c')]);
        expect((await decide(group)).overLimit).toBe(true);
        expect(await remaining('c')).toBe(10);
      });

      test('a quota descriptor is over as soon as one of its limits is', async () => {
        const group = groupOf([
          take('a', { hits: 11, mode: 'quota', descriptor: 7 }),
          take('b', { mode: 'quota', descriptor: 7 }),
        ]);
        expect((await decide(group)).overLimit).toBe(true);
      });

      test('a quota descriptor that always fits keeps quota from denying, not an enforced one', async () => {
        const quota = take('a', { hits: 11, mode: 'quota' });
        expect((await decide(groupOf([quota], { quotaAlwaysFits: true }))).overLimit).toBe(false);
        const enforced = take('b', { hits: 11 });
        expect((await decide(groupOf([quota, enforced], { quotaAlwaysFits: true }))).overLimit).toBe(true);
      });

      test('a quota peek counts as fitting', async () => {
        const group = groupOf([take('a', { hits: 11, mode: 'quota' }), take('b', { hits: 0, mode: 'quota' })]);
        expect((await decide(group)).overLimit).toBe(false);
      });

      test('in global shadow mode nothing is denied, and what fits is charged', async () => {
        const decided = await decide(groupOf([take('a', { hits: 11 }), take('b')], { shadow: true }));
        expect(decided.overLimit).toBe(false);
        expect(decided.verdicts.map((verdict) => verdict.fits)).toEqual([false, true]);
        expect([await remaining('a'), await remaining('b')]).toEqual([10, 9]);
      });
    });

    test('the order of the takes changes neither the outcome nor the charge', async () => {
      const takes = [take('a', { hits: 3 }), take('b', { limit: THREE_PER_MINUTE }), take('a', { hits: 7 }), take('c')];
      const forwards = await decide(groupOf(takes));
      await opened.setNow(START_US + 3_600_000_000);
      const backwards = await decide(groupOf([...takes].reverse()));
      expect([...backwards.verdicts].reverse()).toEqual(forwards.verdicts);
    });

    describe('calendar windows', () => {
      const edgesUs = [START_US - 5_000_000, START_US, START_US + 7_000_000, START_US + 9_000_000];
      const limit = { ...THREE_PER_MINUTE, edgesUs };

      test.each([
        [START_US - 5_000_000, 5_000_000],
        [START_US - 1, 1],
        [START_US, 7_000_000],
        [START_US + 6_999_999, 1],
        [START_US + 8_999_999, 1],
      ])('at %i the window ends after %i µs', async (nowUs, resetAfterUs) => {
        await opened.setNow(nowUs);
        const { verdicts } = await decide(groupOf([take('a', { limit })]));
        expect(verdicts).toEqual([{ fits: true, remaining: 2, retryAfterUs: 0, resetAfterUs }]);
      });

      test('each counts for itself', async () => {
        expect((await decide(groupOf([take('a', { limit, hits: 3 })]))).overLimit).toBe(false);
        expect((await decide(groupOf([take('a', { limit })]))).overLimit).toBe(true);
        await opened.setNow(START_US + 7_000_000);
        expect((await decide(groupOf([take('a', { limit })]))).overLimit).toBe(false);
      });

      test('the same window is the same bucket, whichever edges are named beside it', async () => {
        await decide(groupOf([take('a', { limit, hits: 2 })]));
        const shifted = { ...limit, edgesUs: [START_US, START_US + 7_000_000, START_US + 9_000_000] };
        expect(await remaining('a', shifted)).toBe(1);
      });

      test.each([START_US - 5_000_001, START_US + 9_000_000])('at %i, outside all, nothing is decided', async (nowUs) => {
        await opened.setNow(nowUs);
        const outcomes = await opened.store.take([groupOf([take('a', { limit }), take('b')]), groupOf([take('b')])]);
        expect(outcomes[0]).toEqual({ outsideAtUs: nowUs });
        expect(decided(outcomes[1]).verdicts[0]).toMatchObject({ remaining: 9 });
      });
    });

    describe('a dry group', () => {
      const dry = { dry: true } as const;

      test.each(ALGORITHMS)('takes nothing and says what would be (%s)', async (algorithm) => {
        const limit = LIMITS[algorithm];
        const [fits, over] = [groupOf([take('a', { limit, hits: 3 })]), groupOf([take('a', { limit, hits: 4 })])];
        expect(await decide({ ...fits, ...dry })).toMatchObject({ overLimit: false, verdicts: [{ fits: true }] });
        expect(await remaining('a', limit)).toBe(limit.capacity);
        expect((await decide(groupOf([take('a', { limit, hits: limit.capacity - 2 })]))).overLimit).toBe(false);
        const denied = await decide({ ...over, ...dry });
        expect(denied.overLimit).toBe(true);
        expect(await decide(over)).toEqual(denied);
      });

      test('is not denied where its group would not be: shadow, quota that always fits, global shadow', async () => {
        const overA = take('a', { hits: 11 });
        expect((await decide(groupOf([{ ...overA, mode: 'shadow' }], dry))).overLimit).toBe(false);
        expect((await decide(groupOf([{ ...overA, mode: 'quota' }], dry))).overLimit).toBe(true);
        expect((await decide(groupOf([{ ...overA, mode: 'quota' }], { ...dry, quotaAlwaysFits: true }))).overLimit).toBe(false);
        expect((await decide(groupOf([overA], { ...dry, quotaAlwaysFits: true }))).overLimit).toBe(true);
        expect((await decide(groupOf([overA], { ...dry, shadow: true }))).overLimit).toBe(false);
      });

      test('shows what is there, and refunds nothing', async () => {
        await decide(groupOf([take('a', { hits: 6 })]));
        const { verdicts } = await decide(groupOf([take('a', { hits: 3 }), take('a', { hits: -2 })], dry));
        expect(verdicts.map((verdict) => verdict.remaining)).toEqual([4, 4]);
        expect(await remaining('a')).toBe(4);
      });

      test('leaves its buckets to the groups behind it in the same call', async () => {
        const ten = groupOf([take('a', { hits: 10 })]);
        const outcomes = await opened.store.take([{ ...ten, ...dry }, ten, { ...ten, ...dry }]);
        expect(outcomes.map((outcome) => decided(outcome).overLimit)).toEqual([false, false, true]);
      });
    });

    describe('settle', () => {
      test.each(ALGORITHMS)('a charge takes what there is room for, whatever the limit says (%s)', async (algorithm) => {
        const limit = LIMITS[algorithm];
        expect(await settle('a', { limit, hits: 1 })).toBe(1);
        expect(await remaining('a', limit)).toBe(limit.capacity - 1);
        expect(await settle('a', { limit, hits: 1000 })).toBe(limit.capacity - 1);
        expect(await settle('a', { limit, hits: 1 })).toBe(0);
        expect(await remaining('a', limit)).toBe(0);
        expect((await decide(groupOf([take('a', { limit })]))).overLimit).toBe(true);
      });

      test('a charge under a lowered limit takes nothing from an overdrawn bucket', async () => {
        await decide(groupOf([take('a', { hits: 8 })]));
        expect(await settle('a', { limit: { ...TEN_PER_SECOND, requestsPerUnit: 5, capacity: 5 } })).toBe(0);
        expect(await remaining('a')).toBe(2);
      });

      test.each(ALGORITHMS)('hits given back at once leave the bucket as it was (%s)', async (algorithm) => {
        const limit = LIMITS[algorithm];
        await decide(groupOf([take('a', { limit })]));
        await opened.setNow(START_US + 7);
        await decide(groupOf([take('a', { limit, hits: 2 })]));
        const used = limit.capacity - (await remaining('a', limit));
        expect(await settle('a', { limit, hits: -2, takenAtUs: START_US + 7, usedBefore: used - 2 })).toBe(2);
        expect(await remaining('a', limit)).toBe(limit.capacity - 1);
      });

      test.each(ALGORITHMS)('hits come back beside those that others took since (%s)', async (algorithm) => {
        const limit = { ...LIMITS[algorithm], requestsPerUnit: 10, capacity: 10, windowUs: 60_000_000 };
        await decide(groupOf([take('a', { limit, hits: 3 })]));
        await opened.setNow(START_US + 1);
        await decide(groupOf([take('a', { limit, hits: 4 })]));
        await opened.setNow(START_US + 2);
        await decide(groupOf([take('a', { limit, hits: 2 })]));
        expect(await settle('a', { limit, hits: -4, takenAtUs: START_US + 1, usedBefore: 3 })).toBe(4);
        expect(await remaining('a', limit)).toBe(5);
      });

      test.each(ALGORITHMS)('no more comes back than is used (%s)', async (algorithm) => {
        const limit = LIMITS[algorithm];
        expect(await settle('a', { limit, hits: -1, takenAtUs: START_US, usedBefore: 0 })).toBe(0);
        await decide(groupOf([take('a', { limit, hits: 2 })]));
        expect(await settle('a', { limit, hits: -3, takenAtUs: START_US, usedBefore: 0 })).toBe(2);
        expect(await remaining('a', limit)).toBe(limit.capacity);
      });

      test.each([
        // START_US is the start of a window.
        ['fixed_window', 59_999_999, 2, 2],
        ['fixed_window', 60_000_000, 0, 2],
        ['sliding_window_counter', 60_000_000, 2, 2],
        ['sliding_window_counter', 119_999_999, 2, 2],
        ['sliding_window_counter', 120_000_000, 0, 2],
        ['sliding_window_log', 59_999_999, 2, 2],
        ['sliding_window_log', 60_000_000, 0, 2],
      ] as const)('%s: of two hits given back after %i µs, %i come back', async (algorithm, afterUs, applied, left) => {
        const limit = LIMITS[algorithm];
        await decide(groupOf([take('a', { limit, hits: 2 })]));
        await opened.setNow(START_US + afterUs);
        await decide(groupOf([take('a', { limit })]));
        expect(await settle('a', { limit, hits: -2, takenAtUs: START_US, usedBefore: 0 })).toBe(applied);
        expect(await remaining('a', limit)).toBe(left);
      });

      test('a log gives back only what was taken at that very time', async () => {
        const limit = LIMITS.sliding_window_log;
        await decide(groupOf([take('a', { limit, hits: 2 })]));
        expect(await settle('a', { limit, hits: -2, takenAtUs: START_US - 1, usedBefore: 0 })).toBe(0);
        expect(await settle('a', { limit, hits: -2, takenAtUs: START_US + 1, usedBefore: 0 })).toBe(0);
        expect(await remaining('a', limit)).toBe(1);
      });

      test.each([
        // Ten a second: a hit is refilled every 100 ms.
        [0, 99_999, 4, 7],
        [0, 100_000, 3, 7],
        [0, 350_000, 1, 7],
        [0, 400_000, 0, 7],
        // Of one hit used before, a part may have been refilled already: all that flows in counts against the take.
        [1, 100_000, 3, 6],
        [2, 100_000, 4, 6],
        [2, 200_000, 3, 6],
        [4, 300_000, 4, 6],
        [4, 400_000, 3, 6],
      ])('a token bucket of %i used before a take of four, after %i µs: %i come back', async (usedBefore, afterUs, given, left) => {
        const limit = { ...TEN_PER_SECOND, capacity: 20 };
        if (usedBefore > 0) await decide(groupOf([take('a', { limit, hits: usedBefore })]));
        await decide(groupOf([take('a', { limit, hits: 4 })]));
        await opened.setNow(START_US + afterUs);
        const now = await remaining('a', limit);
        await decide(groupOf([take('a', { limit, hits: now - left })]));
        expect(await remaining('a', limit)).toBe(left);
        expect(await settle('a', { limit, hits: -4, takenAtUs: START_US, usedBefore })).toBe(given);
      });

      test('a clock that stepped back has refilled nothing', async () => {
        await decide(groupOf([take('a', { hits: 4 })]));
        await opened.setNow(START_US - 1_000_000);
        expect(await settle('a', { hits: -4, takenAtUs: START_US })).toBe(4);
        expect(await remaining('a')).toBe(10);
      });

      test('several in one call are applied in their order, each answered', async () => {
        const limit = THREE_PER_MINUTE;
        const applied = await opened.store.settle([
          settlement('a', { hits: 8 }),
          settlement('b', { limit, hits: 2 }),
          settlement('a', { hits: 8 }),
          settlement('a', { hits: -5, takenAtUs: START_US }),
          settlement('a', { hits: 0 }),
          settlement('b', { limit, hits: 2 }),
        ]);
        expect(applied).toEqual([8, 2, 2, 5, 0, 1]);
        expect([await remaining('a'), await remaining('b', limit)]).toEqual([5, 0]);
      });

      test('none in a call is none', async () => {
        expect(await opened.store.settle([])).toEqual([]);
      });

      test('calendar windows: nothing outside those named, and nothing of one that has ended', async () => {
        const limit = { ...THREE_PER_MINUTE, edgesUs: [START_US - 5_000_000, START_US, START_US + 7_000_000] };
        await decide(groupOf([take('a', { limit, hits: 2 })]));
        const givenBack = { limit, hits: -1, usedBefore: 0 };
        expect(await settle('a', { ...givenBack, takenAtUs: START_US - 1 })).toBe(0);
        expect(await settle('a', { ...givenBack, takenAtUs: START_US - 5_000_001 })).toBe(0);
        expect(await settle('a', { ...givenBack, takenAtUs: START_US + 7_000_000 })).toBe(0);
        expect(await settle('a', { ...givenBack, takenAtUs: START_US })).toBe(1);
        expect(await remaining('a', limit)).toBe(2);
        for (const outsideUs of [START_US - 5_000_001, START_US + 7_000_000]) {
          await opened.setNow(outsideUs);
          expect(await settle('a', { limit })).toBe(UNSETTLED);
          expect(await settle('a', { ...givenBack, takenAtUs: START_US })).toBe(UNSETTLED);
        }
      });
    });

    test('keys of any printable text are kept apart', async () => {
      await decide(groupOf([take('1{d}tb1|k=v', { hits: 10 })]));
      expect(await remaining('1{d}tb1|k=w')).toBe(10);
    });
  });
}
