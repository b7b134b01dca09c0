/** What the arguments and replies of the scripts have in common: limits, numbers. */

import type { BucketLimit } from '../bucket/take';
import type { BucketAlgorithm } from '../rule/limit';
import { StoreError } from './store';

export const ALGORITHM_CODES: Readonly<Record<BucketAlgorithm, string>> = {
  token_bucket: '1',
  fixed_window: '2',
  leaky_bucket: '3',
  sliding_window_log: '4',
  sliding_window_counter: '5',
  in_flight: '6',
};

export interface ScriptArguments {
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

const NO_EDGES: readonly number[] = [];

export function pushLimit(args: string[], { windowUs, requestsPerUnit, capacity, edgesUs = NO_EDGES }: BucketLimit): void {
  args.push(String(windowUs), String(requestsPerUnit), String(capacity), String(edgesUs.length));
  for (const edgeUs of edgesUs) args.push(String(edgeUs));
}

/** The numbers of a reply, one after the other. */
export class ReplyNumbers {
  private readonly values: readonly unknown[];
  private at = 0;

  constructor(reply: unknown) {
    this.values = Array.isArray(reply) ? reply : [];
  }

  /**
   * @throws StoreError if there is none
   */
  next(): number {
    const value = this.values[this.at];
    this.at += 1;
    if (typeof value !== 'number') throw notAnAnswer();
    return value;
  }

  /**
   * @throws StoreError if there are more: then those before may not be what they were taken for
   */
  end(): void {
    if (this.at !== this.values.length) throw notAnAnswer();
  }
}

export function notAnAnswer(): StoreError {
  return new StoreError('the store answered something that is no verdict', 'script');
}
