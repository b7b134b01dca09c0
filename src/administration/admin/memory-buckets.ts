/** The buckets of the embedded store, for the admin API. Runs in the deciding process, in short turns. */

import type { Group } from '../../domain/bucket/take';
import { domainKeyStart } from '../../domain/bucket/bucket-key';
import { toByteString } from '../../domain/descriptor/byte-string';
import { WALK_START, type WalkPlace } from '../../state/store/memory/bucket-table/record-pages';
import type { MemoryStore } from '../../state/store/memory/memory-store';
import type { BucketPage, BucketQuery, BucketsPort } from './backend';
import { AdminProblem } from './problem';

export interface MemoryBucketsOptions {
  readonly store: MemoryStore;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
}

/** Buckets that one call looks at: well below a millisecond. */
const STEPS = 1_000;

export class MemoryBuckets implements BucketsPort {
  constructor(private readonly options: MemoryBucketsOptions) {}

  take(groups: readonly Group[]) {
    const outcomes = this.options.store.decide(groups);
    return Promise.resolve(outcomes.map((outcome) => ('verdicts' in outcome ? outcome : undefined)));
  }

  reset(bucketKeys: readonly string[]): Promise<number> {
    return Promise.resolve(bucketKeys.filter((key) => this.options.store.forget(key)).length);
  }

  /** Looks at a bounded number of buckets, so a page may be empty before the last one. */
  list({ domain, prefix, cursor, limit }: BucketQuery): Promise<BucketPage> {
    const start = domainKeyStart(this.options.keyPrefix, toByteString(domain));
    const matches = prefix === '' ? (key: string) => isOfDomain(key, start) : (key: string) => key.startsWith(`${start}}${prefix}`);
    const keys: string[] = [];
    const place = this.options.store.walkKeys({
      place: cursor === undefined ? WALK_START : readPlace(cursor),
      steps: STEPS,
      visit: (key) => {
        if (matches(key)) keys.push(key);
        return keys.length < limit;
      },
    });
    return Promise.resolve({ keys, ...(place !== undefined && { next: `${place.pool}-${place.record}` }) });
  }
}

function isOfDomain(key: string, start: string): boolean {
  return key.startsWith(start) && (key[start.length] === '}' || key[start.length] === '|');
}

function readPlace(cursor: string): WalkPlace {
  const [, pool, record] = /^(\d{1,9})-(\d{1,9})$/.exec(cursor) ?? [];
  if (pool === undefined || record === undefined) throw AdminProblem.ofField('query/cursor', 'it is not `next` of a page');
  return { pool: Number(pool), record: Number(record) };
}
