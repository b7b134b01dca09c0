/** `Retry-After`: the time until a denied request would pass, without other traffic; and the headers with which SDKs say the same. */

import type { Header } from '../../decide/decision';
import type { DecidedRequest } from '../decided/decided-request';
import { denialsOf } from '../decided/denials';
import { retryAfterMs, retryAfterS, waitUsOf } from '../decided/wait';
import type { HeaderOptions, OpenHeaders } from './header-kind';

/** For SDKs that know `Retry-After-Ms`: a client would be denied whenever it returns. */
const NEVER: readonly Header[] = [{ name: 'X-Should-Retry', value: 'false' }];

const NONE: readonly Header[] = [];

export const openRetryAfter: OpenHeaders = (options) => {
  if (options.retryAfter !== true && !options.modes.has('ietf')) return undefined;
  return (decided) => retryAfter(decided, options);
};

function retryAfter(answered: DecidedRequest, { retryAfter: enabled, retryAfterMs: inMs, mode }: HeaderOptions): readonly Header[] {
  const denials = enabled === false ? [] : denialsOf(answered);
  const isWanted = enabled === true || denials.some(({ limit }) => (limit.responseHeaders ?? mode) === 'ietf');
  if (denials.length === 0 || !isWanted) return NONE;
  const waitUs = waitUsOf(denials);
  if (waitUs === undefined) return inMs ? NEVER : NONE;
  const seconds = { name: 'Retry-After', value: String(retryAfterS(waitUs)) };
  return inMs ? [seconds, { name: 'Retry-After-Ms', value: String(retryAfterMs(waitUs)) }] : [seconds];
}
