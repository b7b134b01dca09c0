/** How long a denied request has to wait, if nobody else asks meanwhile. */

import { toSecondsUp } from '../../decide/decision';
import { isQuota, type Denial } from './denials';
import { US_PER_MS } from '../../../lib/time-units';

/**
 * The longest wait of the enforced descriptors, because each of them denies, and the shortest of the quota descriptors, because they
 * only deny together. Undefined: no wait helps.
 */
export function waitUsOf(denials: readonly Denial[]): number | undefined {
  const waitUs = Math.max(0, ...bindingOf(denials).map(waitUsOfDenial));
  return waitUs === Infinity ? undefined : waitUs;
}

/** The denial that makes the request wait longest; the first of several. Undefined: there is none. */
export function longestOf(denials: readonly Denial[]): Denial | undefined {
  return bindingOf(denials).reduce<Denial | undefined>(
    (longest, denial) => (longest === undefined || waitUsOfDenial(denial) > waitUsOfDenial(longest) ? denial : longest),
    undefined,
  );
}

/** The descriptors that the request waits for: of the quota descriptors only the one with the shortest wait. */
function bindingOf(denials: readonly Denial[]): readonly Denial[] {
  if (!denials.some(isQuota)) return denials;
  const shortest = denials
    .filter(isQuota)
    .reduce((nearest, denial) => (waitUsOfDenial(denial) < waitUsOfDenial(nearest) ? denial : nearest));
  return denials.filter((denial) => denial === shortest || !isQuota(denial));
}

function waitUsOfDenial({ status: { durationUntilResetUs = 0, neverFits } }: Denial): number {
  return neverFits === true ? Infinity : durationUntilResetUs;
}

/** Whole seconds to wait: a client that returns at once would be denied again. */
export function retryAfterS(waitUs: number): number {
  return Math.max(1, toSecondsUp(waitUs));
}

export function retryAfterMs(waitUs: number): number {
  return Math.max(1, Math.ceil(waitUs / US_PER_MS));
}
