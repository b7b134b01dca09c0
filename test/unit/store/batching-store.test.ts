/** Requests that arrive together become one command of at most 100 takes, and each gets its own answer. */

import { ErrorReply } from '@redis/client';
import type { Group, Adjustment } from '../../../src/domain/bucket/take';
import { BreakerStore } from '../../../src/state/resilience/breaker';
import {
  BATCHES_IN_FLIGHT_MAX,
  BATCH_TAKES_MAX,
  BatchingStore,
  type BatchingOptions,
} from '../../../src/state/store/layers/batching-store';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { redirectOf } from '../../../src/state/store/redis/client/redirect-error';
import type { GroupOutcome, AdjustOutcome, Store, TakeOptions } from '../../../src/state/store/port/store';
import { StoreError } from '../../../src/state/store/port/store-error';
import { groupOf, LIMITS, adjustment, take } from '../../support/decisions/groups';
import { decided } from '../../support/decisions/outcomes';

const GROUPS_MAX = 1_000;
const TIMEOUT_MS = 5;

/** Answers out of its memory, when it is told to. */
class HeldStore implements Store {
  /** The bucket keys of each command. */
  readonly commands: string[][] = [];
  readonly options: (TakeOptions | undefined)[] = [];
  adjusted = 0;
  isClosed = false;
  isHeld = false;
  failing: Error | undefined;
  private readonly memory = new MemoryStore({ nowUs: () => 0, bucketsMax: 1000 });
  private readonly held: (() => void)[] = [];

  async take(groups: readonly Group[], options?: TakeOptions): Promise<readonly GroupOutcome[]> {
    this.commands.push(groups.flatMap(({ takes }) => takes.map(({ bucketKey }) => bucketKey)));
    this.options.push(options);
    if (this.isHeld) await new Promise<void>((resolve) => this.held.push(resolve));
    if (this.failing !== undefined) throw this.failing;
    const outcomes = await this.memory.take(groups);
    return outcomes.map((outcome, i) => (groups[i]?.takes[0]?.bucketKey === 'bad' ? new StoreError('no bucket', 'script') : outcome));
  }

  adjust(adjustments: readonly Adjustment[]): Promise<readonly AdjustOutcome[]> {
    this.adjusted += adjustments.length;
    return this.memory.adjust(adjustments);
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }

  /** Answers the command that has waited longest. */
  answerOne(): void {
    this.held.shift()?.();
  }
}

let inner: HeldStore;
let clock: { nowMs: number };
let givenUp: string[];

beforeEach(() => {
  inner = new HeldStore();
  clock = { nowMs: 0 };
  givenUp = [];
});

function open(options: Partial<BatchingOptions> = {}, store: Store = inner): BatchingStore {
  return new BatchingStore(store, {
    partOf: () => 0,
    groupsMax: GROUPS_MAX,
    timeoutMs: TIMEOUT_MS,
    nowMs: () => clock.nowMs,
    onGivenUp: (reason) => givenUp.push(reason),
    ...options,
  });
}

/** The loop has turned as often as it takes: all that was asked for has been sent. */
async function turn(): Promise<void> {
  for (let turns = 0; turns < 3; turns += 1) await oneTurn();
}

function oneTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function ask(store: Store, key: string, options?: TakeOptions): Promise<readonly GroupOutcome[]> {
  return store.take([groupOf([take(key)])], options);
}

/** Keeps the store busy, so that what is asked next gathers. */
async function occupy(store: Store): Promise<void> {
  inner.isHeld = true;
  for (let i = 0; i < BATCHES_IN_FLIGHT_MAX; i += 1) {
    void ask(store, `busy-${i}`).catch((error: unknown) => error);
    await turn();
  }
  inner.commands.length = 0;
}

