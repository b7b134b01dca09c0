/** Tells the log, seldom, of our own faults: one may be met by every request. */

import type { Logger } from './logger';
import { Seldom } from './seldom';

interface Fault {
  readonly err: unknown;
}

export interface SeldomFaultsOptions {
  readonly log: Pick<Logger, 'error'>;
  /** A clock that is never set, in milliseconds. */
  readonly nowMs: () => number;
}

export class SeldomFaults {
  private readonly seldom: Seldom<Fault>;

  constructor({ log, nowMs }: SeldomFaultsOptions) {
    this.seldom = new Seldom({ say: (sentence, fault) => { log.error(fault, sentence); }, nowMs });
  }

  /** What went wrong where is a kind; the text of an error may be another one each time. */
  error(fault: Fault, message: string): void {
    this.seldom.say(`${message}: ${fault.err instanceof Error ? fault.err.name : ''}`, message, fault);
  }
}
