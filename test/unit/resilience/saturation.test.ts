/** At saturation Redis makes every decision, with pauses of Redis up to 30 ms. */

import type { Group } from '../../../src/domain/bucket/take';
import type { GroupOutcome, Store } from '../../../src/state/store/port/store';
import type { StoreError } from '../../../src/state/store/port/store-error';
import { wrapServer } from '../../../src/state/resilience/wrap-redis';
import { groupOf, take } from '../../support/decisions/groups';
import { isLong } from '../../support/random/form';
import { randomFrom, seededInFull } from '../../support/random/random';

/** As the settings have it. */
const TIMEOUT_MS = 5;
const BREAKER = { failures: 5, windowMs: 1_000, openMs: 1_000 };
const GROUPS_MAX = 10_000;

const RUN_MS = isLong ? 2_000 : 700;
/** A command takes Redis a millisecond; before one in so many it is not given its core for a while. */
const COMMANDS_OF_PAUSE = 10;
const PAUSE_MS_MAX = 30;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
});

afterEach(() => {
  jest.useRealTimers();
});

/** A Redis that answers in order and pauses now and then, from its first command on. */
class PausingRedis implements Store {
  private readonly random = randomFrom(seededInFull(RUN_MS));
  private freeMs = 0;
  private commands = 0;

  take(groups: readonly Group[]): Promise<readonly GroupOutcome[]> {
    const nowMs = performance.now();
    const pauseMs = this.commands % COMMANDS_OF_PAUSE === 0 ? this.random(PAUSE_MS_MAX) : 0;
    this.commands += 1;
    this.freeMs = Math.max(this.freeMs, nowMs) + 1 + pauseMs;
    const outcome: GroupOutcome = {
      overLimit: false,
      verdicts: [{ fits: true, remaining: 1, retryAfterUs: 0, resetAfterUs: 0 }],
      nowUs: 0,
    };
    return new Promise((resolve) =>
      setTimeout(() => {
        resolve(groups.map(() => outcome));
      }, this.freeMs - nowMs),
    );
  }

  adjust(): Promise<never> {
    return Promise.reject(new Error('not asked'));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

test.each([
  { callers: 20, callerMs: Infinity },
  { callers: 200, callerMs: Infinity },
  { callers: 200, callerMs: 5_000 },
  { callers: 1_000, callerMs: 5_000 },
])('$callers callers, each with one call at a time and $callerMs ms for it, are all decided by Redis', async ({ callers, callerMs }) => {
  const errors: string[] = [];
  let answered = 0;
  const measure = {
    onCall: () => undefined,
    onError: (reason: string) => {
      errors.push(reason);
    },
  };
  const { store } = wrapServer(new PausingRedis(), {
    timeoutMs: TIMEOUT_MS,
    breaker: { ...BREAKER, onState: () => undefined },
    measure,
    partOf: () => 0,
    groupsMax: GROUPS_MAX,
  });
  const endMs = performance.now() + RUN_MS;
  const call = async (name: string): Promise<void> => {
    while (performance.now() < endMs) {
      await store.take([groupOf([take(name)])], callerMs === Infinity ? {} : { timeoutMs: callerMs }).then(
        () => {
          answered += 1;
        },
        (error: unknown) => {
          errors.push((error as StoreError).reason);
        },
      );
    }
  };
  const running = Promise.all(Array.from({ length: callers }, (_, i) => call(`caller ${i}`)));
  for (let ms = 0; ms < RUN_MS + (2 * PAUSE_MS_MAX * callers) / 100 + 500; ms += 1) {
    jest.advanceTimersByTime(1);
    for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
  }
  await running;
  expect(errors).toEqual([]);
  expect(answered).toBeGreaterThan(callers);
});