test('calls of one turn are one command, and each gets its own answer', async () => {
  const store = open();
  const answers = await Promise.all(['a', 'b', 'a'].map((key) => ask(store, key)));
  expect(inner.commands).toEqual([['a', 'b', 'a']]);
  expect(answers.map(([outcome]) => decided(outcome).verdicts[0]!.remaining)).toEqual([9, 9, 8]);
});

test('a call of several groups gets all their answers', async () => {
  const store = open();
  const [, two] = await Promise.all([ask(store, 'a'), store.take([groupOf([take('a')]), groupOf([take('b')])]), ask(store, 'c')]);
  expect(inner.commands).toEqual([['a', 'a', 'b', 'c']]);
  expect(two.map((outcome) => decided(outcome).verdicts[0]!.remaining)).toEqual([8, 9]);
});

test('an idle store is called in the same turn, without a timer', async () => {
  void ask(open(), 'a');
  await oneTurn();
  expect(inner.commands).toEqual([['a']]);
});

test('a busy store is called a turn later, with the calls of that turn', async () => {
  inner.isHeld = true;
  const store = open();
  void ask(store, 'a');
  await oneTurn();
  void ask(store, 'b');
  await oneTurn();
  expect(inner.commands).toEqual([['a']]);
  void ask(store, 'c');
  await oneTurn();
  expect(inner.commands).toEqual([['a'], ['b', 'c']]);
});

test('calls gather while commands are under way, and leave when one returns', async () => {
  const store = open();
  await occupy(store);
  const gathered = ['a', 'b', 'c'].map((key) => ask(store, key));
  await turn();
  expect(inner.commands).toEqual([]);
  inner.answerOne();
  await turn();
  expect(inner.commands).toEqual([['a', 'b', 'c']]);
  inner.isHeld = false;
  for (let i = 0; i < BATCHES_IN_FLIGHT_MAX; i += 1) inner.answerOne();
  await Promise.all(gathered);
});

test('a command carries a bounded number of takes, and a call with more goes alone and whole', async () => {
  const store = open();
  const large = store.take([groupOf(Array.from({ length: BATCH_TAKES_MAX + 7 }, (_, i) => take(`l${i}`)))]);
  const small = Array.from({ length: BATCH_TAKES_MAX + 1 }, () => ask(store, 'a'));
  await Promise.all([large, ...small]);
  expect(inner.commands.map(({ length }) => length)).toEqual([BATCH_TAKES_MAX + 7, BATCH_TAKES_MAX, 1]);
});

test('a take on a long log counts as many takes', async () => {
  const store = open();
  const log = { ...LIMITS.sliding_window_log, requestsPerUnit: 10_000, capacity: 10_000 };
  await Promise.all(Array.from({ length: 20 }, () => store.take([groupOf([take('log', { limit: log })])])));
  expect(inner.commands.map(({ length }) => length)).toEqual([9, 9, 2]);
});

test('each part has its own command, all in one turn', async () => {
  const store = open({ partOf: ({ takes: [first] }) => Number(first!.bucketKey[0]) });
  const calls = ['1a', '2a', '1b', '3a', '2b'].map((key) => ask(store, key));
  await turn();
  expect(inner.commands).toEqual([['1a', '1b'], ['2a', '2b'], ['3a']]);
  await Promise.all(calls);
});

test('a group that cannot be decided fails its call alone', async () => {
  const store = open();
  const [good, bad] = await Promise.all([ask(store, 'a'), ask(store, 'bad')]);
  expect(decided(good[0]).overLimit).toBe(false);
  expect(bad[0]).toBeInstanceOf(StoreError);
});

test('a failed command fails all its calls, and is one failure for the breaker', async () => {
  inner.failing = new StoreError('gone', 'connection');
  const breaker = new BreakerStore(inner, { failures: 2, windowMs: 10_000, openMs: 30_000, nowMs: () => 0, onState: () => undefined });
  const store = open({}, breaker);
  const reasonsOf = (calls: number) =>
    Promise.all(Array.from({ length: calls }, () => ask(store, 'a').catch((error: unknown) => (error as StoreError).reason)));
  expect(await reasonsOf(50)).toEqual(Array(50).fill('connection'));
  expect(await reasonsOf(1)).toEqual(['connection']);
  expect(await reasonsOf(2)).toEqual(['breaker', 'breaker']);
  expect(givenUp).toEqual([]);
  await breaker.close();
});

