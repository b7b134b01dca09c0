/** `Retry-After`: when a request that was denied would pass, if nobody else asked meanwhile. */

import { toSecondsUp, type Header } from '../engine/decision';
import type { ResponseHeaders } from '../rule/limit';
import type { Answered } from './answered';
import { denialsOf, type Denial } from './denials';

export interface RetryAfterOptions {
  /** `RETRY_AFTER_ENABLED`; undefined: only where a limit that denies is shown in the `ietf` mode. */
  readonly enabled: boolean | undefined;
  /** Of limits that do not say. */
  readonly mode: ResponseHeaders;
}

/**
 * Of enforced descriptors the longest wait, since each of them denies; of quota descriptors the shortest, since they
 * only deny together.
 */
export function retryAfter(answered: Answered, { enabled, mode }: RetryAfterOptions): Header | undefined {
  const denials = enabled === false ? [] : denialsOf(answered);
  const isWanted = enabled === true || denials.some(({ limit }) => (limit.responseHeaders ?? mode) === 'ietf');
  if (denials.length === 0 || !isWanted || willNeverPass(denials)) return undefined;
  const enforced = denials.filter(({ match }) => match.mode !== 'quota');
  const quota = denials.filter(({ match }) => match.mode === 'quota');
  const quotaThatWillFit = quota.filter(({ status }) => status.neverFits !== true);
  const waitUs = Math.max(0, ...enforced.map(toWaitUs), ...(quota.length === 0 ? [] : [Math.min(...quotaThatWillFit.map(toWaitUs))]));
  // Whoever comes back at once is denied once more.
  return { name: 'Retry-After', value: String(Math.max(1, toSecondsUp(waitUs))) };
}

/** An enforced descriptor whose hits never fit, or no quota descriptor whose hits ever will: a later try is useless. */
function willNeverPass(denials: readonly Denial[]): boolean {
  const quota = denials.filter(({ match }) => match.mode === 'quota');
  const neverFits = ({ status }: Denial) => status.neverFits === true;
  return denials.some((denial) => denial.match.mode !== 'quota' && neverFits(denial)) || (quota.length > 0 && quota.every(neverFits));
}

function toWaitUs({ status: { durationUntilResetUs = 0 } }: Denial): number {
  return durationUntilResetUs;
}
