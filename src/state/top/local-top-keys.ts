/** The top keys of this process: counts decisions, ends the periods, and answers from its own windows. */

import { Pace, runInSlices, SHORT_SLICE_MS } from '../../lib/slices';
import { makeCountDecision, type Counted } from './count-decision';
import { answerOf } from './answer';
import { LiveKeys } from './live-keys';
import type { TopAnswer, TopKeys, TopMinutes, TopQuery } from './top-keys';
import { PERIOD_MS, Windows, type Window } from './windows';

/** Keys that a summary keeps, for each counter of a rule. */
const KEYS_A_COUNTER = 2;

/** Periods without a hit after which a rule is forgotten: no window has a hit of it. */
const PRUNE_PERIODS = (66 * 60_000) / PERIOD_MS;

export interface LocalTopKeysOptions {
  /** `TOP_KEYS_CAPACITY`: counters of each rule and question. */
  readonly capacity: number;
  /** `NEAR_LIMIT_RATIO`. */
  readonly nearLimitRatio: number;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

export class LocalTopKeys implements TopKeys {
  /** Counts a decision. */
  readonly record: (decided: Counted) => void;
  private readonly keys: LiveKeys;
  private readonly windows: Windows;
  private readonly known = new Map<TopMinutes, Window>();
  private ending: Promise<void> | undefined;

  constructor(private readonly options: LocalTopKeysOptions) {
    const { capacity, nearLimitRatio, nowMs } = options;
    this.keys = new LiveKeys({ capacity });
    this.record = makeCountDecision({ keys: this.keys, nearLimitRatio });
    this.windows = new Windows({ keysMax: this.keysMax, nowMs: nowMs(), pace: () => new Pace(SHORT_SLICE_MS) });
  }

  /** Ends the current period, so that the windows have its hits. Must be called every PERIOD_MS. */
  endPeriod(): Promise<void> {
    // One at a time: a period that takes long to end only makes the next one longer.
    this.ending ??= this.end().finally(() => {
      this.ending = undefined;
    });
    return this.ending;
  }

  /** The counts of the window since the end of the last period; read once for each. */
  async window(minutes: TopMinutes): Promise<Window> {
    const known = this.known.get(minutes) ?? (await this.windows.read(minutes, this.options.nowMs()));
    this.known.set(minutes, known);
    return known;
  }

  async top(query: TopQuery): Promise<TopAnswer> {
    const { summary, fromMs } = await this.window(query.minutes);
    return { ...answerOf({ summary, query }), coveredMs: this.options.nowMs() - fromMs, instances: 1, missing: 0 };
  }

  private async end(): Promise<void> {
    const summary = await runInSlices(this.keys.seal({ keysMax: this.keysMax }), new Pace(SHORT_SLICE_MS));
    await this.windows.add(summary, this.options.nowMs());
    this.keys.prune({ periods: PRUNE_PERIODS });
    this.known.clear();
  }

  private get keysMax(): number {
    return KEYS_A_COUNTER * this.options.capacity;
  }
}