test('beyond its bound a call fails at once, and those before it do not', async () => {
  const store = open({ groupsMax: 3 });
  await occupy(store);
  const free = 3 - BATCHES_IN_FLIGHT_MAX;
  const waiting = Array.from({ length: free }, () => ask(store, 'a'));
  await expect(ask(store, 'a')).rejects.toMatchObject({
    reason: 'overload',
    mayHaveRun: false,
    message: 'over 3 calls are waiting for Redis',
  });
  expect(givenUp).toEqual(['overload']);
  inner.isHeld = false;
  for (let i = 0; i < BATCHES_IN_FLIGHT_MAX; i += 1) inner.answerOne();
  await Promise.all(waiting);
  await Promise.all(Array.from({ length: 3 }, () => ask(store, 'a')));
});

test('a call with more groups than there is room for decides the first ones', async () => {
  const store = open({ groupsMax: 3 });
  const outcomes = await store.take(['a', 'b', 'c', 'd', 'e'].map((key) => groupOf([take(key)])));
  expect(inner.commands).toEqual([['a', 'b', 'c']]);
  expect(outcomes.slice(0, 3).map((outcome) => decided(outcome).overLimit)).toEqual([false, false, false]);
  expect(outcomes.slice(3)).toEqual(Array(2).fill(expect.objectContaining({ reason: 'overload', mayHaveRun: false })));
  expect(givenUp).toEqual(['overload', 'overload']);
  // There is room again.
  expect(await store.take(['a', 'b', 'c'].map((key) => groupOf([take(key)])))).toHaveLength(3);
});

test('a call of many groups is several commands, and a failed one fails only its own groups', async () => {
  const store = open();
  const groups = Array.from({ length: 3 * BATCH_TAKES_MAX }, (_, i) => groupOf([take(`a${i}`), take(`b${i}`)]));
  const outcomes = await store.take(groups);
  expect(inner.commands.map(({ length }) => length)).toEqual(Array(6).fill(BATCH_TAKES_MAX));
  expect(inner.commands.flat().filter((key) => key.startsWith('a'))).toEqual(groups.map((_, i) => `a${i}`));
  expect(outcomes.map((outcome) => decided(outcome).verdicts[1]!.remaining)).toEqual(Array(groups.length).fill(9));
  inner.isHeld = true;
  const failing = store.take(groups.slice(0, BATCH_TAKES_MAX));
  await turn();
  inner.failing = new StoreError('gone', 'connection');
  inner.answerOne();
  await turn();
  inner.failing = undefined;
  inner.answerOne();
  const reasons = (await failing).map((outcome) => (outcome instanceof StoreError ? outcome.reason : 'decided'));
  expect(reasons).toEqual([
    ...Array<string>(BATCH_TAKES_MAX / 2).fill('connection'),
    ...Array<string>(BATCH_TAKES_MAX / 2).fill('decided'),
  ]);
});

