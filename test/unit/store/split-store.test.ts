/** A race or a failure between check and take is given back exactly, in every interleaving. */

import fc from 'fast-check';
import { ErrorReply } from '@redis/client';
import type { Group, Adjustment, Take } from '../../../src/domain/bucket/take';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { redirectOf } from '../../../src/state/store/redis/client/redirect-error';
import { SplitStore } from '../../../src/state/store/layers/split-store';
import type { GroupOutcome, Store, TakeOptions } from '../../../src/state/store/port/store';
import { StoreError } from '../../../src/state/store/port/store-error';
import { groupOf, LIMITS, take, TEN_PER_SECOND } from '../../support/decisions/groups';
import { decided } from '../../support/decisions/outcomes';
import { seeded } from '../../support/random/random';

const TIMEOUT_MS = 200;

type Interceptor = (group: Group, options: TakeOptions | undefined, ask: () => Promise<GroupOutcome>) => Promise<GroupOutcome>;

/** Buckets in memory, with a say before each group of each call. */
class ScriptedStore implements Store {
  nowUs = 1_800_000_000_000_000;
  readonly memory = new MemoryStore({ nowUs: () => this.nowUs, bucketsMax: 1000 });
  readonly calls: string[] = [];
  readonly adjusted: Adjustment[] = [];
  intercept: Interceptor = (_group, _options, ask) => ask();
  adjustFails = false;

  take(groups: readonly Group[], options?: TakeOptions): Promise<readonly GroupOutcome[]> {
    this.calls.push(
      groups
        .map((group) => `${group.dry === true ? '?' : ''}${group.takes.map(({ bucketKey, hits }) => `${bucketKey}${hits}`).join('+')}`)
        .join(' '),
    );
    return Promise.all(groups.map((group) => this.intercept(group, options, async () => (await this.memory.take([group]))[0]!)));
  }

  adjust(adjustments: readonly Adjustment[]): Promise<readonly number[]> {
    this.adjusted.push(...adjustments);
    return this.adjustFails ? Promise.reject(new StoreError('gone', 'timeout')) : this.memory.adjust(adjustments);
  }

  close(): Promise<void> {
    return this.memory.close();
  }

  async remaining(bucketKey: string, limit = TEN_PER_SECOND): Promise<number> {
    const [outcome] = await this.memory.take([groupOf([take(bucketKey, { hits: 0, limit })])]);
    return decided(outcome).verdicts[0]!.remaining;
  }
}

let inner: ScriptedStore;
let lost: number[];
let givenBack: string[];
let store: SplitStore;

beforeEach(() => {
  inner = new ScriptedStore();
  lost = [];
  givenBack = [];
  store = new SplitStore(inner, {
    partOf,
    timeoutMs: TIMEOUT_MS,
    onHitsLost: (hits) => lost.push(hits),
    onGivenBack: (adjustments) => givenBack.push(...adjustments.map(({ bucketKey }) => bucketKey)),
  });
});

/** The first letter of its key. */
function partOf({ bucketKey }: Take): string {
  return bucketKey.charAt(0);
}

async function decide(group: Group): Promise<GroupOutcome> {
  const [outcome] = await store.take([group]);
  return outcome!;
}

function isDry(group: Group): boolean {
  return group.dry === true;
}

const failed = new StoreError('gone', 'connection');

test('a group of one part is one call, unchanged', async () => {
  const group = groupOf([take('a1'), take('a2', { hits: 2 })]);
  decided(await decide(group));
  expect(inner.calls).toEqual(['a11+a22']);
});

test('a group in two parts is checked, then taken, each in one call', async () => {
  const verdict = decided(await decide(groupOf([take('a1'), take('b1', { hits: 2 }), take('a2')])));
  expect(inner.calls).toEqual(['?a11+a21 ?b12', 'a11+a21 b12']);
  expect(verdict.verdicts.map(({ remaining }) => remaining)).toEqual([9, 8, 9]);
});

