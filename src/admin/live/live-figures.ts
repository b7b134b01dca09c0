/** Live figures: reads the counters of the deciding process at an interval while somebody looks, and makes rates and percentiles of them. */

import type { LiveCounts, LivePort, RuleName, StoreCounts } from './live-counts';
import { between, percentile } from './percentile';

/** Interval between two readings, in milliseconds. */
export const SAMPLE_MS = 5_000;

/** Readings stop this long after the last question, in milliseconds. */
export const WATCHED_MS = 900_000;

/** Most points of the history: ten minutes. */
export const POINTS_MAX = 120;

/** Readings that rates look back over: a minute. */
const WINDOW = 12;

const MS_PER_S = 1_000;

const [P50, P99] = [0.5, 0.99];

export interface LiveFiguresOptions {
  readonly port: LivePort;
  /** In milliseconds since 1970. */
  readonly nowMs: () => number;
}

export interface LivePoint {
  readonly at: string;
  readonly askedPerS: number;
  readonly deniedPerS: number;
  readonly decisionP50Ms?: number;
  readonly decisionP99Ms?: number;
  readonly storeP99Ms?: number;
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

export interface LiveStore {
  readonly store: string;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  readonly errorsPerS: number;
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
  private readonly names: RuleName[] = [];
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
    const counts = await this.options.port.counts({ fromRow: this.names.length });
    for (const name of counts.rules.added) this.names.push(name);
    const previous = this.readings[this.readings.length - 1];
    this.readings.push(counts);
    if (this.readings.length > WINDOW + 1) this.readings.shift();
    if (previous === undefined) return;
    this.points.push(pointOf(previous, counts));
    if (this.points.length > POINTS_MAX) this.points.shift();
  }

  private show(rulesMax: number): LiveView {
    const later = this.readings[this.readings.length - 1];
    const earlier = this.readings[0];
    if (later === undefined || earlier === undefined) throw new Error('no reading to show');
    const seconds = (later.atMs - earlier.atMs) / MS_PER_S;
    const perS = (pick: (counts: LiveCounts) => number) => rate(pick(later) - pick(earlier), seconds);
    const rules = this.rulesOf({ later, earlier, seconds });
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
      stores: later.stores.map((each) => storeOf(each, { earlier, seconds })),
      history: [...this.points],
      rules: rules.slice(0, rulesMax),
      rulesOmitted: Math.max(0, rules.length - rulesMax),
    };
  }

  /** Rules with hits, those that deny most first. */
  private rulesOf({ later, earlier, seconds }: Span): readonly LiveRule[] {
    const { asked, over, near, shadow } = later.rules;
    const shown = this.names.flatMap((name, row): LiveRule[] => {
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

interface Span {
  readonly later: LiveCounts;
  readonly earlier: LiveCounts;
  readonly seconds: number;
}

function pointOf(earlier: LiveCounts, later: LiveCounts): LivePoint {
  const seconds = (later.atMs - earlier.atMs) / MS_PER_S;
  const times = between(earlier.decisionTimes, later.decisionTimes);
  const stores = later.stores.map((each) => storeOf(each, { earlier, seconds }).p99Ms ?? 0);
  const storeP99Ms = Math.max(0, ...stores);
  return {
    at: new Date(later.atMs).toISOString(),
    askedPerS: rate(sum(later.rules.asked) - sum(earlier.rules.asked), seconds),
    deniedPerS: rate(deniedHits(later) - deniedHits(earlier), seconds),
    ...named('decisionP50Ms', 'decisionP99Ms', times),
    ...(storeP99Ms > 0 && { storeP99Ms }),
  };
}

function storeOf({ store, times, errors }: StoreCounts, { earlier, seconds }: Omit<Span, 'later'>): LiveStore {
  const before = earlier.stores.find((each) => each.store === store);
  return {
    store,
    ...named('p50Ms', 'p99Ms', between(before?.times, times)),
    errorsPerS: rate(errors - (before?.errors ?? 0), seconds),
  };
}

/** The percentiles under these names, in milliseconds; none without observations. */
function named<Half extends string, Most extends string>(half: Half, most: Most, times: Parameters<typeof percentile>[0]) {
  const [p50, p99] = [percentile(times, P50), percentile(times, P99)];
  return {
    ...(p50 !== undefined && { [half]: toMs(p50) }),
    ...(p99 !== undefined && { [most]: toMs(p99) }),
  } as Partial<Record<Half | Most, number>>;
}

function toMs(seconds: number): number {
  return Math.round(seconds * 1_000_000) / 1_000;
}

function deniedHits({ rules: { over, shadow } }: LiveCounts): number {
  return sum(over) - sum(shadow);
}

function sum(values: Float64Array): number {
  return values.reduce((total, each) => total + each, 0);
}

/** A worker that ended takes nothing away. */
function rate(difference: number, seconds: number): number {
  return seconds <= 0 ? 0 : Math.max(0, Math.round((difference / seconds) * 1_000) / 1_000);
}
