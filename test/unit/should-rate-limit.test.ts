/** Requests that arrive together are one call of the store, each with its own outcome. */

import type { Group } from '../../src/domain/bucket/take';
import type { DecidedRequest } from '../../src/domain/respond/decided/decided-request';
import { BadRequestError } from '../../src/lib/errors';
import { FallbackStore } from '../../src/state/resilience/fallback';
import { UsageSnapshot } from '../../src/state/resilience/usage-snapshot';
import { makeShouldRateLimit } from '../../src/should-rate-limit';
import { MemoryStore } from '../../src/state/store/memory/memory-store';
import type { GroupOutcome, Store } from '../../src/state/store/port/store';
import { StoreError } from '../../src/state/store/port/store-error';
import { alone } from '../support/decisions/decide-one';
import { entriesOf, levelOf, limitOf, requestOf, ruleOf, ruleSetOf } from '../support/decisions/rules';

const START_US = 1_800_000_000_000_000;
const DAY_US = 86_400_000_000;
const REQUEST = requestOf([{ entries: entriesOf('k=v') }]);

function path(store: Store, { rule = ruleOf(), nowUs = START_US } = {}) {
  const records: DecidedRequest[] = [];
  const decideAll = makeShouldRateLimit({
    ruleSet: () => ruleSetOf(levelOf({ k: rule })),
    store,
    modes: { shadow: false, quota: false },
    keyPrefix: 'p-',
    nowUs: () => nowUs,
    record: (decided) => records.push(decided),
  });
  return { decide: alone(decideAll), decideAll, records };
}

/** A store that keeps what it was asked, and answers what it is told. */
class FakeStore implements Store {
  readonly asked: Group[] = [];

  constructor(private readonly outcomes: readonly GroupOutcome[]) {}

  take(groups: readonly Group[]): Promise<readonly GroupOutcome[]> {
    this.asked.push(...groups);
    const outcome = this.outcomes[this.asked.length - 1];
    return Promise.resolve(outcome === undefined ? [] : [outcome]);
  }

