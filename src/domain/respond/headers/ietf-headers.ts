/** `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-11, with every limit of the request by name. */

import { serializeList, type Item } from 'structured-headers';
import { toSecondsUp, type Header } from '../../decide/decision';
import { durationUntilResetUs } from '../../decide/to-decision';
import type { ResponseHeaders } from '../../rule/limit';
import type { RequestMatch } from '../../rule/match';
import type { DecidedRequest } from '../decided/decided-request';
import type { OpenHeaders } from './header-kind';
import { listPolicies, type Listed } from './policy-names';
import { US_PER_S } from '../../../lib/time-units';

/** The largest integer of a structured field (RFC 9651). */
const INTEGER_MAX = 999_999_999_999_999;

interface Policies {
  readonly listed: readonly Listed[];
  /** The value of `RateLimit-Policy`. */
  readonly header: string;
}

export const openIetfHeaders: OpenHeaders = ({ mode, modes }) => {
  if (!modes.has('ietf')) return undefined;
  const headers = new IetfHeaders(mode);
  return (decided) => headers.of(decided);
};

class IetfHeaders {
  /** Cached by matches, which interned requests share. */
  private readonly known = new WeakMap<RequestMatch, Policies>();

  /** `mode`: for limits without `response_headers`. */
  constructor(private readonly mode: ResponseHeaders) {}

  /** Empty if no limit has this mode. */
  of({ matched, verdict }: DecidedRequest): Header[] {
    const { listed, header } = this.policiesOf(matched);
    const items = listed.flatMap(({ name, verdict: index }): Item[] => {
      const found = verdict.verdicts[index];
      if (found === undefined) return [];
      return [
        [
          name,
          new Map([
            ['r', Math.min(found.remaining, INTEGER_MAX)],
            ['t', toSecondsUp(durationUntilResetUs(found))],
          ]),
        ],
      ];
    });
    if (items.length === 0) return [];
    return [
      { name: 'RateLimit-Policy', value: header },
      { name: 'RateLimit', value: serializeList(items) },
    ];
  }

  private policiesOf(matched: RequestMatch): Policies {
    const known = this.known.get(matched);
    if (known !== undefined) return known;
    const policies = makePolicies(matched, this.mode);
    this.known.set(matched, policies);
    return policies;
  }
}

function makePolicies(matched: RequestMatch, mode: ResponseHeaders): Policies {
  const listed = listPolicies(matched, ({ responseHeaders = mode }) => responseHeaders === 'ietf');
  const items = listed.map(({ name, limit }): Item => [
    name,
    new Map([
      ['q', Math.min(limit.requestsPerUnit, INTEGER_MAX)],
      ['w', limit.windowUs / US_PER_S],
    ]),
  ]);
  return { listed, header: serializeList(items) };
}
