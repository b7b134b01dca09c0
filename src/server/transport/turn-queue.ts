/** Gives each waiter its own turn of the event loop, so that heavy pieces of work do not run in one turn. */

import { Pace, SHORT_SLICE_MS } from '../../lib/slices';

export class TurnQueue {
  private last: Promise<void> = Promise.resolve();

  /** Resolves in a later turn of the event loop, in which no other waiter resumes. Never rejects. */
  next(): Promise<void> {
    this.last = this.last.then(() => new Pace(SHORT_SLICE_MS).nextSlice());
    return this.last;
  }
}
