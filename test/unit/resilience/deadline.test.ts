/** Each of many calls fails at its own deadline, and a process without CPU time does not count as a dead Redis. */

import { DeadlineStore } from '../../../src/state/resilience/deadline';
import type { GroupOutcome, Store } from '../../../src/state/store/port/store';
import type { StoreError } from '../../../src/state/store/port/store-error';
import { randomFrom, seededInFull } from '../../support/random/random';

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
  const store: Store = { take, adjust: () => Promise.reject(new Error('not asked')), close: () => Promise.resolve() };
  return { answers, store: new DeadlineStore(store, { timeoutMs: TIMEOUT_MS, nowMs: () => performance.now() }) };
}

/** Lets time pass, and what it brings about happen. */
async function pass(ms: number): Promise<void> {
  jest.advanceTimersByTime(ms);
  await new Promise(setImmediate);
}

test('each of many calls fails at its own time, or gets its answer', async () => {
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

test('a store that fails with a value that is not an Error fails with an Error here', async () => {
  const word = 'a word' as unknown as Error;
  const failing: Store = {
    take: () => Promise.reject(word),
    adjust: () => Promise.reject(new Error('not asked')),
    close: () => Promise.resolve(),
  };
  await expect(new DeadlineStore(failing, { timeoutMs: TIMEOUT_MS, nowMs: () => performance.now() }).take([])).rejects.toEqual(
    new Error('a word'),
  );
});

test('answered calls set no timers of their own, and leave none behind', async () => {
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

test('one timer serves any number of waiting calls in any order', async () => {
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

test('an unread answer counts when the timer fires', async () => {
  const { answers, store } = open();
  const taken = store.take([]);
  // The timer fires, and only then is input read.
  jest.advanceTimersByTime(TIMEOUT_MS + 5);
  answers.pop()?.([]);
  expect(await taken).toEqual([]);
});

describe('a process that runs late', () => {
  const LAG_MS = 30;

  /** A store whose calls a test answers, on a host that is as late as the test says. */
  function openLate(lag: { ms: number }) {
    const answers: ((outcomes: readonly GroupOutcome[]) => void)[] = [];
    const take = () => new Promise<readonly GroupOutcome[]>((resolve) => answers.push(resolve));
    const inner: Store = { take, adjust: () => Promise.reject(new Error('not asked')), close: () => Promise.resolve() };
    const store = new DeadlineStore(inner, { timeoutMs: TIMEOUT_MS, nowMs: () => performance.now(), lagMs: () => lag.ms });
    const ends: { atMs: number; reason: string | undefined }[] = [];
    const ask = (timeoutMs?: number): void => {
      const end = (reason?: string) => ends.push({ atMs: performance.now(), reason });
      store.take([], timeoutMs === undefined ? {} : { timeoutMs }).then(
        () => end(),
        (error: unknown) => end((error as StoreError).reason),
      );
    };
    const startMs = performance.now();
    const pass = async (ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= 1) {
        jest.advanceTimersByTime(1);
        await new Promise(setImmediate);
      }
    };
    return { answers, store, ask, ends, pass, endedMs: () => ends.map(({ atMs, reason }) => [Math.round(atMs - startMs), reason]) };
  }

  test('a call waits longer by the delay, twice, and then fails a store that has answered nothing', async () => {
    const { ask, pass, endedMs } = openLate({ ms: LAG_MS });
    ask();
    await pass(TIMEOUT_MS + 2 * LAG_MS - 1);
    expect(endedMs()).toEqual([]);
    await pass(2);
    expect(endedMs()).toEqual([[TIMEOUT_MS + 2 * LAG_MS, 'timeout']]);
  });

  test('an answer that arrives meanwhile is in time', async () => {
    const { ask, answers, pass, endedMs, store } = openLate({ ms: LAG_MS });
    ask();
    await pass(60);
    answers.pop()?.([]);
    await pass(1);
    expect(endedMs()).toEqual([[61, undefined]]);
    expect(store.allowedMs).toBe(TIMEOUT_MS + 2 * LAG_MS);
  });

  test('a store slower than the delay of the process fails, although it answers', async () => {
    const { ask, answers, pass, endedMs } = openLate({ ms: LAG_MS });
    for (let call = 0; call < 20; call += 1) {
      ask(TIMEOUT_MS + 2);
      await pass(TIMEOUT_MS + 2 * LAG_MS + 1);
      answers.pop()?.([]);
      await pass(1);
    }
    // The first had as much more time as its caller; the answers that came after all of it prove nothing.
    expect(
      endedMs()
        .map(([, reason]) => reason)
        .slice(1),
    ).toEqual(Array(19).fill('timeout'));
  });

  test('a call waits at most as long as its caller, less the way of the answer, and that does not count against the store', async () => {
    const { ask, pass, endedMs } = openLate({ ms: LAG_MS });
    ask(40);
    await pass(60);
    expect(endedMs()).toEqual([[35, 'own_lag']]);
  });

  test('the extra wait has a bound, and then the store fails', async () => {
    const { ask, pass, endedMs, store } = openLate({ ms: 10_000 });
    ask();
    await pass(300);
    expect(endedMs()).toEqual([[100, 'timeout']]);
    expect(store.allowedMs).toBe(100);
  });

  test('a store without any answer gets no extra time, which tells a dead store from a late process', async () => {
    const { ask, pass, endedMs } = openLate({ ms: 10_000 });
    for (let call = 0; call < 4; call += 1) {
      ask();
      await pass(100);
    }
    await pass(200);
    expect(endedMs().map(([, reason]) => reason)).toEqual(['timeout', 'timeout', 'timeout', 'timeout']);
    // Those that waited when nothing had come for 100 ms end about then, and the last one at its own time.
    expect(endedMs().map(([atMs]) => Number(atMs) <= 300 + TIMEOUT_MS)).toEqual([true, true, true, true]);
  });

  test('the extra time ends once the process runs on time', async () => {
    const lag = { ms: LAG_MS };
    const { ask, pass, endedMs } = openLate(lag);
    ask();
    await pass(TIMEOUT_MS + 5);
    lag.ms = 0;
    await pass(TIMEOUT_MS + 5);
    expect(endedMs()).toEqual([[2 * TIMEOUT_MS, 'timeout']]);
  });
});

describe('many waiting callers', () => {
  const PATIENCE_MS = 100;
  const MANY = 16;

  /** A store that as many callers wait for as the test says. */
  function openBusy() {
    const load = { callers: MANY };
    const answers: ((outcomes: readonly GroupOutcome[]) => void)[] = [];
    const take = () => new Promise<readonly GroupOutcome[]>((resolve) => answers.push(resolve));
    const inner: Store = { take, adjust: () => Promise.reject(new Error('not asked')), close: () => Promise.resolve() };
    const store = new DeadlineStore(inner, { timeoutMs: TIMEOUT_MS, nowMs: () => performance.now(), callersWaiting: () => load.callers });
    const ends: { tookMs: number; reason: string | undefined }[] = [];
    const ask = (timeoutMs?: number): void => {
      const startMs = performance.now();
      const end = (reason?: string) => ends.push({ tookMs: Math.round(performance.now() - startMs), reason });
      store.take([], timeoutMs === undefined ? {} : { timeoutMs }).then(
        () => end(),
        (error: unknown) => end((error as StoreError).reason),
      );
    };
    const passMs = async (ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= 1) await pass(1);
    };
    return { load, answers, store, ask, ends, passMs };
  }

  test('a call waits as long as its caller can, and an answer by then is in time', async () => {
    const { store, ask, passMs, answers, ends } = openBusy();
    expect(store.longestMs).toBe(PATIENCE_MS);
    for (let pause = 0; pause < 5; pause += 1) {
      ask(5_000);
      await passMs(3 * TIMEOUT_MS);
      answers.pop()?.([]);
      await passMs(1);
    }
    expect(ends.map(({ reason }) => reason)).toEqual(Array(5).fill(undefined));
  });

  test('a caller that gives up does not count against the store', async () => {
    const { ask, passMs, ends } = openBusy();
    ask(60);
    await passMs(60);
    expect(ends).toEqual([{ tookMs: 55, reason: 'caller_timeout' }]);
  });

  test('callers that gave up before do not change that', async () => {
    const { load, ask, passMs, ends } = openBusy();
    ask(60);
    await passMs(TIMEOUT_MS + 1);
    load.callers = 1;
    await passMs(60);
    expect(ends).toEqual([{ tookMs: 55, reason: 'caller_timeout' }]);
  });

  test('a store that stops answering fails after a bound, and then at the time of each call', async () => {
    const { ask, passMs, ends } = openBusy();
    ask();
    await passMs(PATIENCE_MS);
    ask();
    await passMs(TIMEOUT_MS + 2);
    expect(ends).toEqual([
      { tookMs: PATIENCE_MS, reason: 'timeout' },
      { tookMs: TIMEOUT_MS, reason: 'timeout' },
    ]);
  });

  test('a store that answers after its callers have gone fails after that bound', async () => {
    const { ask, passMs, answers, ends } = openBusy();
    for (let call = 0; call < 10; call += 1) {
      ask(TIMEOUT_MS + 10);
      await passMs(TIMEOUT_MS + 10);
      answers.pop()?.([]);
      await passMs(1);
    }
    expect(ends.map(({ reason }) => reason).slice(5)).toEqual(Array(5).fill('timeout'));
  });

  test('with one caller fewer a call gets its own time and no more', async () => {
    const { load, store, ask, passMs, ends } = openBusy();
    load.callers = MANY - 1;
    ask(5_000);
    await passMs(3 * TIMEOUT_MS);
    expect([store.longestMs, ends]).toEqual([TIMEOUT_MS, [{ tookMs: TIMEOUT_MS, reason: 'timeout' }]]);
  });
});
