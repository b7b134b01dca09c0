/** A store that answers in time: a call that Redis has not answered by its deadline fails. */

import { StoreError, type GroupOutcome, type SettleOutcome, type Store, type TakeOptions } from '../store/store';
import type { Group, Settlement } from '../bucket/take';

export interface DeadlineOptions {
  /** Longest a take may take, in milliseconds; a caller with less left gets less. Of a settlement, unless it is told otherwise. */
  readonly timeoutMs: number;
}

/** A caller that can wait for less than this part of the deadline shows nothing about the store by giving up. */
const ENOUGH = 0.5;

/**
 * The call itself goes on: Redis may yet run it and charge. It is not sent again, since nobody knows whether it ran.
 */
export class DeadlineStore implements Store {
  private readonly store: Store;
  private readonly timeoutMs: number;

  constructor(store: Store, { timeoutMs }: DeadlineOptions) {
    this.store = store;
    this.timeoutMs = timeoutMs;
  }

  take(groups: readonly Group[], options: TakeOptions = {}): Promise<readonly GroupOutcome[]> {
    return this.inTime(() => this.store.take(groups, options), Math.min(this.timeoutMs, options.timeoutMs ?? this.timeoutMs));
  }

  settle(settlements: readonly Settlement[], options: TakeOptions = {}): Promise<readonly SettleOutcome[]> {
    // No caller's answer waits for it: whoever settles may say how long it may take.
    return this.inTime(() => this.store.settle(settlements, options), options.timeoutMs ?? this.timeoutMs);
  }

  close(): Promise<void> {
    return this.store.close();
  }

  private inTime<Answer>(call: () => Promise<Answer>, timeoutMs: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      let immediate: NodeJS.Immediate | undefined;
      const timer = setTimeout(() => {
        // Timers run before input is read. After a pause of this process the answer may lie here unread, so what
        // has arrived is read first: an immediate runs after it.
        immediate = setImmediate(() => {
          reject(new StoreError(`the store did not answer within ${timeoutMs} ms`, timeoutMs < ENOUGH * this.timeoutMs ? 'caller_timeout' : 'timeout'));
        });
      }, timeoutMs);
      const settled = () => {
        clearTimeout(timer);
        if (immediate !== undefined) clearImmediate(immediate);
      };
      call().then(
        (answer) => {
          settled();
          resolve(answer);
        },
        (error: unknown) => {
          settled();
          reject(error instanceof Error ? error : new Error(String(error)));
        },
      );
    });
  }
}
