/** The states of one bucket of each key, by the number of the key. */

import type { BucketState } from '../../../domain/algorithm/algorithms';
import type { AlgorithmLimit } from '../../../domain/algorithm/algorithm-limit';
import type { Engine } from '../../../domain/algorithm/engine';

/** The forms of a state. Other states are objects in a map. */
const TOKENS = 0;
const WINDOW = 1;
const WINDOWS = 2;
const OTHER = 3;

export type StateForm = typeof TOKENS | typeof WINDOW | typeof WINDOWS | typeof OTHER;

/** Numbers of a state: two of its own, its hits, and when it ends. An end of 0 stands for an absent state. */
const WIDTH = 4;
const HITS = 2;
const ENDS = 3;

const KEYS_MIN = 1_024;

export function formOf(engine: Engine<BucketState>, limit: AlgorithmLimit, nowUs: number): StateForm {
  const state = engine.fresh(limit, nowUs);
  if ('rest' in state) return TOKENS;
  if ('previous' in state) return WINDOWS;
  return 'used' in state ? WINDOW : OTHER;
}

export class StateColumn {
  private numbers = new Float64Array(WIDTH * KEYS_MIN);
  private readonly others = new Map<number, BucketState>();

  read(key: number, form: StateForm): BucketState | undefined {
    const at = WIDTH * key;
    const { numbers } = this;
    if (at >= numbers.length || numbers[at + ENDS] === 0) return undefined;
    const a = numbers[at] ?? 0;
    const b = numbers[at + 1] ?? 0;
    const hits = numbers[at + HITS] ?? 0;
    if (form === TOKENS) return { used: hits, rest: b, atUs: a };
    if (form === WINDOW) return { index: a, used: hits };
    // `elapsedUs` is not stored: the engine sets it from the clock.
    return form === WINDOWS ? { index: a, current: hits, previous: b, elapsedUs: 0 } : this.others.get(key);
  }

  /** Without an end it stays as it was. Plain parameters, because an object for each write would cost too much. */
  write(key: number, form: StateForm, state: BucketState | undefined, endsUs: number | undefined): void {
    const at = WIDTH * key;
    if (at >= this.numbers.length) this.grow(at);
    const { numbers } = this;
    if (state === undefined) {
      numbers[at + ENDS] = 0;
      if (form === OTHER) this.others.delete(key);
      return;
    }
    if (endsUs !== undefined) numbers[at + ENDS] = endsUs;
    if ('rest' in state) {
      numbers[at] = state.atUs;
      numbers[at + 1] = state.rest;
      numbers[at + HITS] = state.used;
    } else if ('previous' in state) {
      numbers[at] = state.index;
      numbers[at + 1] = state.previous;
      numbers[at + HITS] = state.current;
    } else if ('used' in state) {
      numbers[at] = state.index;
      numbers[at + HITS] = state.used;
    } else this.others.set(key, state);
  }

  /** When the state of a key ends; 0: it has none. */
  endOf(key: number): number {
    return this.numbers[WIDTH * key + ENDS] ?? 0;
  }

  /** Keeps only some keys, which get the numbers from 0 on in their order. */
  keep(kept: Int32Array): void {
    const before = this.numbers;
    this.numbers = new Float64Array(WIDTH * Math.max(KEYS_MIN, kept.length));
    const others = [...this.others];
    this.others.clear();
    const numberOf = new Map(others.length === 0 ? [] : Array.from(kept, (key, i) => [key, i] as const));
    for (const [key, state] of others) {
      const number = numberOf.get(key);
      if (number !== undefined) this.others.set(number, state);
    }
    for (let i = 0; i < kept.length; i += 1) {
      const from = WIDTH * (kept[i] ?? 0);
      for (let part = 0; part < WIDTH; part += 1) this.numbers[WIDTH * i + part] = before[from + part] ?? 0;
    }
  }

  private grow(at: number): void {
    const numbers = new Float64Array(Math.max(2 * this.numbers.length, at + WIDTH));
    numbers.set(this.numbers);
    this.numbers = numbers;
  }
}
