/** The names by which clients know limits: of the limit itself, otherwise of its rule. */

import { POLICY_NAME_CHARS_MAX } from '../../rule/body/placeholders';
import type { Limit } from '../../rule/limit';
import type { RequestMatch } from '../../rule/match';

/** Most limits listed, in the order of the descriptors: more would exceed the headers that proxies accept. */
export const LISTED_MAX = 32;

/** A limit of the request under its name, and the index of its verdict. */
export interface Listed {
  readonly name: string;
  readonly verdict: number;
  readonly limit: Limit;
}

/** The limits with their names; repeated names are numbered, so that each stands for one limit. */
export function listPolicies({ matches }: Pick<RequestMatch, 'matches'>, isListed: (limit: Limit) => boolean): readonly Listed[] {
  const names = new Names();
  const listed: Listed[] = [];
  let next = 0;
  for (const { limits, path } of matches) {
    for (const limit of limits) {
      const verdict = next++;
      if (!isListed(limit) || listed.length === LISTED_MAX) continue;
      listed.push({ name: names.next(policyName(limit, path)), verdict, limit });
    }
  }
  return listed;
}

/** The name of the limit, or of its rule, restricted to the characters of a structured field. */
export function policyName({ name }: Limit, path: readonly string[]): string {
  const text = name === '' ? path.join('.') : name;
  return text.slice(0, POLICY_NAME_CHARS_MAX).replace(/[^ -~]/gu, '?');
}

class Names {
  private readonly taken = new Map<string, number>();

  next(name: string): string {
    const count = (this.taken.get(name) ?? 0) + 1;
    this.taken.set(name, count);
    return count === 1 ? name : this.next(`${name}#${count}`);
  }
}
