/** The three headers of envoyproxy/ratelimit: limit, remaining and reset of the one descriptor that matters most. */

import { toSecondsUp, type DescriptorStatus, type Header } from '../engine/decision';
import type { ResponseHeaders } from '../rule/limit';
import type { Answered } from './answered';
import { denialsOf } from './denials';

/** `LIMIT_LIMIT_HEADER` and its like. */
export interface HeaderNames {
  readonly limit: string;
  readonly remaining: string;
  readonly reset: string;
}

export interface ReferenceHeadersOptions {
  readonly names: HeaderNames;
  /** Of limits that do not say. */
  readonly mode: ResponseHeaders;
}

/** None if no limit is to be shown so; of a denied request, if no limit that denies it is. */
export function referenceHeaders(answered: Answered, { names, mode }: ReferenceHeadersOptions): Header[] {
  const isShown = ({ currentLimit }: DescriptorStatus) => currentLimit !== undefined && (currentLimit.responseHeaders ?? mode) === 'reference';
  const shown = shownOf(answered, isShown);
  if (shown === undefined) return [];
  const { currentLimit, limitRemaining, durationUntilResetUs = 0 } = shown;
  return [
    { name: names.limit, value: String(currentLimit?.requestsPerUnit ?? 0) },
    { name: names.remaining, value: String(limitRemaining) },
    { name: names.reset, value: String(toSecondsUp(durationUntilResetUs)) },
  ];
}

/** Of a denied request the last descriptor that denies it, else the first of those with the least remaining. */
function shownOf(answered: Answered, isShown: (status: DescriptorStatus) => boolean): DescriptorStatus | undefined {
  const { overallCode, statuses } = answered.decision;
  if (overallCode === 'OVER_LIMIT') return denialsOf(answered).map(({ status }) => status).findLast(isShown);
  return statuses.filter(isShown).reduce<DescriptorStatus | undefined>(
    (nearest, status) => (nearest === undefined || status.limitRemaining < nearest.limitRemaining ? status : nearest),
    undefined,
  );
}