test('a part that denies keeps all parts uncharged', async () => {
  await decide(groupOf([take('b1', { hits: 10 })]));
  const verdict = decided(await decide(groupOf([take('a1'), take('b1')])));
  expect(verdict.overLimit).toBe(true);
  expect(verdict.verdicts.map(({ fits, remaining }) => [fits, remaining])).toEqual([
    [true, 10],
    [false, 0],
  ]);
  expect(inner.calls.at(-1)).toBe('?a11 ?b11');
  expect(inner.adjusted).toEqual([]);
});

test('a group that nothing can deny is taken without a check', async () => {
  await decide(groupOf([take('a', { mode: 'shadow' }), take('b', { hits: 0, peek: true })]));
  await decide(groupOf([take('a'), take('b')], { shadow: true }));
  expect(inner.calls).toEqual(['a1 b0', 'a1 b1']);
});

test('a dry group is only checked', async () => {
  const verdict = decided(await decide(groupOf([take('a'), take('b')], { dry: true })));
  expect([verdict.overLimit, inner.calls]).toEqual([false, ['?a1 ?b1']]);
});

describe('a race: the room is gone between check and take', () => {
  /** Somebody else takes all of a bucket just before the second step. */
  function takeAllOf(bucketKey: string, hits = 10): void {
    let isTaken = false;
    inner.intercept = async (group, _options, ask) => {
      if (!isDry(group) && !isTaken) {
        isTaken = true;
        await inner.memory.take([groupOf([take(bucketKey, { hits })])]);
      }
      return ask();
    };
  }

  test.each(Object.entries(LIMITS))('the charge is given back exactly: %s', async (_name, limit) => {
    await inner.memory.take([groupOf([take('a', { limit })])]);
    const before = await inner.remaining('a', limit);
    takeAllOf('b');
    const verdict = decided(await decide(groupOf([take('a', { limit, hits: 2 }), take('b')])));
    expect(verdict.overLimit).toBe(true);
    expect(verdict.verdicts.map(({ fits, remaining }) => [fits, remaining])).toEqual([
      [true, before],
      [false, 0],
    ]);
    expect(inner.adjusted).toMatchObject([{ bucketKey: 'a', hits: -2, takenAtUs: inner.nowUs, usedBefore: limit.capacity - before }]);
    expect(givenBack).toEqual(['a']);
    expect([await inner.remaining('a', limit), lost]).toEqual([before, []]);
  });

  test('several takes on a bucket give back the sum of their charges', async () => {
    const small = { ...TEN_PER_SECOND, requestsPerUnit: 4, capacity: 4 };
    await inner.memory.take([groupOf([take('a')])]);
    takeAllOf('b');
    decided(await decide(groupOf([take('a', { hits: 1 }), take('a', { hits: 2, limit: small }), take('b')])));
    expect(inner.adjusted).toMatchObject([{ bucketKey: 'a', hits: -3, usedBefore: 1, limit: small }]);
    expect([await inner.remaining('a'), lost]).toEqual([9, []]);
  });

  test('hits that can no longer be given back are reported', async () => {
    takeAllOf('b');
    inner.adjustFails = true;
    expect(decided(await decide(groupOf([take('a', { hits: 3 }), take('b')]))).overLimit).toBe(true);
    expect([await inner.remaining('a'), lost]).toEqual([7, [3]]);
  });

  test('quota descriptors that are all over by then deny, and the enforced one is given back', async () => {
    await inner.memory.take([groupOf([take('q1', { hits: 10 })])]);
    const group = groupOf([take('a'), take('q1', { mode: 'quota' }), take('r', { mode: 'quota' })]);
    takeAllOf('r');
    expect(decided(await decide(group)).overLimit).toBe(true);
    expect([await inner.remaining('a'), lost]).toEqual([10, []]);
  });
});

describe('quota descriptors in several parts', () => {
  test('one of two over its limit denies nothing, and only takes that fit are charged', async () => {
    const verdict = decided(await decide(groupOf([take('a', { hits: 11, mode: 'quota' }), take('b', { mode: 'quota' })])));
    expect([verdict.overLimit, await inner.remaining('a'), await inner.remaining('b')]).toEqual([false, 10, 9]);
  });

  test('all of them over deny, unless one always fits', async () => {
    const takes = [take('a', { hits: 11, mode: 'quota' }), take('b', { hits: 11, mode: 'quota' }), take('c')];
    expect(decided(await decide(groupOf(takes))).overLimit).toBe(true);
    expect(await inner.remaining('c')).toBe(10);
    expect(decided(await decide(groupOf(takes, { quotaAlwaysFits: true }))).overLimit).toBe(false);
    expect(await inner.remaining('c')).toBe(9);
  });
});

