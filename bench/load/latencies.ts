/** Times of many calls, and the quantiles of them: kept one by one, so that no bucket rounds them. */

const AT_FIRST = 4096;

export interface Quantiles {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
}

export class Latencies {
  private values = new Float64Array(AT_FIRST);
  private count = 0;

  add(value: number): void {
    if (this.count === this.values.length) {
      const larger = new Float64Array(2 * this.count);
      larger.set(this.values);
      this.values = larger;
    }
    this.values[this.count] = value;
    this.count += 1;
  }

  get size(): number {
    return this.count;
  }

  /** @throws Error if there is none */
  quantiles(): Quantiles {
    const sorted = this.values.slice(0, this.count).sort();
    return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), p999: quantile(sorted, 0.999) };
  }
}

/** The least value that so large a share of all does not exceed. */
function quantile(sorted: Float64Array, share: number): number {
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  if (value === undefined) throw new Error('no calls, no quantiles');
  return value;
}
