/** What the arguments and replies of the scripts have in common: buckets, limits, numbers. */

import type { BucketLimit } from '../bucket/take';
import type { Algorithm } from '../rule/limit';
import { StoreError } from './store';

const ALGORITHM_CODES: Readonly<Record<Algorithm, string>> = {
  token_bucket: '1',
  fixed_window: '2',
  leaky_bucket: '3',
  sliding_window_log: '4',
  sliding_window_counter: '5',
};

export interface ScriptArguments {
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** The keys of one call, each once. */
export class BucketIndexes {
  private readonly indexes = new Map<string, number>();

  get keys(): readonly string[] {
    return [...this.indexes.keys()];
  }

  /** A bucket as two arguments: index into the keys, algorithm. */
  encode(bucketKey: string, { algorithm }: BucketLimit): readonly [string, string] {
    const index = this.indexes.get(bucketKey) ?? this.indexes.size + 1;
    this.indexes.set(bucketKey, index);
    return [String(index), ALGORITHM_CODES[algorithm]];
  }
}

export function encodeLimit({ windowUs, requestsPerUnit, capacity, edgesUs = [] }: BucketLimit): readonly string[] {
  return [windowUs, requestsPerUnit, capacity, edgesUs.length, ...edgesUs].map(String);
}

/** The numbers of a reply, one after the other. */
export function numbersOf(reply: unknown): () => number {
  const values: readonly unknown[] = Array.isArray(reply) ? reply : [];
  let at = 0;
  return () => {
    const value = values[at];
    at += 1;
    if (typeof value !== 'number') throw new StoreError('the store answered something that is no verdict', 'script');
    return value;
  };
}
