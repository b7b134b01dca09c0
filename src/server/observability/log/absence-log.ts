/** Logs the loss and the return of a server: the first few one by one, the others as summaries of growing periods. */

import { event, type LogCode, type LogEvent } from './log-event';
import type { Logger } from './logger';
import { MS_PER_S } from '../../../lib/time-units';

/** The time that the first summary covers. While absences go on, each further summary covers twice the time, up to an hour. */
export const SUMMARY_MS = 60_000;
const SUMMARY_MS_MAX = 64 * SUMMARY_MS;

/** Absences that are logged one by one before the first summary: an outage with many of them stays a story of a few lines. */
export const LOGGED_MAX = 2;

/** Requests and hits decided without Redis since the start. */
export interface Passed {
  readonly decisions: number;
  readonly hits: number;
}

export interface AbsenceLogOptions {
  readonly log: Pick<Logger, 'error' | 'warn' | 'info'>;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
  readonly passed: () => Passed;
  /** Names the repeated event in a summary: `the breaker of Redis at … opened`. */
  readonly again: () => string;
  readonly codes: { readonly away: LogCode; readonly back: LogCode };
  /** The present name of the absent server. */
  readonly address: () => string;
}

export class AbsenceLog {
  private fromMs: number | undefined;
  private passedBefore: Passed = { decisions: 0, hits: 0 };
  private isLogged = false;
  /** Absences logged since the last summary, or since the first one after a quiet period. */
  private logged = 0;
  private timer: NodeJS.Timeout | undefined;
  private summaryMs = SUMMARY_MS;
  private summaryFromMs = 0;
  /** An absence that is not logged and goes on for this long is summarized at once. */
  private lasting: NodeJS.Timeout | undefined;
  private endedMs = -Infinity;
  /** Absences for the next summary. */
  private times = 0;
  private awayMs = 0;
  private cause = '';
  private summedFrom: Passed = { decisions: 0, hits: 0 };

  constructor(private readonly options: AbsenceLogOptions) {}

  /** Reports that the server is away, in the words of `sentence`. Has no effect while it is away already. */
  begin(sentence: string, cause: string): void {
    if (this.fromMs !== undefined) return;
    this.fromMs = this.options.nowMs();
    if (this.timer !== undefined && this.fromMs - this.endedMs >= SUMMARY_MS) this.endPeriod();
    this.passedBefore = this.options.passed();
    this.cause = cause;
    if (this.timer === undefined) this.startSummary({ logged: 0, summaryMs: SUMMARY_MS });
    this.isLogged = this.logged < LOGGED_MAX;
    if (this.isLogged) {
      this.logged += 1;
      this.options.log.error(this.event('away', { error: cause }), sentence);
    } else {
      if (this.times === 0) this.summedFrom = this.passedBefore;
      this.times += 1;
      this.lasting = setTimeout(() => {
        this.summarize();
      }, SUMMARY_MS);
      this.lasting.unref();
    }
  }

  /** Whether a logged absence is in progress. */
  get isLogging(): boolean {
    return this.fromMs !== undefined && this.isLogged;
  }

  /** Reports that the server is back, in the words of `sentence`, which has no full stop. */
  end(sentence: string): void {
    if (this.fromMs === undefined) return;
    this.endedMs = this.options.nowMs();
    const awayMs = this.endedMs - this.fromMs;
    this.fromMs = undefined;
    clearTimeout(this.lasting);
    const passed = this.options.passed();
    if (this.isLogged)
      this.options.log.info(
        this.event('back', { awayMs, ...since(this.passedBefore, passed) }),
        `${sentence} after ${seconds(awayMs)}${describePassed(this.passedBefore, passed)}`,
      );
    else this.awayMs += awayMs;
  }

  private event(what: 'away' | 'back', fields: Readonly<Record<string, unknown>>): LogEvent {
    const { codes, address } = this.options;
    return event(codes[what], { address: address(), ...fields });
  }

  /** Ends all logging. */
  close(): void {
    clearTimeout(this.timer);
    clearTimeout(this.lasting);
  }

  /** After a quiet minute the next absence is logged at once, however long the period would last. */
  private endPeriod(): void {
    if (this.times > 0) this.logSummary({ isAway: false });
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private startSummary({ logged, summaryMs }: { readonly logged: number; readonly summaryMs: number }): void {
    this.logged = logged;
    this.summaryMs = summaryMs;
    this.summaryFromMs = this.options.nowMs();
    this.times = 0;
    this.awayMs = 0;
    this.timer = setTimeout(() => {
      this.summarize();
    }, summaryMs);
    this.timer.unref();
  }

  private summarize(): void {
    clearTimeout(this.timer);
    clearTimeout(this.lasting);
    this.timer = undefined;
    const isAway = this.fromMs !== undefined;
    if (this.times === 0) {
      const isQuiet = !isAway && this.options.nowMs() - this.endedMs >= SUMMARY_MS;
      if (!isQuiet) this.startSummary({ logged: this.logged, summaryMs: this.summaryMs });
      return;
    }
    this.logSummary({ isAway });
    // The summary counts as the logged beginning of an absence in progress, so its end is logged too.
    this.isLogged = isAway;
    this.startSummary({ logged: LOGGED_MAX, summaryMs: Math.min(2 * this.summaryMs, SUMMARY_MS_MAX) });
  }

  private logSummary({ isAway }: { readonly isAway: boolean }): void {
    const { log, nowMs, passed, again } = this.options;
    const awayMs = this.awayMs + (isAway && this.fromMs !== undefined ? nowMs() - this.fromMs : 0);
    const periodMs = nowMs() - this.summaryFromMs;
    const summary = `${again()} ${this.times} more times within ${Math.round(periodMs / MS_PER_S)} s (last: ${this.cause}), ${seconds(awayMs)} in total${describePassed(this.summedFrom, passed())}`;
    log.warn(this.event('away', { error: this.cause, times: this.times, awayMs }), `${summary}${isAway ? '; still down' : ''}`);
  }
}

function seconds(ms: number): string {
  return `${(ms / MS_PER_S).toFixed(1)} s`;
}

function since(from: Passed, to: Passed): Passed {
  return { decisions: to.decisions - from.decisions, hits: to.hits - from.hits };
}

function describePassed(from: Passed, to: Passed): string {
  const { decisions, hits } = since(from, to);
  return `; meanwhile ${decisions} requests were decided without Redis, which admitted ${hits} hits`;
}
