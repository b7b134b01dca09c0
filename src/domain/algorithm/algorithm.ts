/** The interface of an algorithm: its engine, and every property that other code depends on. */

import type { Engine } from './engine';

/**
 * How used hits come back: `evenly` as time passes, all `at-window-end`, `in-window`, each when it is a window old, or `never`.
 * Windows of the calendar need `at-window-end`.
 */
export type Restores = 'evenly' | 'at-window-end' | 'in-window' | 'never';

/** The meaning of `burst` to an algorithm. */
export interface Burst {
  /** The most hits that fit at once. */
  readonly capacity: (requestsPerUnit: number, burst: number | undefined) => number;
  /** The smallest `burst` under which as many hits fit at once. */
  readonly forCapacity: (hits: number) => number;
  /** `requests_per_unit` has no part in the capacity. */
  readonly isWholeCapacity: boolean;
}

export interface AlgorithmTraits<State> {
  /** Two letters in the bucket key. */
  readonly keyLetters: string;
  /** The number of the algorithm in the arguments of the scripts; `lua/take.lua` lists them. */
  readonly scriptCode: string;
  readonly restores: Restores;
  /** `slots` are taken and released one by one, each perhaps by an id. */
  readonly holds: 'hits' | 'slots';
  /** Absent: `burst` has no effect, and the capacity is `requests_per_unit`. */
  readonly burst?: Burst;
  /** The bucket has a record for each hit: reading and writing it costs as much as the limit is large. Absent: it is a few numbers. */
  readonly recordsMax?: number;
  /** The name of an algorithm that counts much the same without records; present with `recordsMax` where there is one. */
  readonly lighter?: string;
  /** `lua/take.lua` decides enforced takes of such buckets without tables (`lua/include/charge-plain.lua`). */
  readonly isPlain: boolean;
  /** The largest second number of the state, as the script answers a fold with it. */
  readonly secondNumberMax: (windowUs: number) => number;
  readonly engine: Engine<State>;
}