  adjust(): Promise<readonly number[]> {
    return Promise.reject(new Error('a request adjusts nothing'));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

test('a limited request calls the store once, and is recorded', async () => {
  const store = new MemoryStore({ nowUs: () => START_US, bucketsMax: 10 });
  const { decide, records } = path(store);
  const decision = await decide(REQUEST, {});
  expect(decision).toMatchObject({ overallCode: 'OK', statuses: [{ code: 'OK', limitRemaining: 9, durationUntilResetUs: 100_000 }] });
  expect(records).toEqual([{ request: REQUEST, matched: expect.anything() as unknown, verdict: expect.anything() as unknown, decision }]);
});

test('a request without limits does not call the store', async () => {
  const store = new FakeStore([]);
  const decision = await path(store).decide(requestOf([{ entries: entriesOf('other=v') }]), {});
  expect(decision).toMatchObject({ overallCode: 'OK', statuses: [{ code: 'OK', limitRemaining: 0 }] });
  expect(store.asked).toEqual([]);
});

test('keys have the prefix, and takes the hits of their descriptor', async () => {
  const store = new FakeStore([{ overLimit: false, nowUs: 0, verdicts: [] }]);
  await path(store).decide(requestOf([{ entries: entriesOf('k=v') }, { entries: entriesOf('k=w'), hits: 0 }], { hits: 7 }), {});
  expect(store.asked[0]?.takes.map(({ bucketKey, hits, descriptor }) => [bucketKey, hits, descriptor])).toEqual([
    ['p-1{d}tb1|k=v', 7, 0],
    ['p-1{d}tb1|k=w', 0, 1],
  ]);
});

test("a group's own error is thrown", async () => {
  const error = new StoreError('no', 'script');
  await expect(path(new FakeStore([error])).decide(REQUEST, {})).rejects.toBe(error);
});

test('requests that arrive together are one call of the store, each with its own outcome', async () => {
  const store = new FakeStore([]);
  const error = new StoreError('no', 'script');
  const verdict = { overLimit: false, nowUs: 0, verdicts: [{ fits: true, remaining: 3, retryAfterUs: 0, resetAfterUs: 5 }] };
  const calls: number[] = [];
  store.take = (groups) => {
    calls.push(groups.length);
    return Promise.resolve([verdict, error, { ...verdict, overLimit: true }]);
  };
  const { decideAll, records } = path(store);
  const unlimited = requestOf([{ entries: entriesOf('other=v') }]);
  const bad = requestOf([{ entries: entriesOf('k=v'), override: { requestsPerUnit: 1, unit: 'year', unitMultiplier: 1_000_000 } }]);
  const outcomes = await decideAll([REQUEST, unlimited, REQUEST, bad, REQUEST], {});
  expect(calls).toEqual([3]);
  expect(outcomes).toEqual([
    expect.objectContaining({ overallCode: 'OK' }),
    expect.objectContaining({ overallCode: 'OK' }),
    error,
    expect.any(BadRequestError),
    expect.objectContaining({ overallCode: 'OVER_LIMIT' }),
  ]);
  expect(records).toHaveLength(3);
});

test('an error in one answer fails that answer alone, and the others have been charged', async () => {
  const store = new MemoryStore({ nowUs: () => START_US, bucketsMax: 10 });
  const { decideAll, records } = path(store);
  let recorded = 0;
  records.push = () => {
    recorded += 1;
    if (recorded === 2) throw new Error('no place for it');
    return recorded;
  };
  const outcomes = await decideAll([REQUEST, REQUEST, REQUEST], {});
  expect(outcomes.map((outcome) => (outcome instanceof Error ? outcome.message : outcome.statuses[0]!.limitRemaining))).toEqual([
    9,
    'no place for it',
    7,
  ]);
});

test('additions to answers are computed once for each rule set, from the request and its decision', async () => {
  const store = new MemoryStore({ nowUs: () => START_US, bucketsMax: 10 });
  const sets = [1, 2].map((generation) => ({ ...ruleSetOf(levelOf({ k: ruleOf() })), generation }));
  let inForce = sets[0]!;
  const asked: number[] = [];
  const decideAll = makeShouldRateLimit({
    ruleSet: () => inForce,
    store,
    modes: { shadow: false, quota: false },
    keyPrefix: '',
    nowUs: () => START_US,
    additions: ({ generation }) => {
      asked.push(generation);
      // Nothing is added under the first.
      return generation === 1 ? undefined : ({ request, decision }) => ({ ...decision, metadata: { generation, hits: request.hits } });
    },
    record: () => undefined,
  });
  const hits = requestOf([{ entries: entriesOf('k=v') }], { hits: 3 });
  for (const ruleSet of [...sets, ...sets.slice(1)]) {
    inForce = ruleSet;
    const { metadata, statuses } = await alone(decideAll)(hits, {});
    expect(statuses).toHaveLength(1);
    expect(metadata).toEqual(ruleSet.generation === 1 ? undefined : { generation: 2, hits: 3 });
  }
  expect(asked).toEqual([1, 2]);
});

describe('windows of the calendar', () => {
  const rule = ruleOf({ limits: [limitOf({ unit: 'day', algorithm: 'fixed_window', calendarTimeZone: 'UTC' })] });

  test('the store gets the windows around now', async () => {
    const store = new MemoryStore({ nowUs: () => START_US, bucketsMax: 10 });
    // 2027-01-15 08:00: 16 hours to midnight.
    expect(await path(store, { rule }).decide(REQUEST, {})).toMatchObject({ statuses: [{ durationUntilResetUs: 57_600_000_000 }] });
  });

  test('a store whose clock is elsewhere is called once more, with the windows around its clock', async () => {
    const farUs = START_US + 40 * DAY_US;
    const store = new MemoryStore({ nowUs: () => farUs, bucketsMax: 10 });
    expect(await path(store, { rule }).decide(REQUEST, {})).toMatchObject({
      statuses: [{ limitRemaining: 9, durationUntilResetUs: 57_600_000_000 }],
    });
  });

  test('the process clock decides if a store with its own clock fails before the second call', async () => {
    const ofStore = new MemoryStore({ nowUs: () => START_US + 400 * DAY_US, bucketsMax: 10 });
    let asks = 0;
    const goesAway: Store = {
      take: (groups) => {
        asks += 1;
        return asks === 1 ? ofStore.take(groups) : Promise.reject(new StoreError('gone', 'connection', { mayHaveRun: false }));
      },
      adjust: () => Promise.resolve([]),
      close: () => Promise.resolve(),
    };
    const store = new FallbackStore(goesAway, {
      failureMode: 'local',
      local: new MemoryStore({ nowUs: () => START_US, bucketsMax: 10 }),
      lastKnown: new UsageSnapshot({ nowMs: () => 0, bucketsMax: 10 }),
      accountsMax: 10,
      nowMs: () => 0,
      nowUs: () => START_US,
      instances: () => 1,
      onFallback: () => undefined,
      onChargedBack: () => undefined,
      onLost: () => undefined,
    });
    // Of the share, which is eight.
    expect(await path(store, { rule }).decide(REQUEST, {})).toMatchObject({ overallCode: 'OK', statuses: [{ limitRemaining: 7 }] });
  });

  test('a store that never accepts the windows is an error, not a loop', async () => {
    const store = new FakeStore(Array.from({ length: 10 }, (_, i) => ({ outsideAtUs: i * 40 * DAY_US })));
    await expect(path(store, { rule }).decide(REQUEST, {})).rejects.toThrow('the store asked for other calendar windows 4 times');
    expect(store.asked.length).toBe(4);
  });
});
