/** While the breaker is open no call waits, and one call tries after its wait. */

import CircuitBreaker from 'opossum';
import { BreakerStore } from '../../../src/state/resilience/breaker';
import type { CircuitState } from '../../../src/state/resilience/circuit';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import type { GroupOutcome } from '../../../src/state/store/port/store';
import { StoreError, type StoreErrorReason } from '../../../src/state/store/port/store-error';
import { randomFrom, seededInFull } from '../../support/random/random';
import { SwitchedStore } from '../../support/redis/switched-store';

const OPTIONS = { failures: 3, windowMs: 10_000, openMs: 30_000 };

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
});

afterEach(() => {
  jest.useRealTimers();
});

function open() {
  const inner = new SwitchedStore(new MemoryStore({ nowUs: () => 0, bucketsMax: 1 }));
  const states: CircuitState[] = [];
  const clock = { nowMs: 0 };
  const breaker = new BreakerStore(inner, { ...OPTIONS, nowMs: () => clock.nowMs, onState: (state) => states.push(state) });
  const reasons = async (calls: number): Promise<string[]> => {
    const seen: string[] = [];
    for (let i = 0; i < calls; i += 1) {
      seen.push(
        await breaker.take([]).then(
          () => 'ok',
          (error: unknown) => (error as StoreError).reason,
        ),
      );
    }
    return seen;
  };
  return { inner, states, clock, breaker, reasons };
}

test('failures in a row open the breaker, and then no call is sent', async () => {
  const { inner, states, reasons, breaker } = open();
  inner.failing = { reason: 'timeout' };
  expect(await reasons(5)).toEqual(['timeout', 'timeout', 'timeout', 'breaker', 'breaker']);
  expect(inner.asked.take).toBe(3);
  expect(states).toEqual(['open']);
  await breaker.close();
});

test('a success resets the count of failures', async () => {
  const { inner, states, reasons, breaker } = open();
  for (let round = 0; round < 3; round += 1) {
    inner.failing = { reason: 'connection' };
    await reasons(2);
    inner.failing = undefined;
    await reasons(1);
  }
  expect(states).toEqual([]);
  await breaker.close();
});

test('failures that are too far apart do not count together', async () => {
  const { inner, states, clock, reasons, breaker } = open();
  inner.failing = { reason: 'timeout' };
  for (let failure = 0; failure < 6; failure += 1) {
    clock.nowMs += 6_000;
    await reasons(1);
  }
  expect(states).toEqual([]);
  await breaker.close();
});

test('callers that give up do not count as failures of the store', async () => {
  const { inner, states, reasons, breaker } = open();
  inner.failing = { reason: 'caller_timeout' };
  await reasons(10);
  expect(states).toEqual([]);
  await breaker.close();
});

test('the count of failures restarts after the breaker was closed from outside', async () => {
  const { inner, states, reasons, breaker } = open();
  inner.failing = { reason: 'timeout' };
  await reasons(3);
  breaker.reset();
  await reasons(2);
  expect(states).toEqual(['open', 'closed']);
  await reasons(1);
  expect(states).toEqual(['open', 'closed', 'open']);
  await breaker.close();
});

test('overload does not count as a failure of the store', async () => {
  const { inner, states, reasons, breaker } = open();
  inner.failing = { reason: 'overload' };
  expect(await reasons(10)).toEqual(Array(10).fill('overload'));
  expect(states).toEqual([]);
  await breaker.close();
});

test('after its wait the breaker lets one call try, and all others still fail at once', async () => {
  const { inner, states, reasons, breaker } = open();
  inner.failing = { reason: 'timeout' };
  await reasons(3);
  jest.advanceTimersByTime(OPTIONS.openMs - 1);
  expect(await reasons(1)).toEqual(['breaker']);
  jest.advanceTimersByTime(1);
  expect(states).toEqual(['open', 'half_open']);
  inner.failing = undefined;
  let release = (): void => undefined;
  inner.hold = new Promise((resolve) => (release = resolve));
  const probe = breaker.take([]);
  await new Promise(setImmediate);
  expect(await reasons(2)).toEqual(['breaker', 'breaker']);
  release();
  inner.hold = undefined;
  expect(await probe).toEqual([]);
  expect(states).toEqual(['open', 'half_open', 'closed']);
  expect(await reasons(1)).toEqual(['ok']);
  await breaker.close();
});

