/**
 * Budget: `requestsPerUnit` hits in total, and time restores none of them. Twin of `lua/include/budget.lua`: with Redis the
 * decision runs there, with the embedded store here.
 *
 * It is an account: what is left is the limit, less the charged hits, plus the hits that were given back. So credits may raise it
 * above the limit, where every other algorithm forgets what would be beyond full.
 */

import type { AlgorithmTraits } from './algorithm';
import { DURATION_US_MAX } from './arithmetic';
import { NEVER, type Engine } from './engine';

/** The most that is left, and the most that credits beyond the charges may come to: larger numbers are not exact. */
const LEFT_MAX = Number.MAX_SAFE_INTEGER;

export interface BudgetState {
  /** Charged hits less those given back; negative: credits have raised the budget. */
  readonly spent: number;
}

const engine: Engine<BudgetState> = {
  fresh() {
    return { spent: 0 };
  },

  isAhead() {
    return false;
  },

  advance(state) {
    return state;
  },

  room(state, limit) {
    return Math.min(LEFT_MAX, limit.capacity - state.spent);
  },

  charge({ spent }, hits) {
    return { spent: spent + hits };
  },

  refund({ spent }, hits) {
    return { spent: Math.max(-LEFT_MAX, spent - hits) };
  },

  giveBack({ spent }, _limit, { hits }) {
    const after = Math.max(-LEFT_MAX, spent - hits);
    return { state: { spent: after }, given: Math.min(hits, spent - after) };
  },

  retryAfterUs(state, limit, hits) {
    return hits <= engine.room(state, limit) ? 0 : NEVER;
  },

  resetAfterUs() {
    return DURATION_US_MAX;
  },

  isUnused() {
    // Time never makes it as good as new, and a credit to one that nobody has used yet must be kept.
    return false;
  },
};

export const budget: AlgorithmTraits<BudgetState> = {
  keyLetters: 'bu',
  scriptCode: '7',
  restores: 'never',
  holds: 'hits',
  isPlain: false,
  secondNumberMax: () => 0,
  engine,
};
