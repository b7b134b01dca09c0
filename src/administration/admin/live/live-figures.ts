/** Live figures: reads the counters of the deciding process at an interval while somebody looks, and makes rates and percentiles of them. */

import type { CountReader } from './count-reader';
import type { LiveCounts, RuleName } from './live-counts';
import { deniedHits, named, pointOf, rate, secondsOf, storeOf, sum, type LivePoint, type LiveStore, type Span } from './live-point';
import { between } from './percentile';

/** Interval between two readings, in milliseconds. */
export const SAMPLE_MS = 5_000;

/** Readings stop this long after the last question, in milliseconds. */
export const WATCHED_MS = 900_000;

/** Most points of the history: ten minutes. */
export const POINTS_MAX = 120;

/** Readings that rates look back over: a minute. */
const WINDOW = 12;

export interface LiveFiguresOptions {
  readonly counter: CountReader;
  /** In milliseconds since 1970. */
  readonly nowMs: () => number;
}

export interface LiveView {
  readonly at: string;
  /** The time that the rates are over, in seconds; 0: only one reading yet. */
  readonly windowS: number;
  readonly decisionsPerS: number;
  readonly errorsPerS: number;
  readonly fallbackPerS: number;
  readonly cachedDenialsPerS: number;
  readonly unmatchedPerS: number;
  readonly askedPerS: number;
  readonly deniedPerS: number;
  readonly decisionP50Ms?: number;
  readonly decisionP99Ms?: number;
  readonly stores: readonly LiveStore[];
  readonly history: readonly LivePoint[];
  readonly rules: readonly LiveRule[];
  /** Rules with hits that are not listed. */
  readonly rulesOmitted: number;
}

export interface LiveRule extends RuleName {
  readonly askedPerS: number;
  readonly deniedPerS: number;
  /** Since the start of the process. */
  readonly asked: number;
  readonly denied: number;
  readonly near: number;
  readonly wouldDeny: number;
}

export class LiveFigures {
  private readonly readings: LiveCounts[] = [];
  private readonly points: LivePoint[] = [];
  private askedAtMs = 0;
  private timer: NodeJS.Timeout | undefined;
  private pending: Promise<void> | undefined;

  constructor(private readonly options: LiveFiguresOptions) {}

  /** Rejects if the process does not answer. */
  async view({ rules }: { readonly rules: number }): Promise<LiveView> {
    this.askedAtMs = this.options.nowMs();
    if (this.readings.length === 0) await this.read();
    this.timer ??= setInterval(() => {
      if (this.options.nowMs() - this.askedAtMs > WATCHED_MS) this.stop();
      // The next question reports the failure; a gap in the history shows it.
      else this.read().catch(() => undefined);
    }, SAMPLE_MS).unref();
    const newest = this.readings[this.readings.length - 1];
    if (newest === undefined) throw new Error('a reading ended without counters');
    if (this.options.nowMs() - newest.atMs > 2 * SAMPLE_MS) await this.read();
    return this.show(rules);
  }

  /** Forgets all readings. */
  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.readings.length = 0;
    this.points.length = 0;
  }

  /** Two callers at a time share one reading. */
  read(): Promise<void> {
    this.pending ??= this.readOnce().finally(() => {
      this.pending = undefined;
    });
    return this.pending;
  }

  private async readOnce(): Promise<void> {
    const counts = await this.options.counter.read();
    const previous = this.readings[this.readings.length - 1];
    this.readings.push(counts);
    if (this.readings.length > WINDOW + 1) this.readings.shift();
    if (previous === undefined) return;
    this.points.push(pointOf({ earlier: previous, later: counts }));
    if (this.points.length > POINTS_MAX) this.points.shift();
  }

  private show(rulesMax: number): LiveView {
    const later = this.readings[this.readings.length - 1];
    const earlier = this.readings[0];
    if (later === undefined || earlier === undefined) throw new Error('no reading to show');
    const span = { earlier, later };
    const seconds = secondsOf(span);
    const perS = (pick: (counts: LiveCounts) => number) => rate(pick(later) - pick(earlier), seconds);
    const rules = this.rulesOf(span);
    return {
      at: new Date(later.atMs).toISOString(),
      windowS: Math.round(seconds),
      decisionsPerS: perS(({ decisions }) => decisions),
      errorsPerS: perS(({ errors }) => errors),
      fallbackPerS: perS(({ fallbackDecisions }) => fallbackDecisions),
      cachedDenialsPerS: perS(({ cachedDenials }) => cachedDenials),
      unmatchedPerS: perS(({ unmatched }) => unmatched),
      askedPerS: perS((counts) => sum(counts.rules.asked)),
      deniedPerS: perS(deniedHits),
      ...named('decisionP50Ms', 'decisionP99Ms', between(earlier.decisionTimes, later.decisionTimes)),
      stores: later.stores.map((each) => storeOf(each, span)),
      history: [...this.points],
      rules: rules.slice(0, rulesMax),
      rulesOmitted: Math.max(0, rules.length - rulesMax),
    };
  }

  /** Rules with hits, those that deny most first. */
  private rulesOf({ later, earlier }: Span): readonly LiveRule[] {
    const seconds = secondsOf({ later, earlier });
    const { asked, over, near, shadow } = later.rules;
    const shown = this.options.counter.names.flatMap((name, row): LiveRule[] => {
      const hits = asked[row] ?? 0;
      if (hits === 0) return [];
      const denied = (over[row] ?? 0) - (shadow[row] ?? 0);
      const before = (earlier.rules.over[row] ?? 0) - (earlier.rules.shadow[row] ?? 0);
      return [
        {
          ...name,
          askedPerS: rate(hits - (earlier.rules.asked[row] ?? 0), seconds),
          deniedPerS: rate(denied - before, seconds),
          asked: hits,
          denied,
          near: near[row] ?? 0,
          wouldDeny: shadow[row] ?? 0,
        },
      ];
    });
    return shown.sort((one, other) => other.deniedPerS - one.deniedPerS || other.askedPerS - one.askedPerS || other.asked - one.asked);
  }
}
