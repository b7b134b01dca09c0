/** Logs, throttled, the buckets that the embedded store evicts because it is full. */

import type { Forgotten, MemoryStore } from '../../../state/store/memory/memory-store';
import { event } from './log-event';
import type { Logger } from './logger';
import { ThrottledLog } from './throttled-log';

export interface ForgetLogOptions {
  readonly log: Pick<Logger, 'warn'>;
  /** MEMORY_BUCKETS_MAX. */
  readonly bucketsMax: number;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

export class ForgetLog {
  private readonly throttled: ThrottledLog;

  constructor(private readonly options: ForgetLogOptions) {
    this.throttled = new ThrottledLog({
      write: (sentence) => {
        options.log.warn(event('buckets_forgotten'), sentence);
      },
      nowMs: options.nowMs,
    });
  }

  /** Logs an eviction. `store` has the counts since the start, this eviction included. */
  forgotten({ usedUp }: Forgotten, store: Pick<MemoryStore, 'evictions' | 'usedUpEvictions'>): void {
    if (usedUp)
      this.throttled.log(
        'used up',
        () =>
          `the memory store is full: since the start it evicted ${store.usedUpEvictions} used-up limits, each of which admits its whole limit again; ${this.advice()}`,
      );
    else
      this.throttled.log(
        'partly used',
        () =>
          `the memory store is full: since the start it evicted ${store.evictions - store.usedUpEvictions} partly used buckets, each of which admits its used hits again; ${this.advice()}`,
      );
  }

  private advice(): string {
    return `raise MEMORY_BUCKETS_MAX (${this.options.bucketsMax}), or count in Redis`;
  }
}