test('global shadow mode charges the takes that fit in every part', async () => {
  const verdict = decided(await decide(groupOf([take('a', { hits: 11 }), take('b')], { shadow: true })));
  expect([verdict.overLimit, verdict.verdicts.map(({ fits }) => fits)]).toEqual([false, [false, true]]);
  expect([await inner.remaining('a'), await inner.remaining('b')]).toEqual([10, 9]);
});

describe('checks and usage reports in several parts', () => {
  const report = (key: string, hits: number): Take => take(key, { hits, overdraftMax: 10 });

  test('a check that finds nothing left denies, and other parts are not charged', async () => {
    await inner.memory.take([groupOf([take('b', { hits: 10 })])]);
    const verdict = decided(await decide(groupOf([take('a'), take('b', { hits: 0 })])));
    expect([verdict.overLimit, await inner.remaining('a'), inner.calls.at(-1)]).toEqual([true, 10, '?a1 ?b0']);
  });

  test('a denied request is charged its reports, and nothing else', async () => {
    await inner.memory.take([groupOf([take('b', { hits: 10 })])]);
    const verdict = decided(await decide(groupOf([report('a', 4), take('a2', { hits: 2 }), take('b'), report('c', 12)])));
    expect(verdict.overLimit).toBe(true);
    expect(verdict.verdicts).toMatchObject([
      { fits: true, remaining: 6 },
      { fits: true, remaining: 10 },
      { fits: false },
      { fits: false, debt: 2 },
    ]);
    expect([await inner.remaining('a'), await inner.remaining('a2'), await inner.remaining('c')]).toEqual([6, 10, 0]);
    expect(inner.calls).toEqual(['?a4+a22 ?b1 ?c12', 'a4+a20 c12']);
  });

  test('three rules of one call, one of them in debt, are all charged', async () => {
    await inner.memory.take([groupOf([report('b', 15)])]);
    decided(await decide(groupOf([report('a', 3), report('b', 3), report('c', 3)])));
    const [debt] = decided((await inner.memory.take([groupOf([take('b', { hits: 0 })])]))[0]).verdicts;
    expect([await inner.remaining('a'), debt, await inner.remaining('c')]).toMatchObject([7, { fits: false, debt: 8 }, 7]);
  });

  test('a charged report is not given back when another part denies', async () => {
    let isTaken = false;
    inner.intercept = async (group, _options, ask) => {
      if (!isDry(group) && !isTaken) {
        isTaken = true;
        await inner.memory.take([groupOf([take('b', { hits: 10 })])]);
      }
      return ask();
    };
    const verdict = decided(await decide(groupOf([report('a', 4), take('a2', { hits: 2 }), take('b')])));
    expect([verdict.overLimit, await inner.remaining('a'), await inner.remaining('a2')]).toEqual([true, 6, 10]);
  });

  test('a report that a part can no longer charge counts as lost, and the answer stays', async () => {
    await inner.memory.take([groupOf([take('b', { hits: 10 })])]);
    inner.intercept = (group, _options, ask) =>
      !isDry(group) && group.takes.some(({ bucketKey }) => bucketKey === 'a') ? Promise.resolve(failed) : ask();
    const verdict = decided(await decide(groupOf([report('a', 4), take('b')])));
    expect([verdict.overLimit, lost]).toEqual([true, [4]]);
  });

  test('the refund of a report is applied to a denied request', async () => {
    await inner.memory.take([groupOf([take('a', { hits: 5 }), take('b', { hits: 10 })])]);
    expect(decided(await decide(groupOf([report('a', -3), take('b')]))).overLimit).toBe(true);
    expect(await inner.remaining('a')).toBe(8);
  });
});

