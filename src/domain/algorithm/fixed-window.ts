/**
 * Fixed window: `requestsPerUnit` hits in each window of the clock, windows aligned to 1970 or to a calendar. Twin of
 * `lua/include/fixed-window.lua`: with Redis the decision runs there, with the embedded store here.
 *
 * It is what the reference counts with, and has its known weakness: around the edge of two windows, up to twice the
 * limit can pass within one window's length.
 */

import type { AlgorithmTraits } from './algorithm';
import type { Engine } from './engine';
import { windowAt } from './window';

export interface FixedWindowState {
  /** The window's number since 1970; of a calendar window, which has none, its start in microseconds. */
  readonly index: number;
  /** Hits used in it. */
  readonly used: number;
}

const engine: Engine<FixedWindowState> = {
  ofNumbers([used], limit, nowUs) {
    return { index: windowAt(limit, nowUs).index, used };
  },

  fresh(limit, nowUs) {
    return { index: windowAt(limit, nowUs).index, used: 0 };
  },

  isAhead(state, limit, nowUs) {
    return state.index > windowAt(limit, nowUs).index;
  },

  advance(state, limit, nowUs) {
    const { index } = windowAt(limit, nowUs);
    return { index, used: state.index < index ? 0 : state.used };
  },

  room(state, limit) {
    return limit.capacity - state.used;
  },

  charge({ index, used }, hits) {
    return { index, used: used + hits };
  },

  refund({ index, used }, hits) {
    return { index, used: Math.max(0, used - hits) };
  },

  giveBack(state, limit, { hits, takenAtUs }) {
    // With its window the hits of a take are gone.
    const given = windowAt(limit, takenAtUs).index === state.index ? Math.min(hits, state.used) : 0;
    return { state: { index: state.index, used: state.used - given }, given };
  },

  retryAfterUs(state, limit, hits, nowUs) {
    if (state.used + hits <= limit.capacity) return 0;
    return windowAt(limit, nowUs).endsAfterUs;
  },

  resetAfterUs(_state, limit, nowUs) {
    return windowAt(limit, nowUs).endsAfterUs;
  },

  isUnused(state) {
    return state.used === 0;
  },
};

export const fixedWindow: AlgorithmTraits<FixedWindowState> = {
  keyLetters: 'fw',
  scriptCode: '2',
  restores: 'at-window-end',
  holds: 'hits',
  isPlain: true,
  secondNumberMax: () => 0,
  engine,
};
