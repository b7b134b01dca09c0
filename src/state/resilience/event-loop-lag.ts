/** Measures the recent lag of this process, which distinguishes a host without processor time from an unresponsive Redis. */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { NS_PER_MS } from '../../lib/time-units';

/** The lag is remembered for this time, and for up to twice as long, in milliseconds. */
const REMEMBERED_MS = 1_000;

/** Interval of measurements. Each takes a few microseconds, outside of JavaScript. */
const RESOLUTION_MS = 10;

/** Lateness of a timer on an idle host, in milliseconds. */
const USUAL_MS = 1.5;

export class EventLoopLag {
  private readonly delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  private beforeMs = 0;
  private readonly turn: NodeJS.Timeout;

  constructor() {
    this.delay.enable();
    this.turn = setInterval(() => {
      this.beforeMs = this.currentMs();
      this.delay.reset();
    }, REMEMBERED_MS);
    this.turn.unref();
  }

  /** Ends the measurement: a program may open and close many limiters. */
  close(): void {
    clearInterval(this.turn);
    this.delay.disable();
  }

  /** The longest delay of the event loop in the last one or two seconds, in milliseconds; 0 if negligible. */
  recentMs(): number {
    return Math.max(this.beforeMs, this.currentMs());
  }

  private currentMs(): number {
    // The maximum is 0 before the first measurement. Each one is relative to the one before.
    const lateMs = this.delay.max / NS_PER_MS - RESOLUTION_MS;
    return lateMs > USUAL_MS ? lateMs : 0;
  }
}