describe('a caller with little time', () => {
  test('a caller that gives up in the queue leaves it uncharged', async () => {
    const store = open();
    await occupy(store);
    await expect(ask(store, 'a', { timeoutMs: 1 })).rejects.toMatchObject({
      reason: 'caller_timeout',
      mayHaveRun: false,
      message: 'the store did not answer within 1 ms',
    });
    inner.answerOne();
    await turn();
    expect(inner.commands).toEqual([]);
    expect(givenUp).toEqual(['caller_timeout']);
  });

  test('a caller that gives up after its command was sent may have been charged', async () => {
    const store = open();
    inner.isHeld = true;
    await expect(ask(store, 'a', { timeoutMs: 1 })).rejects.toMatchObject({ reason: 'caller_timeout', mayHaveRun: true });
    expect(inner.commands).toEqual([['a']]);
  });

  test('a caller gets its answer before its deadline where commands may take longer', async () => {
    const store = open({ longestMs: () => 60_000 });
    await occupy(store);
    await expect(ask(store, 'a', { timeoutMs: 20 })).rejects.toMatchObject({ reason: 'caller_timeout', mayHaveRun: false });
  });

  test('a caller gets it too if its time was enough on arrival', async () => {
    const store = open();
    await occupy(store);
    const [late, gone] = [ask(store, 'late', { timeoutMs: 8 }), ask(store, 'gone', { timeoutMs: 6 })].map((call) =>
      call.catch((error: unknown) => error),
    );
    clock.nowMs = 7;
    inner.answerOne();
    expect(await gone).toMatchObject({ reason: 'caller_timeout', mayHaveRun: false });
    expect(inner.commands).toEqual([['late']]);
    expect(await late).toMatchObject({ reason: 'caller_timeout', mayHaveRun: true, message: 'the store did not answer within 8 ms' });
  });

  test('a caller gets an answer that arrives in time', async () => {
    const [outcome] = await ask(open(), 'a', { timeoutMs: 4 });
    expect(decided(outcome).overLimit).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, 8));
    expect(givenUp).toEqual([]);
  });
});

describe('a call that waits for longer than a command may take', () => {
  async function waitLong(store: Store): Promise<Promise<unknown>> {
    const waiting = ask(store, 'a').catch((error: unknown) => error);
    clock.nowMs = TIMEOUT_MS;
    inner.answerOne();
    await turn();
    return waiting;
  }

  test('it is sent while the store answers, so that load widens no limit', async () => {
    const store = open();
    await occupy(store);
    void waitLong(store);
    await turn();
    expect(inner.commands).toEqual([['a']]);
    expect(givenUp).toEqual([]);
  });

  test('it fails if the store does not answer', async () => {
    const store = open();
    await occupy(store);
    inner.failing = new StoreError('too late', 'timeout');
    expect(await waitLong(store)).toMatchObject({ reason: 'timeout', mayHaveRun: false });
    expect(inner.commands).toEqual([]);
    expect(givenUp).toEqual(['timeout']);
  });
});