describe('a part that fails', () => {
  test('a failed check charges nothing', async () => {
    inner.intercept = (group, _options, ask) => (group.takes[0]?.bucketKey === 'b' ? Promise.resolve(failed) : ask());
    expect(await decide(groupOf([take('a'), take('b')]))).toBe(failed);
    expect(inner.calls).toEqual(['?a1 ?b1']);
  });

  test('a failed take makes the other parts give back, and its possible charge is reported', async () => {
    inner.intercept = (group, _options, ask) => (!isDry(group) && group.takes[0]?.bucketKey === 'b' ? Promise.resolve(failed) : ask());
    expect(await decide(groupOf([take('a', { hits: 4 }), take('b', { hits: 2 })]))).toBe(failed);
    expect([await inner.remaining('a'), lost]).toEqual([10, [2]]);
  });

  test('a store that throws fails every part', async () => {
    inner.intercept = () => Promise.reject(failed);
    expect(await decide(groupOf([take('a'), take('b')]))).toBe(failed);
  });

  test('no step gets more time than is left, and none begins after it', async () => {
    const given: number[] = [];
    let nowMs = 1_000;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    // Two parts of a step, 30 ms together.
    inner.intercept = async (_group, options, ask) => {
      given.push(options!.timeoutMs!);
      const answer = await ask();
      nowMs += 15;
      return answer;
    };
    decided(await decide(groupOf([take('a'), take('b')])));
    expect(given).toEqual([TIMEOUT_MS, TIMEOUT_MS, TIMEOUT_MS - 30, TIMEOUT_MS - 30]);
    const [late] = await store.take([groupOf([take('a'), take('b')])], { timeoutMs: 20 });
    clock.mockRestore();
    expect(late).toMatchObject({ reason: 'timeout' });
    expect(inner.calls.at(-1)).toBe('?a1 ?b1');
    expect(lost).toEqual([]);
  });

  test('an answer does not wait for a slow return of hits', async () => {
    inner.intercept = (group, _options, ask) => (!isDry(group) && group.takes[0]?.bucketKey === 'b' ? Promise.resolve(failed) : ask());
    let giveBack: (() => void) | undefined;
    inner.adjust = (adjustments) =>
      new Promise((resolve) => {
        giveBack = () => {
          resolve(adjustments.map(({ hits }) => -hits));
        };
      });
    const [outcome] = await store.take([groupOf([take('a'), take('b')])], { timeoutMs: 30 });
    expect(outcome).toBe(failed);
    giveBack!();
    await new Promise((resolve) => setImmediate(resolve));
    expect(lost).toEqual([1]);
  });
});

describe('refunds', () => {
  test('refunds are applied last, and show in the answer', async () => {
    await inner.memory.take([groupOf([take('a', { hits: 5 }), take('b', { hits: 5 })])]);
    const verdict = decided(await decide(groupOf([take('a', { hits: -3 }), take('b'), take('b2', { hits: -1 })])));
    expect(verdict.verdicts.map(({ remaining }) => remaining)).toEqual([8, 4, 10]);
    expect(inner.calls).toEqual(['?a-3 ?b1+b2-1', 'a0 b1+b20', 'a-3 b0+b2-1']);
  });

  test('refunds of a denied request are not applied', async () => {
    await inner.memory.take([groupOf([take('a', { hits: 5 }), take('b', { hits: 10 })])]);
    expect(decided(await decide(groupOf([take('a', { hits: -3 }), take('b')]))).overLimit).toBe(true);
    expect(await inner.remaining('a')).toBe(5);
  });

  test('failed refunds are reported, and the answer stays', async () => {
    await inner.memory.take([groupOf([take('a', { hits: 5 })])]);
    inner.intercept = (group, _options, ask) =>
      !isDry(group) && group.takes.some(({ hits }) => hits < 0) ? Promise.resolve(failed) : ask();
    const verdict = decided(await decide(groupOf([take('a', { hits: -3 }), take('b')])));
    expect([verdict.overLimit, verdict.verdicts.map(({ remaining }) => remaining), lost]).toEqual([false, [5, 9], [3]]);
  });
});

