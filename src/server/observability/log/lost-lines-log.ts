/** Logs that the decision log began to lose lines, and that it is written again, at most once a minute each. */

import { event } from './log-event';
import type { Logger } from './logger';
import { THROTTLE_MS } from './throttled-log';
import { MS_PER_S } from '../../../lib/time-units';

export interface LostLinesLogOptions {
  readonly log: Pick<Logger, 'warn' | 'info'>;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
  /** Path of the file, or `stdout`. */
  readonly path: string;
}

export class LostLinesLog {
  private sinceMs = 0;
  private isLogged = false;
  private loggedMs = -Infinity;

  constructor(private readonly options: LostLinesLogOptions) {}

  onTrouble(error: string): void {
    const { log, nowMs, path } = this.options;
    this.sinceMs = nowMs();
    this.isLogged = this.sinceMs - this.loggedMs >= THROTTLE_MS;
    if (!this.isLogged) return;
    this.loggedMs = this.sinceMs;
    log.warn(
      event('decision_log_lost', { path, error }),
      `the decision log ${path} cannot be written (${error}): lines that find its queue full, or are too long, are lost, and decisions go on`,
    );
  }

  onEnd(lost: number): void {
    if (!this.isLogged) return;
    const { log, nowMs, path } = this.options;
    const awayMs = nowMs() - this.sinceMs;
    log.info(
      event('decision_log_written', { path, awayMs, lost }),
      `the decision log ${path} is written again after ${(awayMs / MS_PER_S).toFixed(1)} s: ${lost} line(s) were lost`,
    );
  }
}
