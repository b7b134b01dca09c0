/** The most hits that each key asked for in one window, by the number of the key. */

const WIDTH = 4;
const COUNT = 1;
const PEAK = 2;
/** The limit of the key, plus one; 0: the key has none in this column. */
const OWNER = 3;
const KEYS_MIN = 1_024;

export class PeakColumn {
  private numbers = new Float64Array(WIDTH * KEYS_MIN);
  /** Keys that were forgotten: owners and peaks in turn. */
  private readonly forgotten: number[] = [];

  /**
   * Counts hits of a key under a limit in a window; returns those of the key in the window so far, these included. Plain parameters, because an object
   * for each hit would cost too much.
   */
  count(key: number, owner: number, window: number, hits: number): number {
    const at = WIDTH * key;
    if (at >= this.numbers.length) this.grow(at);
    const { numbers } = this;
    const before = numbers[at] === window ? (numbers[at + COUNT] ?? 0) : 0;
    const count = before + hits;
    numbers[at] = window;
    numbers[at + COUNT] = count;
    numbers[at + OWNER] = owner + 1;
    if (count > (numbers[at + PEAK] ?? 0)) numbers[at + PEAK] = count;
    return count;
  }

  /** Visits the peak of each key, also of those that were forgotten. */
  visit(each: (owner: number, peak: number) => void): void {
    const { numbers, forgotten } = this;
    for (let at = 0; at < numbers.length; at += WIDTH) {
      const owner = numbers[at + OWNER] ?? 0;
      if (owner > 0) each(owner - 1, numbers[at + PEAK] ?? 0);
    }
    for (let i = 0; i < forgotten.length; i += 2) each(forgotten[i] ?? 0, forgotten[i + 1] ?? 0);
  }

  /** Keeps only some keys, which get the numbers from 0 on in their order. */
  keep(kept: Int32Array): void {
    const before = this.numbers;
    this.numbers = new Float64Array(WIDTH * Math.max(KEYS_MIN, kept.length));
    for (let i = 0; i < kept.length; i += 1) {
      const from = WIDTH * (kept[i] ?? 0);
      for (let part = 0; part < WIDTH; part += 1) this.numbers[WIDTH * i + part] = before[from + part] ?? 0;
      before[from + OWNER] = 0;
    }
    for (let at = 0; at < before.length; at += WIDTH) {
      const owner = before[at + OWNER] ?? 0;
      if (owner > 0 && this.forgotten.length < FORGOTTEN_MAX) this.forgotten.push(owner - 1, before[at + PEAK] ?? 0);
    }
  }

  private grow(at: number): void {
    const numbers = new Float64Array(Math.max(2 * this.numbers.length, at + WIDTH));
    numbers.set(this.numbers);
    this.numbers = numbers;
  }
}

/** Keys that come back after they were forgotten count again, so their number must be bounded. */
const FORGOTTEN_MAX = 8_000_000;
