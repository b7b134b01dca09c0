/** Closes the breaker of a server that was too slow as soon as it answers in time again, long before the next probe. */

import type { CircuitState } from './circuit';

/** Interval between pings of a server that was too slow, until it answers in time, in milliseconds. */
const PING_MS = 1_000;

export interface EarlyProbeOptions {
  readonly ping: () => Promise<unknown>;
  readonly breaker: { readonly isTooSlow: boolean; reset(): void };
  /** How long an answer in time takes at most, in milliseconds. */
  readonly allowedMs: () => number;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

export class EarlyProbe {
  private pings: NodeJS.Timeout | undefined;

  constructor(private readonly options: EarlyProbeOptions) {}

  /** Takes each new state of the breaker. */
  onState(state: CircuitState): void {
    clearInterval(this.pings);
    if (state !== 'open') return;
    const { breaker, ping } = this.options;
    this.pings = setInterval(() => {
      if (breaker.isTooSlow) this.closeIfInTime(ping).catch(() => undefined);
    }, PING_MS).unref();
  }

  /** Runs a command that no call waits for; an answer in time closes the breaker. */
  async closeIfInTime<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    const { breaker, allowedMs, nowMs } = this.options;
    const startedMs = nowMs();
    const answer = await ask();
    if (nowMs() - startedMs <= allowedMs()) breaker.reset();
    return answer;
  }
}
