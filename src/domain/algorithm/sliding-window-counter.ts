/**
 * Sliding window counter: two counts, of the current window of the clock and of the one before; the earlier one weighs
 * as much as the sliding window still overlaps it. Twin of `lua/include/sliding-window-counter.lua`: with Redis the
 * decision runs there, with the embedded store here.
 *
 * It takes the hits of the earlier window to have been even, so it is an estimate: how far it is off from the log is
 * measured in `docs/algorithms.md`. In return it costs as little as a fixed window. The idea is Cloudflare's ("How we
 * built rate limiting capable of scaling to millions of domains", 2017). Weights round up: never below the estimate.
 */

import type { AlgorithmTraits } from './algorithm';
import { multiplyDivide } from './arithmetic';
import type { Engine } from './engine';

export interface SlidingWindowCounterState {
  /** The current window's number since 1970. */
  readonly index: number;
  readonly current: number;
  readonly previous: number;
  /** Time since the current window began, when last looked at. Not stored: the clock tells it. */
  readonly elapsedUs: number;
}

const engine: Engine<SlidingWindowCounterState> = {
  ofNumbers([current, previous], limit, nowUs) {
    const { index, elapsedUs } = engine.fresh(limit, nowUs);
    return { index, current, previous, elapsedUs };
  },

  fresh(limit, nowUs) {
    const index = Math.floor(nowUs / limit.windowUs);
    return { index, current: 0, previous: 0, elapsedUs: nowUs - index * limit.windowUs };
  },

  isAhead(state, limit, nowUs) {
    return state.index > engine.fresh(limit, nowUs).index;
  },

  advance(state, limit, nowUs) {
    const now = engine.fresh(limit, nowUs);
    const { index, elapsedUs } = now;
    if (state.index >= index) return { index, current: state.current, previous: state.previous, elapsedUs };
    return state.index === index - 1 ? { index, current: 0, previous: state.current, elapsedUs } : now;
  },

  room(state, limit) {
    const weight = weigh(state.previous, limit.windowUs - state.elapsedUs, limit.windowUs);
    // Under a lowered limit, both windows may be overdrawn.
    return Math.max(Number.MIN_SAFE_INTEGER, limit.capacity - state.current - weight);
  },

  charge({ index, current, previous, elapsedUs }, hits) {
    return { index, current: current + hits, previous, elapsedUs };
  },

  refund({ index, current, previous, elapsedUs }, hits) {
    const ofPrevious = Math.max(0, hits - current);
    return { index, current: Math.max(0, current - hits), previous: Math.max(0, previous - ofPrevious), elapsedUs };
  },

  giveBack(state, limit, { hits, takenAtUs }) {
    const { index, current, previous, elapsedUs } = state;
    const taken = engine.fresh(limit, takenAtUs);
    if (taken.index === index) {
      const given = Math.min(hits, current);
      return { state: { index, current: current - given, previous, elapsedUs }, given };
    }
    if (taken.index === index - 1) {
      const given = Math.min(hits, previous);
      return { state: { index, current, previous: previous - given, elapsedUs }, given };
    }
    return { state, given: 0 };
  },

  retryAfterUs(state, limit, hits) {
    const { current, previous, elapsedUs } = state;
    const { capacity, windowUs } = limit;
    // In this window the current hits stay; in the next one they are the earlier ones.
    if (current + hits <= capacity) {
      return Math.max(0, elapsedUntil(previous, capacity - current - hits, windowUs) - elapsedUs);
    }
    return windowUs - elapsedUs + elapsedUntil(current, capacity - hits, windowUs);
  },

  resetAfterUs(state, limit) {
    const windowEndUs = limit.windowUs - state.elapsedUs;
    if (state.current > 0) return windowEndUs + limit.windowUs;
    if (state.previous > 0) return windowEndUs;
    // A limit of 0 is never free; one window is the only length that it names.
    return limit.requestsPerUnit === 0 ? limit.windowUs : 0;
  },

  isUnused(state) {
    return state.current === 0 && state.previous === 0;
  },
};

export const slidingWindowCounter: AlgorithmTraits<SlidingWindowCounterState> = {
  keyLetters: 'sc',
  scriptCode: '5',
  restores: 'in-window',
  holds: 'hits',
  isPlain: false,
  secondNumberMax: () => Number.MAX_SAFE_INTEGER,
  engine,
};

/** `hits * overlapUs / windowUs`, rounded up. */
function weigh(hits: number, overlapUs: number, windowUs: number): number {
  if (overlapUs === windowUs) return hits;
  const { quotient, remainder } = multiplyDivide(overlapUs, hits, windowUs);
  return remainder > 0 ? quotient + 1 : quotient;
}

/** How far a window must have gone for these hits of the one before to weigh no more than `allowed`. */
function elapsedUntil(hits: number, allowed: number, windowUs: number): number {
  if (hits <= allowed) return 0;
  return windowUs - multiplyDivide(allowed, windowUs, hits).quotient;
}
