/** Live tails over all workers: each worker takes samples, and the parent passes on at most as many as one process would. */

import type { TailFilter, TailSample, TailSource } from '../observability/tail/tail-sample';
import { MS_PER_S } from '../../lib/time-units';

export interface WorkerTailsOptions {
  /** Sends to all workers that serve, or to one of them. */
  readonly send: (message: TailOrder, worker?: number) => void;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

export type TailOrder =
  { readonly kind: 'tail'; readonly tail: number; readonly filter: TailFilter } | { readonly kind: 'tail_end'; readonly tail: number };

interface OpenTail {
  readonly filter: TailFilter;
  readonly onSample: (sample: TailSample) => void;
  /** Samples passed on since the second began. */
  passed: number;
  sinceMs: number;
  skipped: number;
}

export class WorkerTails implements TailSource {
  private readonly tails = new Map<number, OpenTail>();

  constructor(private readonly options: WorkerTailsOptions) {}

  open(tail: number, filter: TailFilter, onSample: (sample: TailSample) => void): void {
    this.tails.set(tail, { filter, onSample, passed: 0, sinceMs: -Infinity, skipped: 0 });
    this.options.send({ kind: 'tail', tail, filter });
  }

  close(tail: number): void {
    if (this.tails.delete(tail)) this.options.send({ kind: 'tail_end', tail });
  }

  /** Opens all tails in a worker that serves from now on. */
  join(worker: number): void {
    for (const [tail, { filter }] of this.tails) this.options.send({ kind: 'tail', tail, filter }, worker);
  }

  /** Passes on a sample of a worker. */
  take(tail: number, sample: TailSample): void {
    const open = this.tails.get(tail);
    if (open === undefined) return;
    const nowMs = this.options.nowMs();
    if (nowMs - open.sinceMs >= MS_PER_S) {
      open.sinceMs = nowMs;
      open.passed = 0;
    }
    if (open.passed >= open.filter.perSecond) {
      open.skipped += 1 + sample.skipped;
      return;
    }
    open.passed += 1;
    const skipped = open.skipped + sample.skipped;
    open.skipped = 0;
    open.onSample({ ...sample, skipped });
  }
}
