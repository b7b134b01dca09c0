/** The windows that a fixed-window limit counts in, one after the other: of the clock, aligned to 1970, or of a calendar. */

import type { AlgorithmLimit } from './algorithm-limit';

export interface WindowAt {
  /** The window's number since 1970; of a calendar window, which has none, its start in microseconds. */
  readonly index: number;
  readonly endsAfterUs: number;
}

/**
 * The window that holds this time. Twin of `window_at` in `lua/include/fixed-window.lua`.
 *
 * @throws Error if no calendar window of the limit holds the time: ask `isOutside` first
 */
export function windowAt({ windowUs, edgesUs }: AlgorithmLimit, nowUs: number): WindowAt {
  if (edgesUs === undefined) {
    const index = Math.floor(nowUs / windowUs);
    return { index, endsAfterUs: windowUs - (nowUs - index * windowUs) };
  }
  const next = edgesUs.findIndex((edgeUs) => edgeUs > nowUs);
  const [startUs, endUs] = [edgesUs[next - 1], edgesUs[next]];
  if (startUs === undefined || endUs === undefined) throw new Error('a calendar take outside its windows: the store must ask first');
  return { index: startUs, endsAfterUs: endUs - nowUs };
}

/** Whether the limit names calendar windows, and none of them holds this time. Twin of `is_outside` in Lua. */
export function isOutside({ edgesUs }: AlgorithmLimit, atUs: number): boolean {
  const [first, last] = [edgesUs?.[0], edgesUs?.at(-1)];
  return first !== undefined && last !== undefined && (atUs < first || atUs >= last);
}

/** Whether both times lie in one window of the limit; false outside of its calendar windows. */
export function isSameWindow(limit: AlgorithmLimit, oneUs: number, otherUs: number): boolean {
  return !isOutside(limit, oneUs) && !isOutside(limit, otherUs) && windowAt(limit, oneUs).index === windowAt(limit, otherUs).index;
}
