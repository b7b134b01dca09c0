/** The top keys of all instances for one of them: publishes those of this process, and answers with those of all. */

import type { TopExchange } from './exchange';
import type { LocalTopKeys } from './local-top-keys';
import { encodePublished } from './published-summary';
import { PublishedTopKeys } from './published-top-keys';
import { TOP_MINUTES, type TopAnswer, type TopKeys, type TopMinutes, type TopQuery } from './top-keys';
import { PERIOD_MS } from './windows';

/** By window: periods from one publication to the next. Longer windows are sent less often. */
const PERIODS_A_PUBLICATION: Readonly<Record<TopMinutes, number>> = { 1: 1, 10: 3, 60: 12 };

/** Publications that may be missed before the text expires. */
const MISSED_MAX = 3;

export interface FleetTopKeysOptions {
  readonly local: LocalTopKeys;
  readonly exchange: TopExchange;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

export class FleetTopKeys implements TopKeys {
  private readonly all: PublishedTopKeys;
  private periods = 0;
  private publishing: Promise<void> | undefined;

  constructor(private readonly options: FleetTopKeysOptions) {
    const { local, exchange, nowMs } = options;
    this.all = new PublishedTopKeys({ exchange, own: { name: exchange.name, window: (minutes) => local.window(minutes) }, nowMs });
  }

  /** Publishes the windows that are due. Must be called after the end of each period. Rejects with a StoreError if the store fails. */
  publish(): Promise<void> {
    // One at a time: while the store hangs, nothing more is sent to it.
    this.publishing ??= this.publishDue().finally(() => {
      this.publishing = undefined;
    });
    return this.publishing;
  }

  top(query: TopQuery): Promise<TopAnswer> {
    return this.all.top(query);
  }

  private async publishDue(): Promise<void> {
    const { local, exchange, nowMs } = this.options;
    this.periods += 1;
    for (const minutes of TOP_MINUTES) {
      const every = PERIODS_A_PUBLICATION[minutes];
      // The first period publishes all: a new instance soon takes part.
      if (this.periods !== 1 && this.periods % every !== 0) continue;
      const { summary, fromMs } = await local.window(minutes);
      const text = encodePublished({ summary, coveredMs: nowMs() - fromMs });
      await exchange.publish({ minutes, text, ttlMs: (1 + MISSED_MAX) * every * PERIOD_MS });
    }
  }
}
