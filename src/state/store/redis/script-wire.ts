/** The common part of the arguments of the scripts, and the bounds of the numbers in their replies. */

import type { BucketLimit } from '../../../domain/bucket/take';
import { WINDOW_US_MAX } from '../../../domain/descriptor/unit';

export interface ScriptArguments {
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

const NO_EDGES: readonly number[] = [];

/** A time of Redis's clock, in microseconds since 1970. */
export const TIME_US_MAX = Number.MAX_SAFE_INTEGER;

/**
 * The longest wait: two of the longest windows, because a sliding window counter remembers a hit for two windows. A single limit may
 * wait longer than its own window when the clock has stepped back, or when another limit shares the bucket.
 */
export const WAIT_US_MAX = 2 * WINDOW_US_MAX;

/** Most hits used in a bucket. Far fewer fit under any limit, but a foreign value under the key must not end the connection. */
export const USED_MAX = Number.MAX_SAFE_INTEGER;

export function pushLimit(args: string[], { windowUs, requestsPerUnit, capacity, edgesUs = NO_EDGES }: BucketLimit): void {
  args.push(String(windowUs), String(requestsPerUnit), String(capacity), String(edgesUs.length));
  for (const edgeUs of edgesUs) args.push(String(edgeUs));
}
