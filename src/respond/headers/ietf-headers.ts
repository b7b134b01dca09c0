/** `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-11, with every limit of the request by name. */

import { serializeList, type Item } from 'structured-headers';
import { toSecondsUp, type Header } from '../../decide/decision';
import { durationUntilResetUs } from '../../decide/to-decision';
import type { Limit, ResponseHeaders } from '../../rule/limit';
import type { RequestMatch } from '../../rule/match';
import type { DecidedRequest } from '../decided/response-input';
import type { OpenHeaders } from './header-kind';

/** Most limits listed, in the order of the descriptors: more would exceed the headers that proxies accept. */
export const LISTED_MAX = 32;

/** Most characters of a name. */
export const POLICY_NAME_CHARS_MAX = 64;

const SECOND_US = 1_000_000;

/** A limit of the request, and the index of its verdict. */
interface Listed {
  readonly name: string;
  readonly verdict: number;
}

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
            ['r', found.remaining],
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

function makePolicies({ matches }: RequestMatch, mode: ResponseHeaders): Policies {
  const names = new Names();
  const listed: Listed[] = [];
  const items: Item[] = [];
  let next = 0;
  for (const { limits, path } of matches) {
    for (const limit of limits) {
      const verdict = next++;
      if ((limit.responseHeaders ?? mode) !== 'ietf' || listed.length === LISTED_MAX) continue;
      const name = names.next(nameOf(limit, path));
      listed.push({ name, verdict });
      items.push([
        name,
        new Map([
          ['q', limit.requestsPerUnit],
          ['w', limit.windowUs / SECOND_US],
        ]),
      ]);
    }
  }
  return { listed, header: serializeList(items) };
}

/** The name of the limit, or of its rule, restricted to the characters of a structured field. */
function nameOf({ name }: Limit, path: readonly string[]): string {
  const text = name === '' ? path.join('.') : name;
  return text.slice(0, POLICY_NAME_CHARS_MAX).replace(/[^ -~]/gu, '?');
}

/** Numbers repeated names, so that each stands for one limit. */
class Names {
  private readonly taken = new Map<string, number>();

  next(name: string): string {
    const count = (this.taken.get(name) ?? 0) + 1;
    this.taken.set(name, count);
    return count === 1 ? name : this.next(`${name}#${count}`);
  }
}
