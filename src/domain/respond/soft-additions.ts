/** Adds to an allowed request what the soft lines of its limits say: headers for the backend and the client, and metadata. */

import type { Header } from '../decide/decision';
import { passedLine, wholeBucket, WHOLE_AT, type SoftHeader, type SoftLine } from '../rule/soft/soft-line';
import type { DecidedRequest } from './decided/decided-request';

export interface SoftAdditions {
  readonly requestHeaders: readonly Header[];
  readonly responseHeaders: readonly Header[];
  /** The highest line that is passed, in percent. */
  readonly atPercent: number;
}

/**
 * Undefined: no line is passed. The limit whose passed line is the highest speaks for all. Without the store the share of one
 * instance says nothing about the limit, and a denied request never reaches the backend.
 */
export function softAdditions({ matched, verdict, decision }: DecidedRequest): SoftAdditions | undefined {
  if (decision.overallCode !== 'OK' || verdict.fallback === true) return undefined;
  let highest: SoftLine | undefined;
  let lines: readonly SoftLine[] = [];
  let next = 0;
  for (const { limits } of matched.matches) {
    for (const limit of limits) {
      const { soft } = limit;
      const taken = verdict.verdicts[next];
      next += 1;
      const passed = soft === undefined || taken === undefined ? undefined : passedLine(soft, wholeBucket(taken, limit));
      if (soft === undefined || passed === undefined || (highest !== undefined && passed.at <= highest.at)) continue;
      highest = passed;
      lines = soft;
    }
  }
  if (highest === undefined) return undefined;
  const { at } = highest;
  const passed = lines.filter((line) => line.at <= at);
  return {
    requestHeaders: headersOf(passed.map(({ requestHeaders }) => requestHeaders)),
    responseHeaders: headersOf(passed.map(({ responseHeaders }) => responseHeaders)),
    atPercent: (at * 100) / WHOLE_AT,
  };
}

/** Each name once, with the value of the highest line that has it. */
function headersOf(lists: readonly (readonly SoftHeader[])[]): Header[] {
  const values = new Map<string, string>();
  for (const list of lists) for (const { name, value } of list) values.set(name, value);
  return Array.from(values, ([name, value]) => ({ name, value }));
}
