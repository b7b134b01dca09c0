/**
 * Reads of the store for the admin API: one at a time, each with a pause after it, so that no viewer takes Redis away from decisions. A read
 * that takes long, as while Redis hangs, does not make the others wait for its deadline.
 */

import { UnavailableError } from '../../lib/errors';
import type { AdminBackend } from './backend';

/** Most reads that wait. */
const WAITING_MAX = 256;

/** The longest pause after a read, in milliseconds; it is as long as the read. */
const PAUSE_MS_MAX = 10;

/** After this time the next read begins beside one that has not ended, in milliseconds: far above what a read of a healthy store takes. */
const TURN_MS_MAX = 100;

export interface ReadQueueOptions {
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
  readonly pause: (ms: number) => Promise<void>;
}

export class ReadQueue {
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  constructor(private readonly options: ReadQueueOptions) {}

  /** Rejects with UnavailableError if too many wait, and as the read does. */
  run<Answer>(read: () => Promise<Answer>): Promise<Answer> {
    if (this.waiting >= WAITING_MAX) return Promise.reject(new UnavailableError('too many admin requests wait; try again'));
    this.waiting += 1;
    const { nowMs, pause } = this.options;
    const turn = this.last;
    let startedMs = 0;
    const answer = turn
      .then(() => {
        startedMs = nowMs();
        return read();
      })
      .finally(() => {
        this.waiting -= 1;
      });
    const ended = answer.then(ignore, ignore);
    this.last = turn.then(async () => {
      await Promise.race([ended, pause(TURN_MS_MAX)]);
      await pause(Math.min(PAUSE_MS_MAX, nowMs() - startedMs));
    });
    return answer;
  }
}

/** The caller of the read has its answer or its error. */
function ignore(): void {
  // Nothing waits for it here.
}

/** The buckets, whose reads wait for their turn. */
export function queuedBuckets(buckets: AdminBackend['buckets'], queue: ReadQueue): AdminBackend['buckets'] {
  return {
    take: (groups) => queue.run(() => buckets.take(groups)),
    list: (query) => queue.run(() => buckets.list(query)),
    reset: (bucketKeys) => buckets.reset(bucketKeys),
  };
}

/** The control data, whose reads wait for their turn; writes do not. */
export function queuedControl(control: AdminBackend['control'], queue: ReadQueue): AdminBackend['control'] {
  return {
    read: (keys) => queue.run(() => control.read(keys)),
    scan: (query) => queue.run(() => control.scan(query)),
    audit: (query) => queue.run(() => control.audit(query)),
    write: (write) => control.write(write),
    restore: (...input) => control.restore(...input),
    discardLost: (...input) => control.discardLost(...input),
    changesBetween: (...input) => control.changesBetween(...input),
  };
}
