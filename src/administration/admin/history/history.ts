/** The last hour by minute: live figures, rules, keys and instances. The thread of the admin API reads them once a minute. */

import { createHash } from 'node:crypto';
import { TOP_COUNT_MAX, type TopAnswer, type TopKeys, type TopQuestion } from '../../../state/top/top-keys';
import type { InstanceFacts, InstancesPort } from '../../../state/instances/instance-facts';
import type { CountReader } from '../live/count-reader';
import type { LiveCounts, RuleName } from '../live/live-counts';
import { pointOf, type LivePoint, type Span } from '../live/live-point';
import { Minutes, MINUTES_MAX, type Minute, type MinuteView } from './minutes';
import { MS_PER_MINUTE } from '../../../lib/time-units';

/** Bounds of memory: at most 5 MB together. */
export const KEYS_MAX = 500;
export const RULES_MAX = 2_000;
export const INSTANCES_MAX = 256;

/**
 * Each process with an admin API reads what all processes have published, so their reads grow with the square of their number. With
 * more processes than this, keys and instances are read only while somebody looks.
 */
export const UNWATCHED_PROCESSES_MAX = 16;

/** Somebody looks until this long after the last question, in milliseconds. */
const WATCHED_MS = 3_600_000;

/** The least time that a rate of the current minute is over, in milliseconds. */
const CURRENT_MS_MIN = 10_000;

export const HISTORY_QUESTIONS = ['denied', 'asked'] as const satisfies readonly TopQuestion[];

export type HistoryQuestion = (typeof HISTORY_QUESTIONS)[number];

export interface NamedKey {
  readonly domain: string;
  readonly rule: string;
  readonly entries: string;
}

export interface HistoryPort {
  /** The oldest first; at most an hour. */
  points(): Promise<readonly LivePoint[]>;
  /** Columns: denied hits and asked hits in a minute. */
  rules(): Promise<MinuteView<RuleName>>;
  /** Column: certain hits in a minute. */
  keys(question: HistoryQuestion): Promise<MinuteView<NamedKey>>;
  /** Columns: decisions in a second, and the utilization of the event loop. */
  instances(): Promise<MinuteView<string>>;
}

export interface HistoryOptions {
  readonly counter: CountReader;
  readonly top: TopKeys;
  readonly instances: InstancesPort;
  /** In milliseconds since 1970. */
  readonly nowMs: () => number;
}

export class History implements HistoryPort {
  private readonly ruleMinutes = new Minutes<RuleName>({ rowsMax: RULES_MAX, columns: 2 });
  private readonly keyMinutes: Readonly<Record<HistoryQuestion, Minutes<NamedKey>>> = {
    denied: new Minutes<NamedKey>({ rowsMax: KEYS_MAX, columns: 1 }),
    asked: new Minutes<NamedKey>({ rowsMax: KEYS_MAX, columns: 1 }),
  };
  private readonly instanceMinutes = new Minutes<string>({ rowsMax: INSTANCES_MAX, columns: 2 });
  private readonly pastPoints: LivePoint[] = [];
  /** The counters at the end of the last minute. */
  private last: LiveCounts | undefined;
  private processes = 0;
  private askedAtMs = -Infinity;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: HistoryOptions) {}

  start(): void {
    void this.endMinute();
    this.timer = setInterval(() => void this.endMinute(), MS_PER_MINUTE).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Adds a point to each history. A value that cannot be read leaves a gap. */
  async endMinute(): Promise<void> {
    const { nowMs } = this.options;
    const isWatched = nowMs() - this.askedAtMs < WATCHED_MS;
    const reads = [this.endCounts()];
    if (isWatched || this.processes <= UNWATCHED_PROCESSES_MAX) reads.push(this.endKeys(), this.endInstances());
    await Promise.allSettled(reads);
  }

  async points(): Promise<readonly LivePoint[]> {
    const span = await this.current();
    return span === undefined ? [...this.pastPoints] : [...this.pastPoints, pointOf(span)];
  }

  async rules(): Promise<MinuteView<RuleName>> {
    const span = await this.current();
    return this.ruleMinutes.view(span && this.ruleMinute(span));
  }

  async keys(question: HistoryQuestion): Promise<MinuteView<NamedKey>> {
    this.askedAtMs = this.options.nowMs();
    return this.keyMinutes[question].view(this.keyMinute(await this.ask(question)));
  }

  async instances(): Promise<MinuteView<string>> {
    this.askedAtMs = this.options.nowMs();
    return this.instanceMinutes.view(this.instanceMinute(await this.options.instances.list()));
  }

  private async endCounts(): Promise<void> {
    const later = await this.options.counter.read();
    const earlier = this.last;
    this.last = later;
    if (earlier === undefined) return;
    const span = { earlier, later };
    this.pastPoints.push(pointOf(span));
    if (this.pastPoints.length > MINUTES_MAX) this.pastPoints.shift();
    this.ruleMinutes.add(this.ruleMinute(span));
  }

  private async endKeys(): Promise<void> {
    for (const question of HISTORY_QUESTIONS) this.keyMinutes[question].add(this.keyMinute(await this.ask(question)));
  }

  private async endInstances(): Promise<void> {
    const all = await this.options.instances.list();
    this.processes = all.length;
    this.instanceMinutes.add(this.instanceMinute(all));
  }

  /** Since the end of the last minute; undefined: that was just now. */
  private async current(): Promise<Span | undefined> {
    const earlier = this.last;
    const later = await this.options.counter.read();
    return earlier === undefined || later.atMs - earlier.atMs < CURRENT_MS_MIN ? undefined : { earlier, later };
  }

  private ruleMinute({ earlier, later }: Span): Minute<RuleName> {
    const minutes = (later.atMs - earlier.atMs) / MS_PER_MINUTE;
    const inMinute = (before: number, after: number) => Math.max(0, Math.round((after - before) / minutes));
    const deniedAt = ({ rules: { over, shadow } }: LiveCounts, row: number) => (over[row] ?? 0) - (shadow[row] ?? 0);
    const rows = this.options.counter.names.map((named, row) => ({
      id: String(row),
      named,
      values: [
        inMinute(deniedAt(earlier, row), deniedAt(later, row)),
        inMinute(earlier.rules.asked[row] ?? 0, later.rules.asked[row] ?? 0),
      ],
    }));
    return { atMs: later.atMs, rows };
  }

  private ask(question: HistoryQuestion): Promise<TopAnswer> {
    return this.options.top.top({ question, minutes: 1, count: TOP_COUNT_MAX });
  }

  private keyMinute({ items, coveredMs }: TopAnswer): Minute<NamedKey> {
    // A window has up to one period more than a minute.
    const minutes = Math.max(1, coveredMs / MS_PER_MINUTE);
    const rows = items.map(({ domain, rule, entries, count, error }) => ({
      id: idOf([domain, rule, entries]),
      named: { domain, rule, entries },
      values: [Math.round((count - error) / minutes)],
    }));
    return { atMs: this.options.nowMs(), rows };
  }

  private instanceMinute(all: readonly InstanceFacts[]): Minute<string> {
    const rows = all.flatMap(({ id, load }) =>
      load === undefined ? [] : [{ id, named: id, values: [load.decisionsPerS, load.eventLoopUtilization] }],
    );
    return { atMs: this.options.nowMs(), rows };
  }
}

/** Texts of keys have up to 768 bytes, so their hash finds them. */
function idOf(texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('base64url');
}
