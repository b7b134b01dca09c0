/** The three headers of envoyproxy/ratelimit: limit, remaining and reset of the one descriptor that matters most. */

import { toSecondsUp, type DescriptorStatus, type Header } from '../engine/decision';
import type { ResponseHeaders } from '../rule/limit';
import type { Answered } from './answered';

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

/** None if no limit is to be shown so. */
export function referenceHeaders({ matched, decision }: Answered, { names, mode }: ReferenceHeadersOptions): Header[] {
  const shown = decision.statuses.reduce<Shown | undefined>((nearest, status, index) => {
    if (status.currentLimit === undefined || (status.currentLimit.responseHeaders ?? mode) !== 'reference') return nearest;
    const denies = status.code === 'OVER_LIMIT' && matched.matches[index]?.mode !== 'quota';
    // The last one that denies, else the first of those with the least remaining.
    if (denies) return { status, remaining: 0 };
    return nearest === undefined || status.limitRemaining < nearest.remaining ? { status, remaining: status.limitRemaining } : nearest;
  }, undefined);
  if (shown === undefined) return [];
  const { currentLimit, limitRemaining, durationUntilResetUs = 0 } = shown.status;
  return [
    { name: names.limit, value: String(currentLimit?.requestsPerUnit ?? 0) },
    { name: names.remaining, value: String(limitRemaining) },
    { name: names.reset, value: String(toSecondsUp(durationUntilResetUs)) },
  ];
}

interface Shown {
  readonly status: DescriptorStatus;
  /** What another has to be below to be shown in its place. */
  readonly remaining: number;
}
