/** Logs that the receiver of traces was lost and is back, at most once a minute each. */

import { event } from './log-event';
import type { Logger } from './logger';
import { THROTTLE_MS } from './throttled-log';

/** Longest cause that is logged. */
const CAUSE_CHARS_MAX = 300;

export interface ReceiverLogOptions {
  readonly log: Pick<Logger, 'warn' | 'info'>;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
  readonly address: string;
}

export class ReceiverLog {
  private awayMs: number | undefined;
  private isLogged = false;
  private loggedMs = -Infinity;

  constructor(private readonly options: ReceiverLogOptions) {}

  /** Takes the outcome of each batch: why it was not accepted, or undefined. */
  onBatch(problem: string | undefined): void {
    const { log, nowMs, address } = this.options;
    if (problem === undefined) {
      if (this.awayMs === undefined) return;
      const awayMs = nowMs() - this.awayMs;
      this.awayMs = undefined;
      if (this.isLogged)
        log.info(
          event('traces_sent', { address, awayMs }),
          `the receiver of traces at ${address} accepts spans again after ${(awayMs / 1000).toFixed(1)} s`,
        );
      return;
    }
    if (this.awayMs !== undefined) return;
    this.awayMs = nowMs();
    this.isLogged = this.awayMs - this.loggedMs >= THROTTLE_MS;
    if (!this.isLogged) return;
    this.loggedMs = this.awayMs;
    const error = problem.length <= CAUSE_CHARS_MAX ? problem : `${problem.slice(0, CAUSE_CHARS_MAX)}…`;
    log.warn(
      event('traces_lost', { address, error }),
      `the receiver of traces at ${address} does not accept spans (${error}): they are dropped until it does, and decisions go on`,
    );
  }
}
