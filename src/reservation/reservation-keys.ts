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

  record({ tag, id }: ReservationName): string {
    const name = id.length > ID_LENGTH_MAX ? `~${createHash('sha256').update(id).digest('hex')}` : id;
    return `${this.prefix}weir:reservation:1{${tag}}${name}`;
  }

  /** The held ids of the tag, sorted by their lapse time. */
  lapses(tag: string): string {
    return `${this.prefix}weir:lapses:1{${tag}}`;
  }

  /** The number of held hits of the bucket. */
  held(bucketKey: string): string {
    return `${this.prefix}weir:held:${bucketKey.slice(this.prefix.length)}`;
  }
}
