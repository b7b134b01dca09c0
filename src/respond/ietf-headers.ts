/** `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-11: every limit of the request, by its name. */

import { serializeList, type Item } from 'structured-headers';
import { toSecondsUp, type Header } from '../engine/decision';
import { durationUntilResetUs } from '../engine/to-decision';
import type { Limit, ResponseHeaders } from '../rule/limit';
import type { RequestMatch } from '../rule/match';
import type { Answered } from './answered';

/** Limits that are listed, in the order of the descriptors: what is beyond would be more header than proxies take. */
export const LISTED_MAX = 32;

/** Characters of a name that are shown. */
export const POLICY_NAME_CHARS_MAX = 64;

const SECOND_US = 1_000_000;

/** A limit of the request, and which verdict is on it. */
interface Listed {
  readonly name: string;
  readonly verdict: number;
}

interface Policies {
  readonly listed: readonly Listed[];
  /** The value of `RateLimit-Policy`. */
  readonly header: string;
}

export class IetfHeaders {
  /** A request that comes again has the same matches, and so the same policies. */
  private readonly known = new WeakMap<RequestMatch, Policies>();

  /** `mode`: of limits that do not say. */
  constructor(private readonly mode: ResponseHeaders) {}

  /** None if no limit is to be shown so. */
  of({ matched, verdict }: Answered): Header[] {
    const { listed, header } = this.policiesOf(matched);
    const items = listed.flatMap(({ name, verdict: index }): Item[] => {
      const found = verdict.verdicts[index];
      if (found === undefined) return [];
      return [[name, new Map([['r', found.remaining], ['t', toSecondsUp(durationUntilResetUs(found))]])]];
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
      items.push([name, new Map([['q', limit.requestsPerUnit], ['w', limit.windowUs / SECOND_US]])]);
    }
  }
  return { listed, header: serializeList(items) };
}

/** The limit's name, else its rule's, of the characters that a string of a structured field can have. */
function nameOf({ name }: Limit, path: readonly string[]): string {
  const text = name === '' ? path.join('.') : name;
  return text.slice(0, POLICY_NAME_CHARS_MAX).replace(/[^ -~]/gu, '?');
}

/** A name that is taken gets a number: each stands for one limit. */
class Names {
  private readonly taken = new Map<string, number>();

  next(name: string): string {
    const count = (this.taken.get(name) ?? 0) + 1;
    this.taken.set(name, count);
    return count === 1 ? name : this.next(`${name}#${count}`);
  }
}
