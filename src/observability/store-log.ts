/** Tells the log, seldom, what Redis could not decide by itself, and what it will never count. */

import type { BucketError } from '../store/store';
import type { Logger } from './logger';
import { Seldom } from './seldom';

/** A key is as long as its entries are many, and a request has many keys. */
const KEY_MAX = 300;
const KEYS_MAX = 4;

const WHY = {
  answer: 'its answer to their charge was lost',
  room: 'too many buckets were asked for while it was away',
  bucket: 'it holds something else under their keys, or its clock is in another window of the calendar',
};

export interface StoreLogOptions {
  readonly log: Pick<Logger, 'warn'>;
  /** A clock that is never set, in milliseconds. */
  readonly nowMs: () => number;
}

export class StoreLog {
  private readonly seldom: Seldom;
  private readonly lost = { answer: 0, room: 0, bucket: 0 };

  constructor({ log, nowMs }: StoreLogOptions) {
    this.seldom = new Seldom({ say: (sentence) => { log.warn(sentence); }, nowMs });
  }

  /** By the bucket's key, which names domain, entries and window of the limit: whoever is to mend it has to find it. */
  undecided({ message, bucketKeys }: BucketError): void {
    const keys = bucketKeys.slice(0, KEYS_MAX).map(describeKey).join(' or ');
    this.seldom.say(message, `Redis can't decide on ${keys}${bucketKeys.length > KEYS_MAX ? ' or others' : ''}: ${message}. Its limit goes by its failure mode.`);
  }

  /** Hits that passed without Redis, and why it may not count them. */
  hitsLost(hits: number, cause: keyof typeof WHY): void {
    if (hits <= 0) return;
    this.lost[cause] += hits;
    const sum = `Hits that passed without Redis, and that it may never count, since the start: ${this.lost[cause]}`;
    this.seldom.say(cause, `${sum}; ${WHY[cause]}.`);
  }
}

/** Any bytes may be in it. */
function describeKey(key: string): string {
  return JSON.stringify(key.length > KEY_MAX ? `${key.slice(0, KEY_MAX)}…` : key);
}
