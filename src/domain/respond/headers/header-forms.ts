/** The forms in which the `reference` headers show a limit and its reset. */

import { toSecondsUp } from '../../decide/decision';
import type { Limit, LimitForm, ResetForm } from '../../rule/limit';
import { serverTimeUs } from '../decided/server-time';
import type { DecidedRequest } from '../decided/decided-request';
import { MS_PER_HOUR, MS_PER_MINUTE, MS_PER_S, US_PER_MS } from '../../../lib/time-units';

export function limitIn(form: LimitForm, { requestsPerUnit, capacity }: Limit): string {
  return String(form === 'capacity' ? capacity : requestsPerUnit);
}

/** Rounds up, because a client that returns too early is denied again. */
export function resetIn(form: ResetForm, durationUs: number, answered: Pick<DecidedRequest, 'verdict'>): string {
  switch (form) {
    case 'seconds':
      return String(toSecondsUp(durationUs));
    case 'milliseconds':
      return String(Math.ceil(durationUs / US_PER_MS));
    case 'duration':
      return durationText(Math.ceil(durationUs / US_PER_MS));
    case 'epoch':
      return String(toSecondsUp(serverTimeUs(answered) + durationUs));
  }
}

/** As Go prints it: `20ms`, `1.5s`, `6m0s`, `1h0m30s`. */
function durationText(ms: number): string {
  if (ms < MS_PER_S) return ms === 0 ? '0s' : `${ms}ms`;
  const hours = Math.floor(ms / MS_PER_HOUR);
  const minutes = Math.floor((ms % MS_PER_HOUR) / MS_PER_MINUTE);
  const seconds = `${(ms % MS_PER_MINUTE) / MS_PER_S}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}
