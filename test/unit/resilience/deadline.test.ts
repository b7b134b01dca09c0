/** Deadlines of many calls: each by its own time, with one timer for all. */

import { DeadlineStore } from '../../../src/resilience/deadline';
import type { GroupOutcome, Store, StoreError } from '../../../src/store/store';
import { randomFrom, seededInFull } from '../../support/random';

const TIMEOUT_MS = 20;
const CALLS = 2_000;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
});

afterEach(() => {
  jest.useRealTimers();
});

/** A store whose calls a test answers, the oldest first. */
function open() {
  const answers: ((outcomes: readonly GroupOutcome[]) => void)[] = [];
  const take = () => new Promise<readonly GroupOutcome[]>((resolve) => answers.push(resolve));
  const store: Store = { take, settle: () => Promise.reject(new Error('not asked')), close: () => Promise.resolve() };
  return { answers, store: new DeadlineStore(store, { timeoutMs: TIMEOUT_MS, nowMs: () => performance.now() }) };
}

/** Lets time pass, and what it brings about happen. */
async function pass(ms: number): Promise<void> {
  jest.advanceTimersByTime(ms);
  await new Promise(setImmediate);
}

test('each of many calls fails at its own time, or has its answer', async () => {
  const random = randomFrom(seededInFull(CALLS));
  const { answers, store } = open();
  const seen: { readonly timeoutMs: number; readonly answeredMs: number; endedMs: number; reason?: string }[] = [];
  for (let call = 0; call < CALLS; call += 1) {
    const startMs = performance.now();
    const timeoutMs = 1 + random(TIMEOUT_MS);
    const answeredMs = random(3) === 0 ? Infinity : random(2 * TIMEOUT_MS);
    const own: (typeof seen)[number] = { timeoutMs, answeredMs, endedMs: NaN };
    seen.push(own);
    const end = (): void => {
      own.endedMs = performance.now() - startMs;
    };
    store.take([], { timeoutMs }).then(end, (error: unknown) => {
      own.reason = (error as StoreError).reason;
      end();
    });
    const answer = answers.pop();
    if (answeredMs < Infinity) setTimeout(() => answer?.([]), answeredMs);
    if (random(3) === 0) await pass(1 + random(3));
  }
  for (let ms = 0; ms < 2 * TIMEOUT_MS; ms += 1) await pass(1);
  for (const { timeoutMs, answeredMs, endedMs, reason } of seen) {
    // Time passes here by up to 3 ms at once: of two things so near to each other, either comes first.
    if (answeredMs < timeoutMs - 3) expect([reason, endedMs < timeoutMs]).toEqual([undefined, true]);
    if (answeredMs > timeoutMs + 3) {
      expect(reason).toBe(timeoutMs < TIMEOUT_MS / 2 ? 'caller_timeout' : 'timeout');
      expect([timeoutMs, endedMs >= timeoutMs - 1 && endedMs <= timeoutMs + 3]).toEqual([timeoutMs, true]);
    }
  }
});

test('a store that fails of what is no error fails of one here', async () => {
  const word = 'a word' as unknown as Error;
  const failing: Store = { take: () => Promise.reject(word), settle: () => Promise.reject(new Error('not asked')), close: () => Promise.resolve() };
  await expect(new DeadlineStore(failing, { timeoutMs: TIMEOUT_MS, nowMs: () => performance.now() }).take([])).rejects.toEqual(new Error('a word'));
});

test('calls that are answered in time cost no timer each, and leave none that goes on firing', async () => {
  const { answers, store } = open();
  for (let call = 0; call < 100; call += 1) {
    const taken = store.take([]);
    answers.pop()?.([]);
    await taken;
    expect(jest.getTimerCount()).toBe(1);
  }
  await pass(TIMEOUT_MS);
  expect(jest.getTimerCount()).toBe(0);
});

test('however many wait, in whatever order, the timer is set once each time that it fires', async () => {
  const { store } = open();
  const failed: number[] = [];
  const deadlines = [2, ...Array.from({ length: 15 }, (_, i) => 20 - i)];
  for (const timeoutMs of deadlines) store.take([], { timeoutMs }).catch(() => failed.push(timeoutMs));
  const set = jest.spyOn(globalThis, 'setTimeout');
  await pass(2);
  expect([failed, set.mock.calls.length]).toEqual([[2], 1]);
  await pass(4);
  expect([failed, set.mock.calls.length]).toEqual([[2, 6], 2]);
  await pass(TIMEOUT_MS);
  expect([failed.length, jest.getTimerCount()]).toEqual([deadlines.length, 0]);
});

test('an answer that lies here unread when the timer fires counts', async () => {
  const { answers, store } = open();
  const taken = store.take([]);
  // The timer fires, and only then is input read.
  jest.advanceTimersByTime(TIMEOUT_MS + 5);
  answers.pop()?.([]);
  expect(await taken).toEqual([]);
});
