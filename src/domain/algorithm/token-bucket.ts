/**
 * Token bucket: `capacity` hits at once, refilled evenly at `requestsPerUnit` per window. Twin of
 * `lua/include/token-bucket.lua`: with Redis the decision runs there, with the embedded store here.
 *
 * The bucket remembers hits used, not tokens left: used hits drain as time passes, so a limit that changes keeps what
 * was used. Lazy refill is the classic form of it (Turner, "New directions in communications", 1986; Wikipedia,
 * "Token bucket"); kept here in whole hits and a rest, so that no fraction is ever rounded away.
 */

import type { AlgorithmTraits } from './algorithm';
import { refill, timeToRefill } from './arithmetic';
import type { Engine } from './engine';

export interface TokenBucketState {
  /** Hits used and not yet refilled. */
  readonly used: number;
  /** Progress towards the next hit refilled, in parts of `1 / windowUs` hit: the same unit at every rate. */
  readonly rest: number;
  /** When the two numbers above were true, in microseconds. */
  readonly atUs: number;
}

const engine: Engine<TokenBucketState> = {
  ofNumbers([used, rest], _limit, nowUs) {
    return { used, rest, atUs: nowUs };
  },

  fresh(_limit, nowUs) {
    return { used: 0, rest: 0, atUs: nowUs };
  },

  isAhead(state, _limit, nowUs) {
    return state.atUs > nowUs;
  },

  advance(state, limit, nowUs) {
    const { requestsPerUnit: requests, windowUs } = limit;
    const elapsedUs = Math.max(0, nowUs - state.atUs);
    const { hits, rest } = refill({ elapsedUs, rest: state.rest, requests, windowUs });
    if (hits >= state.used) return { used: 0, rest: 0, atUs: nowUs };
    return { used: state.used - hits, rest, atUs: nowUs };
  },

  room(state, limit) {
    return limit.capacity - state.used;
  },

  charge({ used, rest, atUs }, hits) {
    return { used: used + hits, rest, atUs };
  },

  refund({ used, rest, atUs }, hits) {
    if (hits >= used) return { used: 0, rest: 0, atUs };
    return { used: used - hits, rest, atUs };
  },

  /**
   * The tokens that flowed in since the take restored the hits used before it first: more than `usedBefore - 1`, since a
   * part of the last one may have been restored already. Only what flowed in beyond them can have restored hits of the
   * take; had it never been, that much would have run over. Others who took meanwhile leave less to run over.
   */
  giveBack(state, limit, { hits, takenAtUs, usedBefore }) {
    const { requestsPerUnit: requests, windowUs } = limit;
    const flowed = refill({ elapsedUs: Math.max(0, state.atUs - takenAtUs), rest: 0, requests, windowUs });
    const beyond = flowed.hits - Math.max(0, usedBefore - 1);
    const lost = beyond < 0 ? { hits: 0, rest: 0 } : { hits: beyond, rest: flowed.rest };
    const given = Math.min(hits - lost.hits, state.used);
    if (given <= 0) return { state, given: 0 };
    let used = state.used - (hits - lost.hits);
    let rest = state.rest - lost.rest;
    if (rest < 0) {
      used += 1;
      rest += windowUs;
    }
    if (used <= 0) return { state: { used: 0, rest: 0, atUs: state.atUs }, given };
    return { state: { used, rest, atUs: state.atUs }, given };
  },

  retryAfterUs(state, limit, hits) {
    // Used hits and these may be more than 2^53 together.
    const missing = hits - (limit.capacity - state.used);
    return timeToRefill({ hits: missing, rest: state.rest, requests: limit.requestsPerUnit, windowUs: limit.windowUs });
  },

  resetAfterUs(state, limit) {
    const { requestsPerUnit: requests, windowUs } = limit;
    // A rate of 0 never refills; one window is the only length that such a limit names.
    if (requests === 0) return windowUs;
    return timeToRefill({ hits: state.used, rest: state.rest, requests, windowUs });
  },

  isUnused(state) {
    return state.used === 0;
  },
};

export const tokenBucket: AlgorithmTraits<TokenBucketState> = {
  keyLetters: 'tb',
  scriptCode: '1',
  restores: 'evenly',
  holds: 'hits',
  burst: {
    capacity: (requestsPerUnit, burst) => burst ?? requestsPerUnit,
    forCapacity: (hits) => hits,
    isWholeCapacity: false,
  },
  isPlain: true,
  secondNumberMax: (windowUs) => windowUs - 1,
  engine,
};
