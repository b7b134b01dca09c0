/** The Redis keys of reservations: in the slot of their buckets, and distinct from every bucket key. */

import { createHash } from 'node:crypto';
import type { ReservationName } from './reservations';

/** Maximum length of an id in a key; a longer one is replaced by its SHA-256. */
const ID_LENGTH_MAX = 128;

/** The hash tag in a bucket's key with this prefix. */
export function tagOfBucket(bucketKey: string, prefix: string): string {
  const open = bucketKey.indexOf('{', prefix.length);
  return bucketKey.slice(open + 1, bucketKey.indexOf('}', open));
}

export class ReservationKeys {
  constructor(private readonly prefix: string) {}

  /** The record of a settled reservation. */
  record({ tag, id }: ReservationName): string {
    const name = id.length > ID_LENGTH_MAX ? `~${createHash('sha256').update(id).digest('hex')}` : id;
    return `${this.prefix}weir:reservation:2{${tag}}${name}`;
  }

  /** The held ids of the tag, sorted by their lapse time. */
  lapses(tag: string): string {
    return `${this.prefix}weir:lapses:2{${tag}}`;
  }

  /** The records of the held ids of the tag, and the held hits of each bucket. */
  holds(tag: string): string {
    return `${this.prefix}weir:holds:2{${tag}}`;
  }
}
