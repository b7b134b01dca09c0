/** The engine of an algorithm: a few pure functions over the state of a bucket, with time as an argument. */

import type { AlgorithmLimit } from './algorithm-limit';

/** In place of a time to retry after: the hits will not fit at any time. */
export const NEVER = -1;

/** Hits of an earlier take. */
export interface TakenHits {
  readonly hits: number;
  readonly takenAtUs: number;
  /** Hits used in the bucket before the take. */
  readonly usedBefore: number;
  /** The slot that the take has made, where slots have ids. */
  readonly slotId?: string | undefined;
}

export interface GivenBack<State> {
  readonly state: State;
  /** Hits of the take that were given back; a part of a hit counts as a whole one. 0: the state is unchanged. */
  readonly given: number;
}

/**
 * One algorithm. `State` holds whole numbers only: hits used, and a time that is never scaled by the rate, so that a
 * changed limit keeps what was used. Every function is pure; the twin under `lua/include/` has the same functions.
 */
export interface Engine<State> {
  /**
   * A state of now, of the two numbers that `to_numbers` makes of it in Lua: hits used and rest, or hits of the windows.
   * Absent: it is more than two, and groups on it are not folded.
   */
  ofNumbers?(numbers: readonly [number, number], limit: AlgorithmLimit, nowUs: number): State;
  /** The state of a bucket that nobody has used. */
  fresh(limit: AlgorithmLimit, nowUs: number): State;
  /** Whether the state is from after `nowUs`: the clock has stepped back since. */
  isAhead(state: State, limit: AlgorithmLimit, nowUs: number): boolean;
  /** The same bucket at `nowUs`. A state from after `nowUs` is taken to be of now, its used hits kept. */
  advance(state: State, limit: AlgorithmLimit, nowUs: number): State;
  /** Hits that fit now; negative if a lowered limit is overdrawn. The state must be of now, as in all that follow. */
  room(state: State, limit: AlgorithmLimit): number;
  charge(state: State, hits: number, slotId?: string): State;
  /** Gives hits back, never beyond a full bucket, except to a budget; the same state if there is nothing to give back. */
  refund(state: State, hits: number, slotId?: string): State;
  /** Whether a slot of that id is taken. Absent: the state does not hold slots. */
  holds?(state: State, slotId: string): boolean;
  /**
   * Takes hits of an earlier take off again, less what time has taken off them already: at no time does that leave more
   * room than there would be if the take had never been, whatever others took meanwhile.
   */
  giveBack(state: State, limit: AlgorithmLimit, taken: TakenHits): GivenBack<State>;
  /** Time until `hits` more would fit, in microseconds, or `NEVER`; they are at most the capacity. */
  retryAfterUs(state: State, limit: AlgorithmLimit, hits: number, nowUs: number): number;
  resetAfterUs(state: State, limit: AlgorithmLimit, nowUs: number): number;
  /** Whether the state says no more than a fresh one. */
  isUnused(state: State): boolean;
}
