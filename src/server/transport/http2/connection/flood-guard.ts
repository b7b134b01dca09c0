/** The flood guard: a connection ends if its peer sends too many frames that cost the server more than the peer. */

import { FloodTokenBucket } from './flood-token-bucket';
import { ConnectionError, ErrorCode } from '../frames/errors';

/** Frames without work for the peer: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, empty DATA and unknown ones. Each call earns a few more. */
const CONTROL_BUCKET = { burst: 2000, perSecond: 500 };
const CONTROL_PER_CALL = 4;

/**
 * Streams that the peer resets, or opens beyond the maximum. Envoy resets each call that times out, so this is
 * far above the concurrent streams, which bound the work itself.
 */
const RESET_BUCKET = { burst: 10_000, perSecond: 5000 };

export class FloodGuard {
  private readonly control: FloodTokenBucket;
  private readonly resets: FloodTokenBucket;

  constructor(nowMs: () => number) {
    this.control = new FloodTokenBucket(CONTROL_BUCKET, nowMs);
    this.resets = new FloodTokenBucket(RESET_BUCKET, nowMs);
  }

  /** @throws ConnectionError ENHANCE_YOUR_CALM */
  useControl(): void {
    if (!this.control.use()) throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, 'too many control frames');
  }

  /** @throws ConnectionError ENHANCE_YOUR_CALM */
  useReset(): void {
    if (!this.resets.use()) throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, 'too many streams reset or refused');
  }

  /** Call for each answered call. */
  earn(): void {
    this.control.earn(CONTROL_PER_CALL);
  }
}
