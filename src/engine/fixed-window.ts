/**
 * Fixed window: `requestsPerUnit` hits in each window of the clock, windows aligned to 1970. Twin of
 * `lua/include/fixed-window.lua`: with Redis the decision runs there, with the embedded store here.
 *
 * It is what the reference counts with, and has its known weakness: around the edge of two windows, up to twice the
 * limit can pass within one window's length.
 */

import type { Engine } from './engine';

export interface FixedWindowState {
  /** The window's number since 1970. */
  readonly index: number;
  /** Hits used in it. */
  readonly used: number;
}

export const fixedWindow: Engine<FixedWindowState> = {
  fresh(limit, nowUs) {
    return { index: windowIndex(limit.windowUs, nowUs), used: 0 };
  },

  isAhead(state, limit, nowUs) {
    return state.index > windowIndex(limit.windowUs, nowUs);
  },

  advance(state, limit, nowUs) {
    const index = windowIndex(limit.windowUs, nowUs);
    return { index, used: state.index < index ? 0 : state.used };
  },

  room(state, limit) {
    return limit.capacity - state.used;
  },

  charge(state, hits) {
    return { ...state, used: state.used + hits };
  },

  refund(state, hits) {
    return { ...state, used: Math.max(0, state.used - hits) };
  },

  retryAfterUs(state, limit, hits, nowUs) {
    if (state.used + hits <= limit.capacity) return 0;
    return limit.windowUs - (nowUs % limit.windowUs);
  },

  resetAfterUs(_state, limit, nowUs) {
    return limit.windowUs - (nowUs % limit.windowUs);
  },

  isUnused(state) {
    return state.used === 0;
  },
};

function windowIndex(windowUs: number, nowUs: number): number {
  return (nowUs - (nowUs % windowUs)) / windowUs;
}
