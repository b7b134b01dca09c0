/** What every store must do, whatever it is made of: run by each store's own test file. */

import { slotIdOf } from '../../src/domain/bucket/slot-id';
import { NEVER } from '../../src/domain/algorithm/engine';
import { NOT_ADJUSTED, type Group, type GroupVerdict, type Adjustment, type Take } from '../../src/domain/bucket/take';
import type { Mode } from '../../src/domain/rule/mode';
import type { Store } from '../../src/state/store/port/store';
import { BUCKET_ALGORITHMS, groupOf, LIMITS, adjustment, take, TEN_PER_SECOND, THREE_PER_MINUTE } from '../support/decisions/groups';
import { decided, hitsOf } from '../support/decisions/outcomes';
import { loadTimelines, toStepOutcome } from '../support/decisions/timelines';

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

    async function adjust(bucketKey: string, parts: Partial<Adjustment> = {}): Promise<number> {
      const [applied] = await opened.store.adjust([adjustment(bucketKey, parts)]);
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

    test('a verdict has the time of its decision', async () => {
      await opened.setNow(START_US + 123_456);
      expect((await decide(groupOf([take('a')]))).nowUs).toBe(START_US + 123_456);
    });

    test('a group without takes is allowed', async () => {
      expect(await decide(groupOf([]))).toEqual({ overLimit: false, verdicts: [], nowUs: START_US });
    });

    describe('all or nothing', () => {
      test('a denied group takes nothing from the buckets that had room', async () => {
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

      test('an allowed group takes from every bucket, with any mix of algorithms', async () => {
        const allowed = await decide(groupOf([take('a', { hits: 4 }), take('b', { hits: 2, limit: THREE_PER_MINUTE })]));
        expect(allowed.overLimit).toBe(false);
        expect(allowed.verdicts.map((verdict) => verdict.remaining)).toEqual([6, 1]);
      });

      test('a denied group does not apply its refunds', async () => {
        await decide(groupOf([take('full', { hits: 10 }), take('a', { hits: 5 })]));
        expect((await decide(groupOf([take('full'), take('a', { hits: -5 })]))).overLimit).toBe(true);
        expect(await remaining('a')).toBe(5);
      });

      test('groups of one call are decided in order, each on the state that the last one left', async () => {
        const six = groupOf([take('a', { hits: 6 })]);
        const outcomes = await opened.store.take([six, six, groupOf([take('a', { hits: 4 })])]);
        expect(outcomes.map((outcome) => decided(outcome).overLimit)).toEqual([false, true, false]);
        expect(await remaining('a')).toBe(0);
      });
    });

    describe('each verdict says whether its take denies the request', () => {
      const full = (mode: Mode) => take('full', { mode });
      const shadowed = { shadow: true };

      test.each<[string, readonly Take[], object, boolean, readonly boolean[]]>([
        ['an enforced take that does not fit', [take('a'), full('enforced')], {}, true, [false, true]],
        ['not a shadow take', [full('shadow'), take('a')], {}, false, [false, false]],
        ['not a shadow take beside an enforced one', [full('shadow'), full('enforced')], {}, true, [false, true]],
        ['not a quota take while another quota descriptor fits', [full('quota'), take('a', { mode: 'quota' })], {}, false, [false, false]],
        [
          'not that quota take beside an enforced one',
          [full('quota'), take('a', { mode: 'quota' }), full('enforced')],
          {},
          true,
          [false, false, true],
        ],
        ['quota takes, if every quota descriptor is over', [full('quota'), take('a'), full('quota')], {}, true, [true, false, true]],
        ['not quota takes beside a quota descriptor that always fits', [full('quota')], { quotaAlwaysFits: true }, false, [false]],
        ['with SHADOW_MODE those that would deny', [full('enforced'), full('quota'), take('a')], shadowed, false, [true, true, false]],
      ])('%s', async (_which, takes, flags, overLimit, denies) => {
        await decide(groupOf([take('full', { hits: 10 })]));
        const verdict = await decide(groupOf(takes, flags));
        expect(verdict.overLimit).toBe(overLimit);
        expect(verdict.verdicts.map((own) => own.denies === true)).toEqual(denies);
      });
    });

    describe('several takes of a group on one bucket count as one sum', () => {
      test('two takes that fit alone do not fit together', async () => {
        const both = await decide(groupOf([take('a', { hits: 6 }), take('a', { hits: 5 })]));
        expect(both.overLimit).toBe(true);
        expect(both.verdicts.map((verdict) => verdict.fits)).toEqual([false, false]);
        expect(await remaining('a')).toBe(10);
      });

      test('two takes that fit together are charged once each and show the same remaining hits', async () => {
        const both = await decide(groupOf([take('a', { hits: 6 }), take('a', { hits: 4 })]));
        expect(both.verdicts.map((verdict) => verdict.remaining)).toEqual([0, 0]);
        expect(await remaining('a')).toBe(0);
      });

      test('each take is judged by its own limit, and those that fit are charged', async () => {
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

      test('a check and a refund fit beside a charge, and the refund is applied after the charge', async () => {
        const decided = await decide(groupOf([take('a', { hits: -2 }), take('a', { hits: 10 }), take('a', { hits: 0 })]));
        expect(decided.verdicts.map((verdict) => [verdict.fits, verdict.remaining])).toEqual([
          [true, 2],
          [true, 2],
          [true, 2],
        ]);
      });

      test.each([
        [2, 1, 2 ** 53 - 1],
        [6, 3, 2 ** 53 - 3],
      ])('refunds are exact where a double cannot hold their sum: %i used, 2^53 and %i back', async (used, back, left) => {
        const limit = { ...LIMITS.budget, requestsPerUnit: 0, capacity: 0 };
        await decide(groupOf([take('a', { limit, hits: used, overdraftMax: used })]));
        const decided = await decide(groupOf([take('a', { limit, hits: -(2 ** 53) }), take('a', { limit, hits: -back })]));
        expect(decided.verdicts.map((verdict) => verdict.remaining)).toEqual([left, left]);
      });

      test('a sum above the capacity has the retry time "never"', async () => {
        const decided = await decide(groupOf([take('a', { hits: 6 }), take('a', { hits: 6 })]));
        expect(decided.verdicts.map((verdict) => verdict.retryAfterUs)).toEqual([NEVER, NEVER]);
      });
    });

    describe('checks', () => {
      test('a check denies the group where nothing is left, and takes nothing where hits are left', async () => {
        await decide(groupOf([take('full', { hits: 10 })]));
        const denied = await decide(groupOf([take('a', { hits: 4 }), take('full', { hits: 0 })]));
        expect([denied.overLimit, denied.verdicts.map(({ fits, retryAfterUs }) => [fits, retryAfterUs])]).toEqual([
          true,
          [
            [true, 0],
            [false, 100_000],
          ],
        ]);
        expect(await remaining('a')).toBe(10);
        expect((await decide(groupOf([take('a', { hits: 0 })]))).overLimit).toBe(false);
        expect(await remaining('a')).toBe(10);
      });

      test('a check fits beside hits of its bucket that do not fit, because it needs one hit', async () => {
        const denied = await decide(groupOf([take('a', { hits: 11 }), take('a', { hits: 0 })]));
        expect([denied.overLimit, denied.verdicts.map(({ fits }) => fits)]).toEqual([true, [false, true]]);
      });

      test('a peek is OK where nothing is left', async () => {
        await decide(groupOf([take('full', { hits: 10 })]));
        const peeked = await decide(groupOf([take('full', { hits: 0, peek: true })]));
        expect([peeked.overLimit, peeked.verdicts]).toEqual([
          false,
          [{ fits: true, remaining: 0, retryAfterUs: 0, resetAfterUs: 1_000_000 }],
        ]);
      });

      test('a check of a shadow or quota descriptor denies as a take of that descriptor does', async () => {
        await decide(groupOf([take('full', { hits: 10 })]));
        expect((await decide(groupOf([take('full', { hits: 0, mode: 'shadow' }), take('a')]))).overLimit).toBe(false);
        expect((await decide(groupOf([take('full', { hits: 0, mode: 'quota' }), take('a', { hits: 0, mode: 'quota' })]))).overLimit).toBe(
          false,
        );
        expect((await decide(groupOf([take('full', { hits: 0, mode: 'quota' })]))).overLimit).toBe(true);
      });
    });

    describe('usage reports', () => {
      const report = (key: string, hits: number, overdraftMax = 10) => take(key, { hits, overdraftMax });

      test('a usage report that does not fit is charged in full, and later hits wait until the debt is paid', async () => {
        const charged = await decide(groupOf([report('a', 13)]));
        expect([charged.overLimit, charged.verdicts]).toEqual([
          true,
          [{ fits: false, remaining: 0, debt: 3, retryAfterUs: 400_000, resetAfterUs: 1_300_000, denies: true }],
        ]);
        await opened.setNow(START_US + 400_000);
        expect((await decide(groupOf([take('a', { hits: 0 })]))).overLimit).toBe(false);
      });

      test('three reports in one request are all charged, although one limit is in debt', async () => {
        await decide(groupOf([report('b', 15)]));
        const charged = await decide(groupOf([report('a', 3), report('b', 3), report('c', 3)]));
        expect(charged.verdicts).toMatchObject([
          { fits: true, remaining: 7 },
          { fits: false, debt: 8 },
          { fits: true, remaining: 7 },
        ]);
        expect([await remaining('a'), await remaining('c')]).toEqual([7, 7]);
      });

      test('a report is charged beside an admission that is denied and takes nothing', async () => {
        const charged = await decide(groupOf([report('a', 3), take('b', { hits: 11 }), take('c')]));
        expect([charged.overLimit, await remaining('a'), await remaining('b'), await remaining('c')]).toEqual([true, 7, 10, 10]);
      });

      test('a report that does not fit denies the admissions beside it', async () => {
        expect((await decide(groupOf([report('a', 11), take('b')]))).overLimit).toBe(true);
        expect(await remaining('b')).toBe(10);
      });

      test('a report is cut off at the overdraft', async () => {
        expect((await decide(groupOf([report('a', 25)]))).verdicts).toMatchObject([{ fits: false, debt: 10, cut: 5 }]);
        expect((await decide(groupOf([report('a', 25, 12)]))).verdicts).toMatchObject([{ fits: false, debt: 12, cut: 23 }]);
      });

      test('a refund by report is applied to a denied request, and never fills a bucket beyond full', async () => {
        await decide(groupOf([take('a', { hits: 5 }), take('full', { hits: 10 })]));
        expect((await decide(groupOf([report('a', -3), take('full')]))).overLimit).toBe(true);
        expect(await remaining('a')).toBe(8);
        await decide(groupOf([report('a', -30)]));
        expect(await remaining('a')).toBe(10);
      });

      test('a dry report charges nothing', async () => {
        expect((await decide(groupOf([report('a', 13)], { dry: true }))).overLimit).toBe(true);
        expect(await remaining('a')).toBe(10);
      });

      test('an adjustment with an overdraft charges below zero, and one without stops at zero', async () => {
        expect(await adjust('a', { hits: 14 })).toBe(10);
        expect(await adjust('b', { hits: 14, overdraftMax: 3 })).toBe(13);
        expect((await decide(groupOf([take('b', { hits: 0 })]))).verdicts).toMatchObject([{ fits: false, debt: 3 }]);
      });

      test('every report is charged when many calls report on one bucket at once', async () => {
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

      test('one of two quota descriptors over its limit denies nothing', async () => {
        const group = groupOf([take('a', { hits: 11, mode: 'quota' }), take('b', { mode: 'quota' })]);
        expect((await decide(group)).overLimit).toBe(false);
        expect([await remaining('a'), await remaining('b')]).toEqual([10, 9]);
      });

      test('a request is denied when all its quota descriptors are over', async () => {
        const group = groupOf([take('a', { hits: 11, mode: 'quota' }), take('b', { hits: 11, mode: 'quota' }), take('c')]);
        expect((await decide(group)).overLimit).toBe(true);
        expect(await remaining('c')).toBe(10);
      });

      test('a quota descriptor is over when one of its limits is over', async () => {
        const group = groupOf([take('a', { hits: 11, mode: 'quota', descriptor: 7 }), take('b', { mode: 'quota', descriptor: 7 })]);
        expect((await decide(group)).overLimit).toBe(true);
      });

      test('a quota descriptor that always fits prevents a denial by quota, not by an enforced limit', async () => {
        const quota = take('a', { hits: 11, mode: 'quota' });
        expect((await decide(groupOf([quota], { quotaAlwaysFits: true }))).overLimit).toBe(false);
        const enforced = take('b', { hits: 11 });
        expect((await decide(groupOf([quota, enforced], { quotaAlwaysFits: true }))).overLimit).toBe(true);
      });

      test('a quota peek counts as fitting', async () => {
        const group = groupOf([take('a', { hits: 11, mode: 'quota' }), take('b', { hits: 0, mode: 'quota' })]);
        expect((await decide(group)).overLimit).toBe(false);
      });

      test('global shadow mode denies nothing and charges the takes that fit', async () => {
        const decided = await decide(groupOf([take('a', { hits: 11 }), take('b')], { shadow: true }));
        expect(decided.overLimit).toBe(false);
        expect(decided.verdicts.map((verdict) => verdict.fits)).toEqual([false, true]);
        expect([await remaining('a'), await remaining('b')]).toEqual([10, 9]);
      });
    });

    test('the order of takes changes neither the outcome nor the charge', async () => {
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

      test('each calendar window counts separately', async () => {
        expect((await decide(groupOf([take('a', { limit, hits: 3 })]))).overLimit).toBe(false);
        expect((await decide(groupOf([take('a', { limit })]))).overLimit).toBe(true);
        await opened.setNow(START_US + 7_000_000);
        expect((await decide(groupOf([take('a', { limit })]))).overLimit).toBe(false);
      });

      test('one window is one bucket, whichever other windows the take lists', async () => {
        await decide(groupOf([take('a', { limit, hits: 2 })]));
        const shifted = { ...limit, edgesUs: [START_US, START_US + 7_000_000, START_US + 9_000_000] };
        expect(await remaining('a', shifted)).toBe(1);
      });

      test.each([START_US - 5_000_001, START_US + 9_000_000])(
        'at %i, outside all listed windows, the store decides nothing',
        async (nowUs) => {
          await opened.setNow(nowUs);
          const outcomes = await opened.store.take([groupOf([take('a', { limit }), take('b')]), groupOf([take('b')])]);
          expect(outcomes[0]).toEqual({ outsideAtUs: nowUs });
          expect(decided(outcomes[1]).verdicts[0]).toMatchObject({ remaining: 9 });
        },
      );
    });

    describe('a dry group', () => {
      const dry = { dry: true } as const;

      test.each(BUCKET_ALGORITHMS)('a dry group takes nothing and reports the verdict of a take (%s)', async (algorithm) => {
        const limit = LIMITS[algorithm];
        const [fits, over] = [groupOf([take('a', { limit, hits: 3 })]), groupOf([take('a', { limit, hits: 4 })])];
        expect(await decide({ ...fits, ...dry })).toMatchObject({ overLimit: false, verdicts: [{ fits: true }] });
        expect(await remaining('a', limit)).toBe(limit.capacity);
        expect((await decide(groupOf([take('a', { limit, hits: limit.capacity - 2 })]))).overLimit).toBe(false);
        const denied = await decide({ ...over, ...dry });
        expect(denied.overLimit).toBe(true);
        expect(await decide(over)).toEqual(denied);
      });

      test('a dry group is denied only where its group would be: not in shadow mode, not by quota that always fits', async () => {
        const overA = take('a', { hits: 11 });
        expect((await decide(groupOf([{ ...overA, mode: 'shadow' }], dry))).overLimit).toBe(false);
        expect((await decide(groupOf([{ ...overA, mode: 'quota' }], dry))).overLimit).toBe(true);
        expect((await decide(groupOf([{ ...overA, mode: 'quota' }], { ...dry, quotaAlwaysFits: true }))).overLimit).toBe(false);
        expect((await decide(groupOf([overA], { ...dry, quotaAlwaysFits: true }))).overLimit).toBe(true);
        expect((await decide(groupOf([overA], { ...dry, shadow: true }))).overLimit).toBe(false);
      });

      test('a dry group shows the remaining hits and refunds nothing', async () => {
        await decide(groupOf([take('a', { hits: 6 })]));
        const { verdicts } = await decide(groupOf([take('a', { hits: 3 }), take('a', { hits: -2 })], dry));
        expect(verdicts.map((verdict) => verdict.remaining)).toEqual([4, 4]);
        expect(await remaining('a')).toBe(4);
      });

      test('a dry group leaves its buckets to the later groups of the call', async () => {
        const ten = groupOf([take('a', { hits: 10 })]);
        const outcomes = await opened.store.take([{ ...ten, ...dry }, ten, { ...ten, ...dry }]);
        expect(outcomes.map((outcome) => decided(outcome).overLimit)).toEqual([false, false, true]);
      });
    });

    describe('requests in flight', () => {
      const limit = LIMITS.in_flight;
      const [x, y, z] = ['x', 'y', 'z'].map(slotIdOf);
      const begin = (id: string | undefined, parts: Partial<Take> = {}) =>
        take('a', { limit, ...(id !== undefined && { slotId: id }), ...parts });
      const end = (id: string | undefined, parts: Partial<Take> = {}) => begin(id, { hits: -1, overdraftMax: 0, ...parts });

      async function free(key = 'a'): Promise<number> {
        return (await decide(groupOf([take(key, { hits: 0, limit, peek: true })]))).verdicts[0]!.remaining;
      }

      test('a denied group takes no slot, and an allowed one takes its slot with its hits', async () => {
        await decide(groupOf([take('full', { hits: 10 })]));
        expect((await decide(groupOf([begin(x), take('full')]))).overLimit).toBe(true);
        expect(await free()).toBe(3);
        expect((await decide(groupOf([begin(x), take('b', { hits: 4 })]))).verdicts.map((verdict) => verdict.remaining)).toEqual([2, 6]);
        expect([await free(), await remaining('b')]).toEqual([2, 6]);
      });

      test('a group without a free slot charges none of its other limits', async () => {
        for (const id of [x, y, z]) await decide(groupOf([begin(id)]));
        const { overLimit, verdicts } = await decide(groupOf([begin(slotIdOf('w')), take('b')]));
        expect([overLimit, ...verdicts.map(({ fits }) => fits)]).toEqual([true, false, true]);
        expect(await remaining('b')).toBe(10);
      });

      test('a denied request still releases its slot', async () => {
        await decide(groupOf([begin(x), take('full', { hits: 10 })]));
        const denied = await decide(groupOf([end(x), take('full')]));
        expect([denied.overLimit, denied.verdicts.map(({ fits }) => fits)]).toEqual([true, [true, false]]);
        expect(await free()).toBe(3);
      });

      test('two takes of one id share a slot, two ids need two slots, and neither is taken if both do not fit', async () => {
        expect((await decide(groupOf([begin(x), begin(x)]))).verdicts.map((verdict) => [verdict.fits, verdict.remaining])).toEqual([
          [true, 2],
          [true, 2],
        ]);
        expect((await decide(groupOf([begin(x), begin(y)]))).verdicts.map((verdict) => [verdict.fits, verdict.remaining])).toEqual([
          [true, 1],
          [true, 1],
        ]);
        const three = await decide(groupOf([begin(z), begin(slotIdOf('w')), begin(x)]));
        expect([three.overLimit, ...three.verdicts.map(({ fits }) => fits)]).toEqual([true, false, false, true]);
        expect(await free()).toBe(1);
      });

      test('a slot taken again by its id stays taken and lapses at its first time', async () => {
        await decide(groupOf([begin(x)]));
        await opened.setNow(START_US + limit.windowUs - 1);
        expect((await decide(groupOf([begin(x)]))).verdicts[0]).toMatchObject({ fits: true, remaining: 2, resetAfterUs: 1 });
        await opened.setNow(START_US + limit.windowUs);
        expect(await free()).toBe(3);
      });

      test('a shadow take without room takes no slot, and the other takes do', async () => {
        const allowed = await decide(groupOf([begin(undefined, { hits: 4, mode: 'shadow' }), take('b', { limit, slotId: x! })]));
        expect([allowed.overLimit, await free(), await free('b')]).toEqual([false, 3, 2]);
      });

      test('a dry group takes and releases no slot', async () => {
        await decide(groupOf([begin(x)]));
        const dry = { dry: true } as const;
        expect((await decide(groupOf([begin(y)], dry))).verdicts[0]).toMatchObject({ fits: true, remaining: 2 });
        await decide(groupOf([end(x)], dry));
        expect(await free()).toBe(2);
      });

      test('a take gives back only the slot that it made', async () => {
        await decide(groupOf([begin(x)]));
        await opened.setNow(START_US + 5);
        await decide(groupOf([begin(y), begin(undefined)]));
        const back = (slotId: string | undefined, afterUs: number) =>
          adjust('a', { limit, hits: -1, takenAtUs: START_US + afterUs, ...(slotId !== undefined && { slotId }) });
        expect([await back(x, 5), await back(y, 0), await back(z, 5), await back(undefined, 0), await back(undefined, 4)]).toEqual([
          0, 0, 0, 0, 0,
        ]);
        expect([await back(y, 5), await back(y, 5), await free()]).toEqual([1, 0, 1]);
        expect([await back(undefined, 5), await back(undefined, 5), await free()]).toEqual([1, 0, 2]);
        expect([await back(x, 0), await free()]).toEqual([1, 3]);
      });

      test('charge-back of slots has no ids, and an end of a request with an unknown id releases one of them', async () => {
        await decide(groupOf([begin(x)]));
        expect(await adjust('a', { limit, hits: 5 })).toBe(2);
        expect((await decide(groupOf([begin(y)]))).overLimit).toBe(true);
        for (const id of [y, z, y]) await decide(groupOf([end(id)]));
        expect(await free()).toBe(2);
        expect((await decide(groupOf([begin(x), begin(y), begin(z)]))).verdicts[0]).toMatchObject({ fits: true, remaining: 0 });
      });
    });

    describe('adjust', () => {
      test.each(BUCKET_ALGORITHMS)('a charge takes the hits that there is room for, whatever the limit allows (%s)', async (algorithm) => {
        const limit = LIMITS[algorithm];
        expect(await adjust('a', { limit, hits: 1 })).toBe(1);
        expect(await remaining('a', limit)).toBe(limit.capacity - 1);
        expect(await adjust('a', { limit, hits: 1000 })).toBe(limit.capacity - 1);
        expect(await adjust('a', { limit, hits: 1 })).toBe(0);
        expect(await remaining('a', limit)).toBe(0);
        expect((await decide(groupOf([take('a', { limit })]))).overLimit).toBe(true);
      });

      test('a charge under a lowered limit takes nothing from an overdrawn bucket', async () => {
        await decide(groupOf([take('a', { hits: 8 })]));
        expect(await adjust('a', { limit: { ...TEN_PER_SECOND, requestsPerUnit: 5, capacity: 5 } })).toBe(0);
        expect(await remaining('a')).toBe(2);
      });

      test.each(BUCKET_ALGORITHMS)('hits given back at once leave the bucket as it was before the take (%s)', async (algorithm) => {
        const limit = LIMITS[algorithm];
        await decide(groupOf([take('a', { limit })]));
        await opened.setNow(START_US + 7);
        await decide(groupOf([take('a', { limit, hits: 2 })]));
        const used = limit.capacity - (await remaining('a', limit));
        expect(await adjust('a', { limit, hits: -2, takenAtUs: START_US + 7, usedBefore: used - 2 })).toBe(2);
        expect(await remaining('a', limit)).toBe(limit.capacity - 1);
      });

      test.each(BUCKET_ALGORITHMS)('hits come back while others took hits in between (%s)', async (algorithm) => {
        const limit = { ...LIMITS[algorithm], requestsPerUnit: 10, capacity: 10, windowUs: 60_000_000 };
        await decide(groupOf([take('a', { limit, hits: 3 })]));
        await opened.setNow(START_US + 1);
        await decide(groupOf([take('a', { limit, hits: 4 })]));
        await opened.setNow(START_US + 2);
        await decide(groupOf([take('a', { limit, hits: 2 })]));
        expect(await adjust('a', { limit, hits: -4, takenAtUs: START_US + 1, usedBefore: 3 })).toBe(4);
        expect(await remaining('a', limit)).toBe(5);
      });

      test.each(BUCKET_ALGORITHMS.filter((algorithm) => algorithm !== 'budget'))(
        'a bucket gets back no more than is used (%s)',
        async (algorithm) => {
          const limit = LIMITS[algorithm];
          expect(await adjust('a', { limit, hits: -1, takenAtUs: START_US, usedBefore: 0 })).toBe(0);
          await decide(groupOf([take('a', { limit, hits: 2 })]));
          expect(await adjust('a', { limit, hits: -3, takenAtUs: START_US, usedBefore: 0 })).toBe(2);
          expect(await remaining('a', limit)).toBe(limit.capacity);
        },
      );

      test('a budget gets back all, also beyond its limit', async () => {
        const limit = LIMITS.budget;
        expect(await adjust('a', { limit, hits: -1, takenAtUs: START_US, usedBefore: 0 })).toBe(1);
        await decide(groupOf([take('a', { limit, hits: 2 })]));
        expect(await adjust('a', { limit, hits: -3, takenAtUs: START_US, usedBefore: 0 })).toBe(3);
        expect(await remaining('a', limit)).toBe(limit.capacity + 2);
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
      ] as const)('%s: a bucket gets two hits given back after %i µs as %i', async (algorithm, afterUs, applied, left) => {
        const limit = LIMITS[algorithm];
        await decide(groupOf([take('a', { limit, hits: 2 })]));
        await opened.setNow(START_US + afterUs);
        await decide(groupOf([take('a', { limit })]));
        expect(await adjust('a', { limit, hits: -2, takenAtUs: START_US, usedBefore: 0 })).toBe(applied);
        expect(await remaining('a', limit)).toBe(left);
      });

      test('a log gets back only hits taken at exactly that time', async () => {
        const limit = LIMITS.sliding_window_log;
        await decide(groupOf([take('a', { limit, hits: 2 })]));
        expect(await adjust('a', { limit, hits: -2, takenAtUs: START_US - 1, usedBefore: 0 })).toBe(0);
        expect(await adjust('a', { limit, hits: -2, takenAtUs: START_US + 1, usedBefore: 0 })).toBe(0);
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
        expect(await adjust('a', { limit, hits: -4, takenAtUs: START_US, usedBefore })).toBe(given);
      });

      test('a clock that stepped back refills nothing', async () => {
        await decide(groupOf([take('a', { hits: 4 })]));
        await opened.setNow(START_US - 1_000_000);
        expect(await adjust('a', { hits: -4, takenAtUs: START_US })).toBe(4);
        expect(await remaining('a')).toBe(10);
      });

      test('adjustments of one call are applied in order, each with its own result', async () => {
        const limit = THREE_PER_MINUTE;
        const applied = await opened.store.adjust([
          adjustment('a', { hits: 8 }),
          adjustment('b', { limit, hits: 2 }),
          adjustment('a', { hits: 8 }),
          adjustment('a', { hits: -5, takenAtUs: START_US }),
          adjustment('a', { hits: 0 }),
          adjustment('b', { limit, hits: 2 }),
        ]);
        expect(applied).toEqual([8, 2, 2, 5, 0, 1]);
        expect([await remaining('a'), await remaining('b', limit)]).toEqual([5, 0]);
      });

      test('a call without adjustments has no results', async () => {
        expect(await opened.store.adjust([])).toEqual([]);
      });

      test('calendar windows that are not listed, or have ended, are left alone', async () => {
        const limit = { ...THREE_PER_MINUTE, edgesUs: [START_US - 5_000_000, START_US, START_US + 7_000_000] };
        await decide(groupOf([take('a', { limit, hits: 2 })]));
        const givenBack = { limit, hits: -1, usedBefore: 0 };
        expect(await adjust('a', { ...givenBack, takenAtUs: START_US - 1 })).toBe(0);
        expect(await adjust('a', { ...givenBack, takenAtUs: START_US - 5_000_001 })).toBe(0);
        expect(await adjust('a', { ...givenBack, takenAtUs: START_US + 7_000_000 })).toBe(0);
        expect(await adjust('a', { ...givenBack, takenAtUs: START_US })).toBe(1);
        expect(await remaining('a', limit)).toBe(2);
        for (const outsideUs of [START_US - 5_000_001, START_US + 7_000_000]) {
          await opened.setNow(outsideUs);
          expect(await adjust('a', { limit })).toBe(NOT_ADJUSTED);
          expect(await adjust('a', { ...givenBack, takenAtUs: START_US })).toBe(NOT_ADJUSTED);
        }
      });
    });

    test('keys of any printable text stay apart', async () => {
      await decide(groupOf([take('1{d}tb1|k=v', { hits: 10 })]));
      expect(await remaining('1{d}tb1|k=w')).toBe(10);
    });
  });
}
