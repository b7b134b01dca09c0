/** Event lines: used shares of a limit that a receiver learns of once in each window. */

import { TRAITS, type BucketAlgorithm } from '../../algorithm/algorithms';

export interface EventLine {
  /** As in `SoftLine`. */
  readonly at: number;
}

/** In which time a line has one event: in a window that ends then, in each period after an event, or `once` for all. */
export type EventSpan = { readonly endUs: number } | { readonly periodUs: number } | 'once';

/** How the algorithms restore hits that have no windows, but periods; a budget that never refills has neither. */
const PERIODIC: ReadonlySet<string> = new Set(['evenly', 'in-window']);

/** Edges of calendar windows lie on whole minutes. */
const CALENDAR_GRAIN_US = 60_000_000;

/** The part of a limit that says in which time it restores hits. */
export interface SpanLimit {
  readonly algorithm: BucketAlgorithm;
  readonly windowUs: number;
  readonly capacity: number;
  readonly requestsPerUnit: number;
  readonly calendar?: object | undefined;
}

/**
 * The end of the window is rounded to an edge: the parts of a split request may be decided on clocks that differ a little. Limits without
 * windows have the time in which an empty bucket fills.
 */
export function eventSpan(limit: SpanLimit, verdict: { readonly nowUs: number; readonly resetAfterUs: number }): EventSpan {
  const { algorithm, windowUs, capacity, requestsPerUnit, calendar } = limit;
  const { restores, burst } = TRAITS[algorithm];
  if (restores === 'at-window-end') {
    const grainUs = calendar === undefined ? windowUs : CALENDAR_GRAIN_US;
    return { endUs: Math.round((verdict.nowUs + verdict.resetAfterUs) / grainUs) * grainUs };
  }
  if (!PERIODIC.has(restores)) return 'once';
  const periodUs = burst === undefined ? windowUs : Math.ceil((capacity / requestsPerUnit) * windowUs);
  return Number.isFinite(periodUs) && periodUs > 0 ? { periodUs } : 'once';
}