test('a store that shows signs of life gets calls at once', async () => {
  const { inner, states, reasons, breaker } = open();
  inner.failing = { reason: 'connection' };
  await reasons(3);
  inner.failing = undefined;
  breaker.reset();
  expect(await reasons(2)).toEqual(['ok', 'ok']);
  breaker.reset();
  expect(states).toEqual(['open', 'closed']);
  await breaker.close();
});

test('adjustments fail at once too, and count', async () => {
  const { inner, breaker } = open();
  inner.failing = { reason: 'timeout' };
  for (let i = 0; i < 3; i += 1) await expect(breaker.adjust([])).rejects.toMatchObject({ reason: 'timeout' });
  await expect(breaker.adjust([])).rejects.toMatchObject({ reason: 'breaker', mayHaveRun: false });
  expect(inner.asked.adjust).toBe(3);
  await breaker.close();
});

test('a late answer removes trust in the store until another sign or a long time', async () => {
  const { inner, clock, reasons, breaker } = open();
  const trusted: boolean[] = [breaker.isTrusted];
  const look = async (calls: number): Promise<void> => {
    await reasons(calls);
    trusted.push(breaker.isTrusted);
  };
  inner.failing = { reason: 'timeout' };
  await look(1);
  inner.failing = undefined;
  await look(1);
  // Answered, though with an error.
  inner.failing = { reason: 'script' };
  await look(1);
  inner.failing = { reason: 'timeout' };
  await look(1);
  clock.nowMs += OPTIONS.windowMs + 1;
  await look(0);
  expect(trusted).toEqual([true, false, true, true, false, true]);
  await breaker.close();
});

test.each([
  ['timeout', false],
  ['script', true],
] as const)('an open breaker is not trusted; when one call may try, after %s: %s', async (reason, isTrusted) => {
  const { inner, reasons, breaker } = open();
  inner.failing = { reason };
  await reasons(3);
  expect(breaker.isTrusted).toBe(false);
  jest.advanceTimersByTime(OPTIONS.openMs);
  expect(breaker.isTrusted).toBe(isTrusted);
  breaker.reset();
  expect(breaker.isTrusted).toBe(true);
  await breaker.close();
});

test('a store that answers errors gets one call a second, and only the outcome is logged', async () => {
  const { inner, states, clock, reasons, breaker } = open();
  inner.failing = { reason: 'script' };
  expect(await reasons(5)).toEqual(['script', 'script', 'script', 'breaker', 'breaker']);
  clock.nowMs += 999;
  expect(await reasons(1)).toEqual(['breaker']);
  clock.nowMs += 1;
  let release = (): void => undefined;
  inner.hold = new Promise((resolve) => (release = resolve));
  const tried = reasons(1);
  // As long as that one waits, and that may be for long: of a store that has fallen silent no charge is trusted to it.
  for (const waitedMs of [500, 5_000]) {
    clock.nowMs += waitedMs;
    expect(breaker.isTrusted).toBe(false);
    expect(await reasons(2)).toEqual(['breaker', 'breaker']);
  }
  release();
  inner.hold = undefined;
  expect(await tried).toEqual(['script']);
  clock.nowMs += 999;
  expect(await reasons(1)).toEqual(['breaker']);
  expect(states).toEqual(['open']);
  inner.failing = undefined;
  clock.nowMs += 1;
  expect(breaker.isTrusted).toBe(true);
  expect(await reasons(3)).toEqual(['ok', 'ok', 'ok']);
  expect(states).toEqual(['open', 'closed']);
  await breaker.close();
});

test.each(['timeout', 'connection'] as const)('after a failed try by %s no call tries soon', async (reason) => {
  const { inner, clock, reasons, breaker } = open();
  inner.failing = { reason: 'script' };
  await reasons(3);
  inner.failing = { reason };
  clock.nowMs += 1_000;
  expect(await reasons(1)).toEqual([reason]);
  clock.nowMs += 5_000;
  expect(await reasons(1)).toEqual(['breaker']);
  expect(breaker.isTooSlow).toBe(reason === 'timeout');
  await breaker.close();
});

test('an internal fault is passed on', async () => {
  const { breaker, inner } = open();
  inner.hold = Promise.reject(new TypeError('ours'));
  await expect(breaker.take([])).rejects.toThrow(TypeError);
  await breaker.close();
});

