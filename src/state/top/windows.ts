/** Sliding windows over summaries: what was counted in the last 1, 10 and 60 minutes. */

import { runInSlices, type Pace } from '../../lib/slices';
import { merge, type QuestionSummary, type Summary } from './summary';
import { TOP_QUESTIONS, type TopMinutes, type TopQuestion } from './top-keys';
import { MS_PER_MINUTE } from '../../lib/time-units';

/** Length of the shortest period, in milliseconds. */
export const PERIOD_MS = 5_000;

/** Periods of a minute, and minutes of the longest period that is kept. */
const PERIODS_A_MINUTE = 12;
const MINUTES_A_SPAN = 5;

/** The counts from one time to another, in milliseconds of a monotonic clock. */
interface Counted {
  readonly summary: Summary;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Window {
  readonly summary: Summary;
  /** 0: nothing was counted. */
  readonly fromMs: number;
}

export interface WindowsOptions {
  /** Keys that one summary keeps for each question. */
  readonly keysMax: number;
  readonly nowMs: number;
  /** Work is done in slices of this pace. */
  readonly pace: () => Pace;
}

/**
 * Keeps the last minute in periods of 5 s, the last 10 minutes in minutes, and the last hour in spans of 5 minutes, so that memory
 * does not depend on the traffic: at most 13 + 11 + 13 summaries. A window covers up to one of its periods more than its length.
 */
export class Windows {
  private periods: readonly Counted[] = [];
  private minutes: readonly Counted[] = [];
  private spans: readonly Counted[] = [];
  /** Periods that are not part of a minute yet, and minutes that are not part of a span. */
  private openPeriods = 0;
  private openMinutes = 0;
  private lastMs: number;

  constructor(private readonly options: WindowsOptions) {
    this.lastMs = options.nowMs;
  }

  /** Adds what was counted since the last call. */
  async add(summary: Summary, nowMs: number): Promise<void> {
    const period = { summary, fromMs: this.lastMs, toMs: nowMs };
    this.lastMs = nowMs;
    this.periods = [...within(this.periods, { nowMs, minutes: 1 }), period];
    this.openPeriods += 1;
    if (this.openPeriods >= PERIODS_A_MINUTE) {
      // After a pause, periods of the minute may be too old to be here.
      const minute = await this.mergeAll(last(this.periods, this.openPeriods));
      this.openPeriods = 0;
      this.minutes = [...within(this.minutes, { nowMs, minutes: 10 }), minute];
      this.openMinutes += 1;
    }
    if (this.openMinutes < MINUTES_A_SPAN) return;
    const span = await this.mergeAll(last(this.minutes, this.openMinutes));
    this.openMinutes = 0;
    this.spans = [...within(this.spans, { nowMs, minutes: 60 }), span];
  }

  async read(minutes: TopMinutes, nowMs: number): Promise<Window> {
    const { periods, openPeriods, openMinutes } = this;
    const newest = last(periods, openPeriods);
    const parts =
      minutes === 1
        ? periods
        : minutes === 10
          ? [...this.minutes, ...newest]
          : [...this.spans, ...last(this.minutes, openMinutes), ...newest];
    const recent = within(parts, { nowMs, minutes });
    return recent.length === 0 ? { summary: await this.mergeSummaries([]), fromMs: nowMs } : this.mergeAll(recent);
  }

  private async mergeAll(parts: readonly Counted[]): Promise<Counted> {
    return {
      summary: await this.mergeSummaries(parts.map(({ summary }) => summary)),
      fromMs: parts[0]?.fromMs ?? this.lastMs,
      toMs: parts.at(-1)?.toMs ?? this.lastMs,
    };
  }

  private mergeSummaries(summaries: readonly Summary[]): Promise<Summary> {
    const { keysMax, pace } = this.options;
    return runInSlices(mergeSummaries(summaries, { keysMax }), pace());
  }
}

/** Merges whole summaries, the oldest first. */
export function* mergeSummaries(summaries: readonly Summary[], { keysMax }: { readonly keysMax: number }): Generator<undefined, Summary> {
  const merged: Partial<Record<TopQuestion, QuestionSummary>> = {};
  for (const question of TOP_QUESTIONS) {
    merged[question] = yield* merge({ question, summaries: summaries.map((summary) => summary[question]), keysMax });
  }
  return merged as Summary;
}

function within(
  parts: readonly Counted[],
  { nowMs, minutes }: { readonly nowMs: number; readonly minutes: TopMinutes },
): readonly Counted[] {
  return parts.filter(({ toMs }) => toMs > nowMs - minutes * MS_PER_MINUTE);
}

function last<T>(items: readonly T[], count: number): readonly T[] {
  return count === 0 ? [] : items.slice(-count);
}
