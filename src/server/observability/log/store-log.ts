/** Logs, throttled, buckets that Redis cannot decide on, and hits that it will never count. */

import type { BucketError } from '../../../state/store/port/store-error';
import type { Logger } from './logger';
import { ThrottledLog } from './throttled-log';
import { event, type LogEvent } from './log-event';

/** Keys grow with their entries, and a request has many keys. */
const KEY_MAX = 300;
const KEYS_MAX = 4;

const WHY = {
  answer: 'its reply to their charge was lost',
  room: 'too many buckets were in use during the outage',
  bucket: 'their keys hold other data, or its clock is in another calendar window',
  refund: 'its reply to the refund was lost',
};

export interface StoreLogOptions {
  readonly log: Pick<Logger, 'warn'>;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

export class StoreLog {
  private readonly throttled: ThrottledLog<LogEvent>;
  private readonly lost = { answer: 0, room: 0, bucket: 0, refund: 0 };

  constructor({ log, nowMs }: StoreLogOptions) {
    this.throttled = new ThrottledLog({
      write: (sentence, fields) => {
        log.warn(fields, sentence);
      },
      nowMs,
    });
  }

  /** Names the bucket's key, which has domain, entries and window of the limit, so that an operator can find it. */
  undecided({ message, bucketKeys }: BucketError): void {
    const shown = bucketKeys.slice(0, KEYS_MAX).map(describeKey);
    const keys = shown.join(' or ');
    this.throttled.log(
      message,
      `Redis cannot decide on ${keys}${bucketKeys.length > KEYS_MAX ? ' or others' : ''}: ${message}. The failure mode of the limit decides instead.`,
      event('bucket_undecided', { error: message, keys: shown }),
    );
  }

  /** Counts hits admitted or refunded without Redis that Redis may miscount, by cause. */
  hitsLost(hits: number, cause: keyof typeof WHY): void {
    if (hits <= 0) return;
    this.lost[cause] += hits;
    const sum =
      cause === 'refund'
        ? `${this.lost[cause]} hits refunded since the start may stay counted in Redis`
        : `${this.lost[cause]} hits admitted without Redis since the start may never be counted there`;
    this.throttled.log(cause, `${sum}: ${WHY[cause]}.`, event('hits_lost', { hits: this.lost[cause], reason: cause }));
  }
}

/** Quotes the key, because it may contain any bytes. */
function describeKey(key: string): string {
  return JSON.stringify(key.length > KEY_MAX ? `${key.slice(0, KEY_MAX)}…` : key);
}
