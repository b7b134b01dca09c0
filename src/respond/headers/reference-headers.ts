/** The three headers of envoyproxy/ratelimit: limit, remaining and reset of the most relevant descriptor. */

import { shownRemaining, toSecondsUp, type DescriptorStatus, type Header } from '../../decide/decision';
import type { DecidedRequest } from '../decided/response-input';
import { denialsOf } from '../decided/denials';
import type { HeaderOptions, OpenHeaders } from './header-kind';

export const openReferenceHeaders: OpenHeaders = (options) =>
  options.modes.has('reference') ? (decided) => referenceHeaders(decided, options) : undefined;

/** Empty if no limit has this mode; for a denied request, if no denying limit has it. */
function referenceHeaders(answered: DecidedRequest, { headerNames: names, mode }: HeaderOptions): Header[] {
  const isShown = ({ currentLimit }: DescriptorStatus) =>
    currentLimit !== undefined && (currentLimit.responseHeaders ?? mode) === 'reference';
  const shown = shownOf(answered, isShown);
  if (shown === undefined) return [];
  const { currentLimit, durationUntilResetUs = 0 } = shown;
  return [
    { name: names.limit, value: String(currentLimit?.requestsPerUnit ?? 0) },
    { name: names.remaining, value: String(shownRemaining(shown)) },
    { name: names.reset, value: String(toSecondsUp(durationUntilResetUs)) },
  ];
}

/** For a denied request the last denying descriptor, otherwise the first one with the least remaining. */
function shownOf(answered: DecidedRequest, isShown: (status: DescriptorStatus) => boolean): DescriptorStatus | undefined {
  const { overallCode, statuses } = answered.decision;
  if (overallCode === 'OVER_LIMIT')
    return denialsOf(answered)
      .map(({ status }) => status)
      .findLast(isShown);
  return statuses
    .filter(isShown)
    .reduce<DescriptorStatus | undefined>(
      (nearest, status) => (nearest === undefined || status.limitRemaining < nearest.limitRemaining ? status : nearest),
      undefined,
    );
}
