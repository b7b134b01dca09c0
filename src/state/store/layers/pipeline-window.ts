/** Decides how long a batch waits for further calls that then share its command. Pure: time is an argument. */

export interface PipelineOptions {
  /** The longest wait of a batch, in milliseconds; 0: none waits. */
  readonly windowMs: number;
  /** The number of groups with which a batch waits no longer; 0: `GROUPS_ENOUGH`. */
  readonly limit: number;
}

/** A command of 16 groups costs Redis a third of 16 commands for each group; more groups save little more. */
const GROUPS_ENOUGH = 16;

/** The weight of the newest value in the averages. */
const NEWEST = 1 / 8;

/** A wait that gains fewer groups on average costs more than it saves. */
const GAIN_MIN = 0.5;

/** After this number of batches without a wait, one waits again, to see whether waits gain by now. */
const BATCHES_PER_TRIAL = 1_000;

/**
 * A batch waits only if calls arrive often enough for another one to be expected within the window, and if recent waits gained some: callers
 * that send again only after their answer do not come while they wait, however often they call.
 */
export class PipelineWindow {
  private readonly windowMs: number;
  private readonly enough: number;
  private lastMs: number | undefined;
  /** The average time between calls; a pause counts as a few windows, so that a burst after it is noticed within a few calls. */
  private gapMs: number | undefined;
  /** The average number of groups that a wait gained. */
  private gain = GAIN_MIN;
  private batchesSinceWait = 0;

  constructor({ windowMs, limit }: PipelineOptions) {
    this.windowMs = windowMs;
    this.enough = limit === 0 ? GROUPS_ENOUGH : limit;
  }

  onCall(nowMs: number): void {
    if (this.lastMs !== undefined) {
      const gapMs = Math.min(nowMs - this.lastMs, 4 * this.windowMs);
      this.gapMs = this.gapMs === undefined ? gapMs : this.gapMs + NEWEST * (gapMs - this.gapMs);
    }
    this.lastMs = nowMs;
  }

  isFull(groups: number): boolean {
    return groups >= this.enough;
  }

  /** How long a batch of this number of groups waits; 0: it is sent now. */
  waitMs(groups: number): number {
    if (this.isFull(groups) || this.gapMs === undefined || this.gapMs > this.windowMs) return 0;
    this.batchesSinceWait += 1;
    if (this.gain < GAIN_MIN && this.batchesSinceWait < BATCHES_PER_TRIAL) return 0;
    this.batchesSinceWait = 0;
    return this.windowMs;
  }

  /** A wait has ended, during which this number of groups came. */
  onWaited(gained: number): void {
    // A trial that gains is believed at once.
    this.gain = this.gain < GAIN_MIN && gained > 0 ? gained : this.gain + NEWEST * (gained - this.gain);
  }
}
