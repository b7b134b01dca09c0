/** How many instances share the store: counted by heartbeats in it. */

import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';

/** Between two heartbeats, in milliseconds. */
export const HEARTBEAT_MS = 5_000;

/** For how long a heartbeat counts, in milliseconds: two may be missed. */
export const HEARTBEAT_TTL_MS = 3 * HEARTBEAT_MS;

export interface Heartbeat {
  /** Names one process; another one at each start. */
  readonly name: string;
  /** False: it leaves, and is not counted any more. */
  readonly lives: boolean;
}

export interface InstancesOptions {
  /** Beats once in the store; how many live. Rejects if the store can't. */
  readonly beat: (heartbeat: Heartbeat) => Promise<number>;
  /** What is assumed until the store has told. */
  readonly assumed: number;
  /** Told each time that the store has told: how many are taken to live. */
  readonly onCount: (count: number) => void;
  readonly onError: (error: unknown) => void;
  /** A clock that is never set, in milliseconds. */
  readonly nowMs: () => number;
}

interface Told {
  readonly count: number;
  /** Since when the store has told no more than this. */
  readonly sinceMs: number;
}

/**
 * While the store is away the last known number stands: that is what it is for. A lower one is believed when no more than
 * it has been told for as long as a heartbeat counts: a store that has restarted empty counts those first that are back first.
 */
export class Instances {
  /** What is believed, then each lower number that waits for it, the lowest last. */
  private told: readonly [Told, ...Told[]];
  private readonly name = randomUUID();
  private timer: NodeJS.Timeout | undefined;
  /** A store that hangs is not sent a second heartbeat on top of the first. */
  private isBeating = false;

  constructor(private readonly options: InstancesOptions) {
    this.told = [{ count: options.assumed, sinceMs: 0 }];
  }

  /** At least 1. */
  get count(): number {
    return this.told[0].count;
  }

  /** Beats regularly from now on; the first beat is its caller's. */
  start(): void {
    this.timer = setInterval(() => void this.beat(), HEARTBEAT_MS);
    this.timer.unref();
  }

  async beat(): Promise<void> {
    if (this.isBeating) return;
    this.isBeating = true;
    try {
      this.hear(Math.max(1, await this.options.beat({ name: this.name, lives: true })));
      this.options.onCount(this.count);
    } catch (error) {
      // The next beat tries again.
      this.told = [this.told[0]];
      this.options.onError(error);
    } finally {
      this.isBeating = false;
    }
  }

  private hear(count: number): void {
    const nowMs = this.options.nowMs();
    const more = this.told.filter((each) => each.count > count);
    const sinceMs = this.told[more.length]?.sinceMs ?? nowMs;
    const told = [...more, { count, sinceMs }];
    const believed = told.findLastIndex((each) => nowMs - each.sinceMs >= HEARTBEAT_TTL_MS);
    const [first, ...lower] = told.slice(Math.max(0, believed));
    if (first !== undefined) this.told = [first, ...lower];
  }

  /** Beats no more, and says so to the others: at most for `waitMs`, in case the store is away. */
  async leave({ waitMs }: { readonly waitMs: number }): Promise<void> {
    clearInterval(this.timer);
    const left = this.options.beat({ name: this.name, lives: false }).catch(() => undefined);
    await Promise.race([left, setTimeout(waitMs, undefined, { ref: false })]);
  }
}
