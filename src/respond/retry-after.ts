/** `Retry-After`: when a request that was denied would pass, if nobody else asked meanwhile. */

import { toSecondsUp, type Header } from '../engine/decision';
import type { ResponseHeaders } from '../rule/limit';
import type { Answered } from './answered';

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
export function retryAfter({ matched, decision }: Answered, { enabled, mode }: RetryAfterOptions): Header | undefined {
  if (decision.overallCode !== 'OVER_LIMIT' || enabled === false) return undefined;
  let enforcedUs = 0;
  let quotaUs = Infinity;
  let isShown = enabled === true;
  let quotaDenies = true;
  for (const [index, { code, currentLimit, durationUntilResetUs = 0 }] of decision.statuses.entries()) {
    const match = matched.matches[index];
    if (match === undefined) continue;
    if (match.quotaAlwaysFits) quotaDenies = false;
    if (currentLimit === undefined) continue;
    if (code === 'OK') {
      if (match.mode === 'quota') quotaDenies = false;
      continue;
    }
    if ((currentLimit.responseHeaders ?? mode) === 'ietf') isShown = true;
    if (match.mode === 'quota') quotaUs = Math.min(quotaUs, durationUntilResetUs);
    else enforcedUs = Math.max(enforcedUs, durationUntilResetUs);
  }
  if (!isShown) return undefined;
  const waitUs = quotaDenies && quotaUs !== Infinity ? Math.max(enforcedUs, quotaUs) : enforcedUs;
  // Whoever comes back at once is denied once more.
  return { name: 'Retry-After', value: String(Math.max(1, toSecondsUp(waitUs))) };
}
