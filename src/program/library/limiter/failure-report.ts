/** Shows that nothing could decide and the failure mode did: counts it, and calls the hook of the program, or else warns once a minute. */

import { asError } from '../../../lib/errors';
import { byFailureMode } from './to-result';
import type { FailureMode, LimitResult } from './limiter';

const WARNING_INTERVAL_MS = 60_000;

/** Warnings of Node are on standard error unless the program handles them. */
const WARNING = { type: 'WeirWarning', code: 'WEIR_FAILURE_MODE' };

export interface FailureReportOptions {
  readonly failureMode: FailureMode;
  /** Undefined: warnings. */
  readonly onFailure: ((error: Error) => void) | undefined;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
  /** Writes a warning. Default: `process.emitWarning`. */
  readonly warn?: (sentence: string) => void;
}

export class FailureReport {
  private count = 0;
  private warnedCount = 0;
  private warnedMs = -Infinity;

  constructor(private readonly options: FailureReportOptions) {}

  /** Decisions of the failure mode until now. */
  get failures(): number {
    return this.count;
  }

  /** The result of the failure mode. */
  decide(error: Error): LimitResult {
    const { failureMode, onFailure } = this.options;
    this.count += 1;
    if (onFailure === undefined) this.warn(error);
    else this.call(onFailure, error);
    return byFailureMode(failureMode, error);
  }

  /** A hook that throws changes no decision. */
  private call(onFailure: (error: Error) => void, error: Error): void {
    try {
      onFailure(error);
    } catch (thrown) {
      this.warn(new Error(`the hook onFailure has thrown: ${asError(thrown).message}`));
    }
  }

  private warn(error: Error): void {
    const { failureMode, nowMs, warn = emit } = this.options;
    const now = nowMs();
    if (now - this.warnedMs < WARNING_INTERVAL_MS) return;
    const since = this.count - this.warnedCount;
    this.warnedMs = now;
    this.warnedCount = this.count;
    const requests = since === 1 ? '1 request' : `${since} requests`;
    const verb = failureMode === 'open' ? 'allowed' : 'denied';
    warn(
      `The failure mode ${failureMode} ${verb} ${requests} without a decision of Weir. Last reason: ${error.message}. A warning follows once a minute at most; the option onFailure replaces it.`,
    );
  }
}

function emit(sentence: string): void {
  process.emitWarning(sentence, WARNING);
}
