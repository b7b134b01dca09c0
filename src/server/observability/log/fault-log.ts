/** Logs internal errors, throttled, because every request may cause the same one. */

import type { Logger } from './logger';
import { ThrottledLog } from './throttled-log';
import { event } from './log-event';

interface Fault {
  readonly err: unknown;
}

export interface FaultLogOptions {
  readonly log: Pick<Logger, 'error'>;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

export class FaultLog {
  private readonly throttled: ThrottledLog<Fault>;

  constructor({ log, nowMs }: FaultLogOptions) {
    this.throttled = new ThrottledLog({
      write: (sentence, fault) => {
        log.error(event('internal_error', { ...fault }), sentence);
      },
      nowMs,
    });
  }

  /** Throttles by message and error type, because the text of an error may differ each time. */
  error(fault: Fault, message: string): void {
    this.throttled.log(`${message}: ${fault.err instanceof Error ? fault.err.name : ''}`, message, fault);
  }
}
