/** The breakers of all Redis servers, and what health, log and metrics report of them. */

import { monotonicNowMs as nowMs } from '../../lib/clock';
import type { CircuitState } from '../../state/resilience/circuit';
import type { Health } from './health';
import { AbsenceLog, type Passed } from './log/absence-log';
import type { Logger } from './log/logger';
import type { Metrics } from './metrics/metrics';

const DEGRADED_BREAKER = 'degraded: redis breaker open';

export interface BreakersOptions {
  readonly health: Health;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Requests and hits decided without Redis since the start. */
  readonly passed: () => Passed;
}

export class Breakers {
  private readonly open = new Set<symbol>();

  constructor(private readonly watchers: BreakersOptions) {}

  /** Returns what takes each new state of one breaker, with the server and the cause, and whether its server is asked at all. */
  watch(): WatchedBreaker {
    const { log, metrics, passed } = this.watchers;
    const breaker = Symbol('breaker');
    let name = '';
    let isOpen = false;
    let isInUse = true;
    const absence = new AbsenceLog({
      log,
      nowMs,
      passed,
      again: () => `the circuit breaker of Redis at ${name} opened`,
      codes: { away: 'breaker_opened', back: 'breaker_closed' },
      address: () => name,
    });
    return {
      onState: (state, { server, cause }) => {
        name = server;
        // Half open counts as closed: the next call probes, and without calls the state would last.
        isOpen = state === 'open';
        if (isOpen) {
          metrics.breakerOpenings.inc();
          absence.begin(
            `the circuit breaker of Redis at ${server} opened: too many commands failed in a row (${cause}); failure modes decide until it closes`,
            cause,
          );
        } else {
          if (state === 'closed') absence.end(`the circuit breaker of Redis at ${server} closed`);
          if (state === 'gone') absence.close();
        }
        this.show(breaker, isOpen && isInUse);
      },
      setInUse: (now) => {
        isInUse = now;
        this.show(breaker, isOpen && isInUse);
      },
    };
  }

  private show(breaker: symbol, isOpen: boolean): void {
    if (isOpen) this.open.add(breaker);
    else this.open.delete(breaker);
    const { health, metrics } = this.watchers;
    metrics.breakerOpen.set(this.open.size);
    health.show(DEGRADED_BREAKER, { isDegraded: this.open.size > 0 });
  }
}

export interface WatchedBreaker {
  readonly onState: (state: CircuitState, change: { readonly server: string; readonly cause: string }) => void;
  /** False: no slot belongs to the server, so its breaker decides nothing. */
  readonly setInUse: (isInUse: boolean) => void;
}
