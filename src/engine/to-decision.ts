/** Respond: the decision that a request is answered with, out of its matches and the store's verdicts. */

import { NEVER, type GroupVerdict, type Verdict } from '../bucket/take';
import type { Limit } from '../rule/limit';
import type { Match, RequestMatch } from '../rule/match';
import { UNLIMITED_REMAINING, type Decision, type DescriptorStatus } from './decision';

/** The decision of a request in which nothing is limited. */
export const NOTHING_TAKEN: GroupVerdict = { overLimit: false, verdicts: [], nowUs: 0 };

/** A limit of a descriptor and what the store said of it. */
interface Judged {
  readonly limit: Limit;
  readonly verdict: Verdict;
}

export function toDecision(matched: RequestMatch, { overLimit, verdicts, fallback, cached }: GroupVerdict): Decision {
  let next = 0;
  const statuses = matched.matches.map((match) => {
    const own = verdicts.slice(next, next + match.limits.length);
    next += match.limits.length;
    return toStatus(match, own);
  });
  return { overallCode: overLimit ? 'OVER_LIMIT' : 'OK', statuses, ...(fallback && { fallback }), ...(cached && { cached }) };
}

function toStatus(match: Match, verdicts: readonly Verdict[]): DescriptorStatus {
  const judged = match.limits.flatMap((limit, i): Judged[] => {
    const verdict = verdicts[i];
    return verdict === undefined ? [] : [{ limit, verdict }];
  });
  const [first, ...others] = judged;
  if (first === undefined) {
    return { code: 'OK', limitRemaining: match.unlimited ? UNLIMITED_REMAINING : 0, fits: true };
  }
  const { limit, verdict } = others.reduce((binding, other) => (bindsMore(other, binding) ? other : binding), first);
  return {
    code: verdict.fits || match.mode === 'shadow' ? 'OK' : 'OVER_LIMIT',
    currentLimit: limit,
    limitRemaining: verdict.remaining,
    durationUntilResetUs: durationUntilResetUs(verdict),
    fits: verdict.fits,
  };
}

/** Of several limits the one that binds: one that does not fit first (the longest wait), then the least remaining. */
function bindsMore({ verdict: a }: Judged, { verdict: b }: Judged): boolean {
  if (a.fits !== b.fits) return !a.fits;
  return a.fits ? a.remaining < b.remaining : waitUs(a) > waitUs(b);
}

function waitUs(verdict: Verdict): number {
  return verdict.retryAfterUs === NEVER ? Infinity : verdict.retryAfterUs;
}

/** Until these hits would fit; if they fit now, or never will, until the bucket is full (the window ends). */
function durationUntilResetUs({ fits, retryAfterUs, resetAfterUs }: Verdict): number {
  return fits || retryAfterUs === NEVER ? resetAfterUs : retryAfterUs;
}
