/** `Retry-After`: the time until a denied request would pass, without other traffic. */

import { toSecondsUp, type Header } from '../../decide/decision';
import type { DecidedRequest } from '../decided/response-input';
import { denialsOf, type Denial } from '../decided/denials';
import type { HeaderOptions, OpenHeaders } from './header-kind';

export const openRetryAfter: OpenHeaders = (options) => {
  if (options.retryAfter !== true && !options.modes.has('ietf')) return undefined;
  return (decided) => {
    const header = retryAfter(decided, options);
    return header === undefined ? [] : [header];
  };
};

/**
 * The longest wait of the enforced descriptors, because each of them denies, and the shortest of the quota descriptors, because they
 * only deny together.
 */
function retryAfter(answered: DecidedRequest, { retryAfter: enabled, mode }: HeaderOptions): Header | undefined {
  const denials = enabled === false ? [] : denialsOf(answered);
  const isWanted = enabled === true || denials.some(({ limit }) => (limit.responseHeaders ?? mode) === 'ietf');
  if (denials.length === 0 || !isWanted || willNeverPass(denials)) return undefined;
  const enforced = denials.filter(({ match }) => match.mode !== 'quota');
  const quota = denials.filter(({ match }) => match.mode === 'quota');
  const quotaThatWillFit = quota.filter(({ status }) => status.neverFits !== true);
  const waitUs = Math.max(0, ...enforced.map(toWaitUs), ...(quota.length === 0 ? [] : [Math.min(...quotaThatWillFit.map(toWaitUs))]));
  // A client that returns at once would be denied again.
  return { name: 'Retry-After', value: String(Math.max(1, toSecondsUp(waitUs))) };
}

/** An enforced descriptor never fits, or no quota descriptor ever does: retrying is useless. */
function willNeverPass(denials: readonly Denial[]): boolean {
  const quota = denials.filter(({ match }) => match.mode === 'quota');
  const neverFits = ({ status }: Denial) => status.neverFits === true;
  return denials.some((denial) => denial.match.mode !== 'quota' && neverFits(denial)) || (quota.length > 0 && quota.every(neverFits));
}

function toWaitUs({ status: { durationUntilResetUs = 0 } }: Denial): number {
  return durationUntilResetUs;
}
