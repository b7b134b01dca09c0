/** What a peer may send that costs us more than it: each connection has an allowance, and one that floods is over. */

import { Allowance } from './allowance';
import { ConnectionError, ErrorCode } from './errors';

/** Frames that only cost: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, empty DATA and what nobody knows. A call earns some more. */
const CONTROL_ALLOWANCE = { burst: 2000, perSecond: 500 };
const CONTROL_PER_CALL = 4;

/**
 * Streams that the peer resets, or that it opens beyond the bound. Envoy resets each call that timed out, so this is
 * far above what one may have under way; the work itself is bounded by the streams at once.
 */
const RESET_ALLOWANCE = { burst: 10_000, perSecond: 5000 };

export class FloodGuard {
  private readonly control: Allowance;
  private readonly resets: Allowance;

  constructor(nowMs: () => number) {
    this.control = new Allowance(CONTROL_ALLOWANCE, nowMs);
    this.resets = new Allowance(RESET_ALLOWANCE, nowMs);
  }

  /** @throws ConnectionError ENHANCE_YOUR_CALM */
  useControl(): void {
    if (!this.control.use()) throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, 'too many frames that ask for nothing');
  }

  /** @throws ConnectionError ENHANCE_YOUR_CALM */
  useReset(): void {
    if (!this.resets.use()) throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, 'too many streams reset or refused');
  }

  /** For a call that was answered. */
  earn(): void {
    this.control.earn(CONTROL_PER_CALL);
  }
}
