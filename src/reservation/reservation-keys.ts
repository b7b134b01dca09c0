/** The keys of reservations in Redis, beside the buckets that they are of: in the same slot, and no bucket's. */

import { createHash } from 'node:crypto';
import type { ReservationName } from './reservations';

/** Longest id written out; a longer one is named by its SHA-256. */
const ID_LENGTH_MAX = 128;

/** The hash tag of a bucket's key under that prefix. */
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

  /** The ids of the tag that are held, by when they lapse. */
  lapses(tag: string): string {
    return `${this.prefix}weir:lapses:1{${tag}}`;
  }

  /** How many hits of the bucket are held. */
  held(bucketKey: string): string {
    return `${this.prefix}weir:held:${bucketKey.slice(this.prefix.length)}`;
  }
}
