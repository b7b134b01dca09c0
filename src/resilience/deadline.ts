/** A store that answers in time: a call that Redis has not answered by its deadline fails. */

import { StoreError, type GroupOutcome, type SettleOutcome, type Store, type TakeOptions } from '../store/store';
import type { Group, Settlement } from '../bucket/take';

export interface DeadlineOptions {
  /** Longest a call may take, in milliseconds; a caller with less left gets less. */
  readonly timeoutMs: number;
}

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
    return this.inTime(() => this.store.take(groups, options), options);
  }

  settle(settlements: readonly Settlement[], options: TakeOptions = {}): Promise<readonly SettleOutcome[]> {
    return this.inTime(() => this.store.settle(settlements, options), options);
  }

  close(): Promise<void> {
    return this.store.close();
  }

  private inTime<Answer>(call: () => Promise<Answer>, options: TakeOptions): Promise<Answer> {
    const timeoutMs = Math.min(this.timeoutMs, options.timeoutMs ?? this.timeoutMs);
    return new Promise((resolve, reject) => {
      let immediate: NodeJS.Immediate | undefined;
      const timer = setTimeout(() => {
        // Timers run before input is read. After a pause of this process the answer may lie here unread, so what
        // has arrived is read first: an immediate runs after it.
        immediate = setImmediate(() => {
          reject(new StoreError(`the store did not answer within ${timeoutMs} ms`, 'timeout'));
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