test('a failed probe opens the breaker for another period', async () => {
  const { inner, states, reasons, breaker } = open();
  inner.failing = { reason: 'timeout' };
  await reasons(3);
  jest.advanceTimersByTime(OPTIONS.openMs);
  expect(await reasons(2)).toEqual(['timeout', 'breaker']);
  jest.advanceTimersByTime(OPTIONS.openMs);
  expect(states).toEqual(['open', 'half_open', 'open', 'half_open']);
  await breaker.close();
});

test('in any order of results it decides as opossum does', async () => {
  const random = randomFrom(seededInFull(STEPS));
  const clock = { nowMs: 0 };
  const asked = { states: [] as CircuitState[], seen: [] as string[], calls: [] as Held[] };
  const direct = { states: [] as CircuitState[], seen: [] as string[], calls: [] as Held[] };
  const circuit = askedForEvery(clock, asked.states);
  const breaker = new BreakerStore(heldIn(direct.calls), {
    ...OPTIONS,
    nowMs: () => clock.nowMs,
    onState: (state) => direct.states.push(state),
  });
  for (let step = 0; step < STEPS; step += 1) {
    const what = random(10);
    if (what < 4) {
      const name = `call ${step}`;
      void circuit.fire(asked.calls).then((end) => asked.seen.push(`${name}: ${end}`));
      void breaker
        .take([])
        .then(() => 'ok', reasonOf)
        .then((end) => direct.seen.push(`${name}: ${end}`));
    } else if (what < 7 && direct.calls.length > 0) {
      // Most failures are followed by others, so that it opens.
      const reason = REASONS[random(REASONS.length)];
      const place = random(direct.calls.length);
      for (const { calls } of [asked, direct]) calls.splice(place, 1)[0]?.end(reason);
    } else if (what < 9) {
      const ms = random(2) === 0 ? OPTIONS.openMs : random(1_000);
      clock.nowMs += ms;
      jest.advanceTimersByTime(ms);
    } else if (random(5) === 0) {
      circuit.reset();
      breaker.reset();
    }
    await new Promise(setImmediate);
    expect(direct.calls.length).toBe(asked.calls.length);
    expect(direct.states).toEqual(asked.states);
  }
  expect(direct.seen.sort()).toEqual(asked.seen.sort());
  expect(new Set(direct.states)).toEqual(new Set(['open', 'half_open', 'closed']));
  await breaker.close();
});

/** A call that is answered when the test says so, or fails. */
interface Held {
  end(reason: StoreErrorReason | undefined): void;
}

const STEPS = 3_000;

const REASONS: readonly (StoreErrorReason | undefined)[] = [
  undefined,
  undefined,
  'timeout',
  'timeout',
  'timeout',
  'connection',
  'connection',
  'overload',
  'caller_timeout',
  'redirected',
];

function hold(calls: Held[]): Promise<readonly GroupOutcome[]> {
  return new Promise((resolve, reject) => {
    calls.push({
      end: (reason) => {
        if (reason === undefined) resolve([]);
        else reject(new StoreError('no', reason));
      },
    });
  });
}

function reasonOf(error: unknown): string {
  return error instanceof StoreError ? error.reason : 'breaker';
}

function heldIn(calls: Held[]) {
  return { take: () => hold(calls), adjust: () => Promise.resolve([]), close: () => Promise.resolve() };
}

/** The same rules, with every call through the circuit. */
function askedForEvery(clock: { readonly nowMs: number }, states: CircuitState[]) {
  let failedAtMs: number[] = [];
  const circuit = new CircuitBreaker((calls: Held[]) => hold(calls), {
    timeout: false,
    volumeThreshold: Number.MAX_SAFE_INTEGER,
    resetTimeout: OPTIONS.openMs,
    errorFilter: (error: unknown) => reasonOf(error) === 'redirected',
  });
  circuit.on('success', () => (failedAtMs = []));
  circuit.on('failure', (error) => {
    if (['overload', 'caller_timeout'].includes(reasonOf(error))) return;
    failedAtMs = [...failedAtMs.filter((atMs) => clock.nowMs - atMs <= OPTIONS.windowMs), clock.nowMs].slice(-OPTIONS.failures);
    if (failedAtMs.length >= OPTIONS.failures && circuit.closed) circuit.open();
  });
  circuit.on('open', () => states.push('open'));
  circuit.on('halfOpen', () => states.push('half_open'));
  circuit.on('close', () => states.push('closed'));
  return {
    fire: (calls: Held[]) => circuit.fire(calls).then(() => 'ok', reasonOf),
    reset: () => {
      failedAtMs = [];
      if (!circuit.closed) circuit.close();
    },
  };
}
