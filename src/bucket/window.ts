/** The windows that a fixed-window limit counts in, one after the other: of the clock, aligned to 1970, or of a calendar. */

import type { BucketLimit } from './take';

export interface WindowAt {
  /** The window's number since 1970; of a calendar window, which has none, its start in microseconds. */
  readonly index: number;
  readonly endsAfterUs: number;
}

/**
 * The window that holds this time. Twin of `window_at` in `lua/include/fixed-window.lua`.
 *
 * @throws Error if the limit names calendar windows of which none holds it: `isOutside` tells
 */
export function windowAt({ windowUs, edgesUs }: BucketLimit, nowUs: number): WindowAt {
  if (edgesUs === undefined) {
    const index = Math.floor(nowUs / windowUs);
    return { index, endsAfterUs: windowUs - (nowUs - index * windowUs) };
  }
  const next = edgesUs.findIndex((edgeUs) => edgeUs > nowUs);
  const [startUs, endUs] = [edgesUs[next - 1], edgesUs[next]];
  if (startUs === undefined || endUs === undefined) throw new Error('a calendar take outside its windows: the store must ask first');
  return { index: startUs, endsAfterUs: endUs - nowUs };
}