describe('calendar windows that are not listed', () => {
  const edgesUs = [0, 10];
  const outside = groupOf([take('a'), take('b', { limit: { ...LIMITS.fixed_window, edgesUs } })]);

  test('a check outside of them charges nothing, and is reported', async () => {
    expect(await decide(outside)).toEqual({ outsideAtUs: inner.nowUs });
    expect(inner.calls).toEqual(['?a1 ?b1']);
  });

  test('a take outside of them gives back the other charges', async () => {
    inner.intercept = async (group, _options, ask) =>
      isDry(group)
        ? decided((await inner.memory.take([{ ...group, takes: group.takes.map((each) => ({ ...each, limit: TEN_PER_SECOND })) }]))[0])
        : ask();
    expect(await decide(outside)).toEqual({ outsideAtUs: inner.nowUs });
    expect([await inner.remaining('a'), lost]).toEqual([10, []]);
  });
});

describe('a part whose buckets are torn apart by a moving slot', () => {
  const torn = redirectOf(new ErrorReply('TRYAGAIN Multiple keys request during rehashing of slot'))!;

  beforeEach(() => {
    inner.intercept = (group, _options, ask) =>
      new Set(group.takes.map(({ bucketKey }) => bucketKey)).size > 1 ? Promise.resolve(torn) : ask();
  });

  test('is split by bucket', async () => {
    const verdict = decided(await decide(groupOf([take('a1'), take('a2'), take('a1')])));
    expect(verdict.verdicts.map(({ remaining }) => remaining)).toEqual([8, 9, 8]);
    expect(inner.calls).toEqual(['a11+a21+a11', '?a11+a11 ?a21', 'a11+a11 a21']);
  });

  test('is split as one of several parts, and after its check', async () => {
    decided(await decide(groupOf([take('a1'), take('a2'), take('b')])));
    expect(inner.calls).toEqual(['?a11+a21 ?b1', '?a11 ?a21', 'a11 a21 b1']);
    inner.calls.length = 0;
    const { intercept } = inner;
    inner.intercept = (group, options, ask) => (isDry(group) ? ask() : intercept(group, options, ask));
    decided(await decide(groupOf([take('a1'), take('a2'), take('b')])));
    expect(inner.calls).toEqual(['?a11+a21 ?b1', 'a11+a21 b1', 'a11 a21']);
  });

  test('charges nothing when one of its buckets denies', async () => {
    await inner.memory.take([groupOf([take('a2', { hits: 10 })])]);
    expect(decided(await decide(groupOf([take('a1'), take('a2')]))).overLimit).toBe(true);
    expect(await inner.remaining('a1')).toBe(10);
  });
});

test('concurrent callers on two buckets in different parts never over-grant, and the charge equals the admitted hits', async () => {
  const hits = fc.integer({ min: 1, max: 4 });
  const caller = fc.record({ a: hits, b: hits, delays: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 4, maxLength: 4 }) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(caller, { minLength: 2, maxLength: 12 }),
      fc.constantFrom(...Object.values(LIMITS)),
      async (callers, limit) => {
        inner = new ScriptedStore();
        let turn = 0;
        const delays = callers.flatMap((each) => each.delays);
        inner.intercept = async (_group, _options, ask) => {
          turn += 1;
          for (let n = delays[turn % delays.length]!; n > 0; n -= 1) await Promise.resolve();
          return ask();
        };
        store = new SplitStore(inner, { partOf, timeoutMs: 5_000, onHitsLost: (each) => lost.push(each), onGivenBack: () => undefined });
        const answers = await Promise.all(
          callers.map(({ a, b }) => decide(groupOf([take('a', { hits: a, limit }), take('b', { hits: b })]))),
        );
        const admitted = callers.filter((_, i) => !decided(answers[i]).overLimit);
        const sum = (of: 'a' | 'b') => admitted.reduce((total, each) => total + each[of], 0);
        expect(sum('a')).toBeLessThanOrEqual(limit.capacity);
        expect(sum('b')).toBeLessThanOrEqual(10);
        expect([await inner.remaining('a', limit), await inner.remaining('b')]).toEqual([limit.capacity - sum('a'), 10 - sum('b')]);
        expect(lost).toEqual([]);
      },
    ),
    seeded(500),
  );
});
