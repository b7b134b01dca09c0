/** Respond: the decision that a request is answered with, out of its matches and the store's verdicts. */

import { NEVER, type GroupVerdict, type Verdict } from '../bucket/take';
import type { Limit } from '../rule/limit';
import type { Match, RequestMatch } from '../rule/match';
import { UNLIMITED_REMAINING, type Decision, type DescriptorStatus } from './decision';

/** The decision of a request in which nothing is limited. */
export const NOTHING_TAKEN: GroupVerdict = { overLimit: false, verdicts: [], nowUs: 0 };

export function toDecision({ matches }: RequestMatch, { overLimit, verdicts, fallback, cached }: GroupVerdict): Decision {
  const statuses = new Array<DescriptorStatus>(matches.length);
  let next = 0;
  for (let i = 0; i < matches.length; i += 1) {
    const match = matches[i];
    if (match === undefined) continue;
    statuses[i] = toStatus(match, verdicts, next);
    next += match.limits.length;
  }
  const overallCode = overLimit ? 'OVER_LIMIT' : 'OK';
  if (fallback === true) return { overallCode, statuses, fallback };
  return cached === true ? { overallCode, statuses, cached } : { overallCode, statuses };
}

/** The verdicts on the limits of one descriptor stand together, from `first` on. */
function toStatus({ limits, unlimited, mode }: Match, verdicts: readonly Verdict[], first: number): DescriptorStatus {
  let limit: Limit | undefined;
  let verdict: Verdict | undefined;
  let cut = 0;
  for (let i = 0; i < limits.length; i += 1) {
    const other = verdicts[first + i];
    if (other?.cut !== undefined && other.cut > cut) cut = other.cut;
    if (other === undefined || (verdict !== undefined && !bindsMore(other, verdict))) continue;
    limit = limits[i];
    verdict = other;
  }
  if (limit === undefined || verdict === undefined) {
    return { code: 'OK', limitRemaining: unlimited ? UNLIMITED_REMAINING : 0, fits: true };
  }
  const status: { -readonly [Field in keyof DescriptorStatus]: DescriptorStatus[Field] } = {
    code: verdict.fits || mode === 'shadow' ? 'OK' : 'OVER_LIMIT',
    currentLimit: limit,
    limitRemaining: verdict.remaining,
    durationUntilResetUs: durationUntilResetUs(verdict),
    fits: verdict.fits,
  };
  if (!verdict.fits && verdict.retryAfterUs === NEVER) status.neverFits = true;
  if (verdict.debt !== undefined) status.debt = verdict.debt;
  if (cut > 0) status.cut = cut;
  return status;
}

/** Of several limits the one that binds: one that does not fit first (the longest wait), then the least remaining. */
function bindsMore(a: Verdict, b: Verdict): boolean {
  if (a.fits !== b.fits) return !a.fits;
  return a.fits ? a.remaining < b.remaining : waitUs(a) > waitUs(b);
}

function waitUs(verdict: Verdict): number {
  return verdict.retryAfterUs === NEVER ? Infinity : verdict.retryAfterUs;
}

/**
 * Until these hits would fit; if they fit now, or never will, until the bucket is full (the window ends). What did not fit
 * may fit now by a refund in the same request.
 */
export function durationUntilResetUs({ fits, retryAfterUs, resetAfterUs }: Verdict): number {
  return fits || retryAfterUs === NEVER || retryAfterUs === 0 ? resetAfterUs : retryAfterUs;
}
