/** The three headers of envoyproxy/ratelimit: limit, remaining and reset of the most relevant descriptor. */

import { shownRemaining, type DescriptorStatus, type Header } from '../../decide/decision';
import type { DecidedRequest } from '../decided/decided-request';
import { denialsOf, isQuota } from '../decided/denials';
import { limitIn, resetIn } from './header-forms';
import type { HeaderOptions, OpenHeaders } from './header-kind';

export const openReferenceHeaders: OpenHeaders = (options) =>
  options.modes.has('reference') ? (decided) => referenceHeaders(decided, options) : undefined;

/** Empty if no limit has this mode; for a request that enforced limits deny, if none of those has it. */
function referenceHeaders(answered: DecidedRequest, { headerNames: names, headerForms: forms, mode }: HeaderOptions): Header[] {
  const isShown = ({ currentLimit }: DescriptorStatus) =>
    currentLimit !== undefined && (currentLimit.responseHeaders ?? mode) === 'reference';
  const shown = shownOf(answered, isShown);
  if (shown?.currentLimit === undefined) return [];
  const { currentLimit, durationUntilResetUs = 0 } = shown;
  return [
    { name: names.limit, value: limitIn(forms.limit, currentLimit) },
    { name: names.remaining, value: String(shownRemaining(shown)) },
    { name: names.reset, value: resetIn(forms.reset, durationUntilResetUs, answered) },
  ];
}

/**
 * The last enforced descriptor that denies. If none does, because the request is allowed or quota descriptors deny it, the first one with
 * the least remaining (src/service/ratelimit.go of envoyproxy/ratelimit).
 */
function shownOf(answered: DecidedRequest, isShown: (status: DescriptorStatus) => boolean): DescriptorStatus | undefined {
  const enforced = denialsOf(answered).filter((denial) => !isQuota(denial));
  if (enforced.length > 0) return enforced.map(({ status }) => status).findLast(isShown);
  return answered.decision.statuses
    .filter(isShown)
    .reduce<DescriptorStatus | undefined>(
      (nearest, status) => (nearest === undefined || status.limitRemaining < nearest.limitRemaining ? status : nearest),
      undefined,
    );
}
