/** Counts the instances that share the store, by their heartbeats in it. */

import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';

/** Interval of heartbeats, in milliseconds. */
export const HEARTBEAT_MS = 5_000;

/** How long a heartbeat is valid, in milliseconds: two may be missed. */
export const HEARTBEAT_TTL_MS = 3 * HEARTBEAT_MS;

/** The key with the heartbeats of all processes. */
export function instancesKey(keyPrefix: string): string {
  return `${keyPrefix}weir:instances`;
}

export interface Heartbeat {
  /** Identifies a process; a restart changes it. */
  readonly name: string;
  /** False: the instance leaves and no longer counts. */
  readonly lives: boolean;
}

export interface InstancesOptions {
  /** Sends a heartbeat to the store and resolves to the number of live instances. Rejects if the store fails. */
  readonly beat: (heartbeat: Heartbeat) => Promise<number>;
  /** The count before the store's first report. */
  readonly assumed: number;
  /** Called after each report of the store, with the count in use. */
  readonly onCount: (count: number) => void;
  readonly onError: (error: unknown) => void;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

interface Reported {
  readonly count: number;
  /** Since when the store has reported at most this count. */
  readonly sinceMs: number;
}

/**
 * While the store is unavailable the last count stays. A higher count applies at once, a lower one only when no higher one
 * was reported for the lifetime of a heartbeat, because a store that restarts empty counts only the instances that have returned.
 */
export class Instances {
  /** The count in use, then each lower count that waits to apply, the lowest last. */
  private reported: readonly [Reported, ...Reported[]];
  /** The name of this process in its heartbeats. */
  readonly name = randomUUID();
  private timer: NodeJS.Timeout | undefined;
  /** Prevents a second heartbeat while the store hangs on the first. */
  private isBeating = false;

  constructor(private readonly options: InstancesOptions) {
    this.reported = [{ count: options.assumed, sinceMs: 0 }];
  }

  /** At least 1. */
  get count(): number {
    return this.reported[0].count;
  }

  /** Starts regular heartbeats; the caller sends the first one. */
  start(): void {
    this.timer = setInterval(() => void this.beat(), HEARTBEAT_MS);
    this.timer.unref();
  }

  async beat(): Promise<void> {
    if (this.isBeating) return;
    this.isBeating = true;
    try {
      this.record(Math.max(1, await this.options.beat({ name: this.name, lives: true })));
      this.options.onCount(this.count);
    } catch (error) {
      // The next beat tries again.
      this.reported = [this.reported[0]];
      this.options.onError(error);
    } finally {
      this.isBeating = false;
    }
  }

  private record(count: number): void {
    const nowMs = this.options.nowMs();
    const more = this.reported.filter((each) => each.count > count);
    const sinceMs = this.reported[more.length]?.sinceMs ?? nowMs;
    const reported = [...more, { count, sinceMs }];
    const applied = reported.findLastIndex((each) => nowMs - each.sinceMs >= HEARTBEAT_TTL_MS);
    const [first, ...lower] = reported.slice(Math.max(0, applied));
    if (first !== undefined) this.reported = [first, ...lower];
  }

  /** Stops the heartbeats and tells the other instances; waits at most `waitMs`, because the store may be unavailable. */
  async leave({ waitMs }: { readonly waitMs: number }): Promise<void> {
    clearInterval(this.timer);
    const left = this.options.beat({ name: this.name, lives: false }).catch(() => undefined);
    await Promise.race([left, setTimeout(waitMs, undefined, { ref: false })]);
  }
}
