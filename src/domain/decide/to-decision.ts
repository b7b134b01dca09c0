/** Respond: turns the matches of a request and the store's verdicts into a decision. */

import { candidatesOf } from '../bucket/to-group';
import { NEVER } from '../algorithm/engine';
import type { GroupVerdict, Verdict } from '../bucket/take';
import type { Limit } from '../rule/limit';
import type { Block, Match, RequestMatch } from '../rule/match';
import { UNLIMITED_REMAINING, type Decision, type DescriptorStatus } from './decision';

/** The verdict for a request without limits. */
export const NOTHING_TAKEN: GroupVerdict = { overLimit: false, verdicts: [], nowUs: 0 };

/** `clockUs`: this process's clock, in microseconds since 1970, for the end of a block. */
export function toDecision(matched: RequestMatch, verdict: GroupVerdict, clockUs: () => number): Decision {
  const { matches, blocked } = matched;
  const { verdicts, fallback, cached } = verdict;
  const overLimit = verdict.overLimit || blocked === true;
  const statuses = new Array<DescriptorStatus>(matches.length);
  let next = 0;
  for (let i = 0; i < matches.length; i += 1) {
    const match = matches[i];
    if (match === undefined) continue;
    statuses[i] =
      match.block === undefined
        ? toStatus(match, { verdicts, first: next, overLimit })
        : toBlockedStatus(match.block, { overLimit, clockUs });
    next += match.limits.length;
  }
  const overallCode = overLimit ? 'OVER_LIMIT' : 'OK';
  if (fallback === true) return { overallCode, statuses, fallback };
  if (cached === true) return { overallCode, statuses, cached };
  if (matched.hasCandidates !== true) return { overallCode, statuses };
  const candidates = candidatesOf(matches).map((candidate, i) => ({ fits: verdicts[next + i]?.fits !== false, ...candidate }));
  return candidates.length === 0 ? { overallCode, statuses } : { overallCode, statuses, candidates };
}

type OpenStatus = { -readonly [Field in keyof DescriptorStatus]: DescriptorStatus[Field] };

interface VerdictsOfDescriptor {
  readonly verdicts: readonly Verdict[];
  /** The verdicts on the limits of one descriptor are consecutive, from here on. */
  readonly first: number;
  readonly overLimit: boolean;
}

/** Without an end, no wait helps. */
function toBlockedStatus(
  { limit, untilUs }: Block,
  { overLimit, clockUs }: { readonly overLimit: boolean; readonly clockUs: () => number },
): DescriptorStatus {
  const status: OpenStatus = {
    code: 'OVER_LIMIT',
    currentLimit: limit,
    limitRemaining: 0,
    durationUntilResetUs: 0,
    fits: false,
    denies: overLimit,
  };
  if (untilUs === undefined) status.neverFits = true;
  else status.durationUntilResetUs = Math.max(0, untilUs - clockUs());
  return status;
}

function toStatus({ limits, unlimited, mode }: Match, { verdicts, first, overLimit }: VerdictsOfDescriptor): DescriptorStatus {
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
    return { code: 'OK', limitRemaining: unlimited ? UNLIMITED_REMAINING : 0, fits: true, denies: false };
  }
  const status: OpenStatus = {
    code: verdict.fits || mode === 'shadow' ? 'OK' : 'OVER_LIMIT',
    currentLimit: limit,
    limitRemaining: verdict.remaining,
    durationUntilResetUs: durationUntilResetUs(verdict),
    fits: verdict.fits,
    denies: overLimit && verdict.denies === true,
  };
  if (!verdict.fits && verdict.retryAfterUs === NEVER) status.neverFits = true;
  // Hits in the reserve are not below zero.
  const debt = (verdict.debt ?? 0) - (limit.reserved ?? 0);
  if (debt > 0) status.debt = debt;
  if (cut > 0) status.cut = cut;
  return status;
}

/** Whether a binds before b: limits that do not fit first (the longest wait), then the least remaining. */
function bindsMore(a: Verdict, b: Verdict): boolean {
  if (a.fits !== b.fits) return !a.fits;
  return a.fits ? a.remaining < b.remaining : waitUs(a) > waitUs(b);
}

function waitUs(verdict: Verdict): number {
  return verdict.retryAfterUs === NEVER ? Infinity : verdict.retryAfterUs;
}

/**
 * Time until these hits would fit; if they fit now or never will, time until the bucket is full (the window ends). Hits that did not fit
 * may fit now because of a refund in the same request.
 */
export function durationUntilResetUs({ fits, retryAfterUs, resetAfterUs }: Verdict): number {
  return fits || retryAfterUs === NEVER || retryAfterUs === 0 ? resetAfterUs : retryAfterUs;
}
