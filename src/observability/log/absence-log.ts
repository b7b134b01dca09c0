/** Logs the loss and the return of a server: the first few of a minute one by one, the others as one summary. */

import { event, type LogCode, type LogEvent } from './log-event';
import type { Logger } from './logger';

/** The time that one summary covers. */
export const SUMMARY_MS = 60_000;

/** Absences per summary period that are logged one by one. */
export const LOGGED_MAX = 5;

const MS_PER_S = 1_000;

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
    this.passedBefore = this.options.passed();
    this.cause = cause;
    if (this.timer === undefined) this.startSummary(0);
    this.isLogged = this.logged < LOGGED_MAX;
    if (this.isLogged) {
      this.logged += 1;
      this.options.log.error(this.event('away', { error: cause }), sentence);
    } else {
      if (this.times === 0) this.summedFrom = this.passedBefore;
      this.times += 1;
    }
  }

  /** Whether a logged absence is in progress. */
  get isLogging(): boolean {
    return this.fromMs !== undefined && this.isLogged;
  }

  /** Reports that the server is back, in the words of `sentence`, which has no full stop. */
  end(sentence: string): void {
    if (this.fromMs === undefined) return;
    const awayMs = this.options.nowMs() - this.fromMs;
    this.fromMs = undefined;
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
  }

  private startSummary(logged: number): void {
    this.logged = logged;
    this.times = 0;
    this.awayMs = 0;
    this.timer = setTimeout(() => {
      this.summarize();
    }, SUMMARY_MS);
    this.timer.unref();
  }

  private summarize(): void {
    this.timer = undefined;
    if (this.times === 0) return;
    const { log, nowMs, passed, again } = this.options;
    const isAway = this.fromMs !== undefined;
    const awayMs = this.awayMs + (this.fromMs === undefined ? 0 : nowMs() - this.fromMs);
    const summary = `${again()} ${this.times} more times within ${SUMMARY_MS / MS_PER_S} s (last: ${this.cause}), ${seconds(awayMs)} in total${describePassed(this.summedFrom, passed())}`;
    log.warn(this.event('away', { error: this.cause, times: this.times, awayMs }), `${summary}${isAway ? '; still down' : ''}`);
    // The summary counts as the logged beginning of an absence in progress, so its end is logged too.
    this.isLogged = isAway;
    this.startSummary(LOGGED_MAX);
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