describe('a slot that moves', () => {
  /** What each command is answered; beyond them, out of its memory. */
  function answering(...errors: readonly string[]): void {
    const left = errors.map((message) => redirectOf(new ErrorReply(message))!);
    const takeOf = inner.take.bind(inner);
    inner.take = async (groups, options) => {
      const outcomes = await takeOf(groups, options);
      const error = left.shift();
      if (error !== undefined) throw error;
      return outcomes;
    };
  }

  test.each(['ASK 1 b:2', 'TRYAGAIN no'])('%s: each call is repeated alone, and gets its own answer', async (message) => {
    answering(message, message);
    const store = open();
    const [first, second] = await Promise.allSettled([ask(store, 'a'), ask(store, 'b')]);
    expect(inner.commands).toEqual([['a', 'b'], ['a'], ['b']]);
    expect(first).toMatchObject({ status: 'rejected', reason: { reason: 'redirected' } });
    expect(second.status).toBe('fulfilled');
  });

  test('for good: all calls fail at once', async () => {
    answering('MOVED 1 b:2');
    const store = open();
    const told = await Promise.allSettled([ask(store, 'a'), ask(store, 'b')]);
    expect(told.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(inner.commands).toEqual([['a', 'b']]);
  });
});

test('adjustments bypass the queue', async () => {
  const store = open();
  await occupy(store);
  inner.isHeld = false;
  expect(await store.adjust([adjustment('a')])).toEqual([1]);
  expect(inner.adjusted).toBe(1);
});

test('a closed batch fails its waiting calls uncharged and closes its store', async () => {
  const store = open();
  await occupy(store);
  const waiting = ask(store, 'a');
  await Promise.all([expect(waiting).rejects.toMatchObject({ reason: 'connection', mayHaveRun: false }), store.close()]);
  expect(inner.isClosed).toBe(true);
});

describe('with a pipeline window', () => {
  const WINDOW_MS = 2;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate', 'performance', 'queueMicrotask', 'nextTick'] });
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  function openWindow(limit = 0): BatchingStore {
    return open({ pipeline: { windowMs: WINDOW_MS, limit } });
  }

  /** A call that comes 0.1 ms after the one before, and the turns in which it is sent if it does not wait. */
  async function call(store: Store, key: string, options?: TakeOptions): Promise<void> {
    clock.nowMs += 0.1;
    void ask(store, key, options).catch((error: unknown) => error);
    await turn();
  }

  async function endWindow(): Promise<void> {
    jest.advanceTimersByTime(WINDOW_MS);
    await turn();
  }

  test('a call waits for others, and all of them are one command', async () => {
    const store = openWindow();
    for (const key of ['a', 'b', 'c']) await call(store, key);
    expect(inner.commands).toEqual([['a']]);
    await endWindow();
    expect(inner.commands).toEqual([['a'], ['b', 'c']]);
  });

  test('a batch that reaches the limit is sent before the window ends', async () => {
    const store = openWindow(2);
    for (const key of ['a', 'b', 'c', 'd', 'e']) await call(store, key);
    expect(inner.commands).toEqual([['a'], ['b', 'c'], ['d', 'e']]);
    expect(jest.getTimerCount()).toBe(0);
  });

  test('a call with too little time to wait is sent at once, with those that wait', async () => {
    const store = openWindow();
    await call(store, 'a');
    await call(store, 'b', { timeoutMs: TIMEOUT_MS + WINDOW_MS - 1 });
    await call(store, 'c');
    await call(store, 'd', { timeoutMs: TIMEOUT_MS + WINDOW_MS - 1 });
    expect(inner.commands).toEqual([['a'], ['b'], ['c', 'd']]);
  });

  test('a call that has waited for commands under way does not also wait for others', async () => {
    const store = openWindow();
    for (const key of ['a', 'b']) await call(store, key);
    await endWindow();
    await occupy(store);
    void ask(store, 'late', { timeoutMs: 4 * TIMEOUT_MS }).catch((error: unknown) => error);
    clock.nowMs += 3 * TIMEOUT_MS;
    inner.isHeld = false;
    inner.answerOne();
    await turn();
    expect(inner.commands).toEqual([['late']]);
  });

  test('calls do not wait after a command that timed out', async () => {
    const store = openWindow();
    for (const key of ['a', 'b']) await call(store, key);
    inner.failing = new StoreError('no answer', 'timeout');
    await endWindow();
    inner.failing = undefined;
    inner.commands.length = 0;
    await call(store, 'c');
    expect(inner.commands).toEqual([['c']]);
  });

  test('a caller that calls again only after its answer soon waits no longer', async () => {
    const store = openWindow();
    await call(store, 'a');
    await call(store, 'b');
    await endWindow();
    for (const key of ['c', 'd', 'e']) await call(store, key);
    expect(inner.commands).toEqual([['a'], ['b'], ['c'], ['d'], ['e']]);
  });

  test('a closed store fails the calls that wait uncharged, and leaves no timer', async () => {
    const store = openWindow();
    await call(store, 'a');
    clock.nowMs += 0.1;
    const waiting = ask(store, 'b');
    await turn();
    await Promise.all([expect(waiting).rejects.toMatchObject({ reason: 'connection', mayHaveRun: false }), store.close()]);
    expect(inner.commands).toEqual([['a']]);
    expect(jest.getTimerCount()).toBe(0);
    void ask(store, 'c');
    await turn();
    await endWindow();
    expect(inner.commands).toEqual([['a'], ['c']]);
  });
});
