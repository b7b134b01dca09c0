/** Admission: a domain refuses requests that lack a required entry, or have no descriptor that matches a rule. */

import type { ByteString, RateLimitRequest } from './descriptor';

/** The requests that a domain admits to its limits. */
export interface Admission {
  /** `require`: keys of entries that a request must have, each with a value that is not empty, in any of its descriptors. */
  readonly required: readonly ByteString[];
  /** `unmatched: deny`. */
  readonly deniesUnmatched: boolean;
}

/** Why a request is refused. */
export interface Refusal {
  readonly reason: 'missing_entry' | 'unmatched';
  /** The first required key that is missing. */
  readonly key?: ByteString;
  /** The descriptor whose status shows the refusal. */
  readonly descriptor: number;
}

/** The part of a match that admission looks at. */
interface Matched {
  /** Empty: no rule matches. */
  readonly path: readonly string[];
  /** The records of control data that decide, such as a pass. */
  readonly control?: readonly unknown[] | undefined;
}

/** Undefined: the request is admitted. A request that only gives back takes nothing, so it always is. */
export function refusalOf(
  { required, deniesUnmatched }: Admission,
  request: RateLimitRequest,
  matches: readonly Matched[],
): Refusal | undefined {
  const { descriptors } = request;
  const descriptor = descriptors.findIndex(({ hits = request.hits }) => hits >= 0);
  if (descriptor < 0) return undefined;
  for (const key of required) if (!hasEntry(request, key)) return { reason: 'missing_entry', key, descriptor };
  const isUnmatched = deniesUnmatched && matches.every(({ path, control }) => path.length === 0 && control === undefined);
  return isUnmatched ? { reason: 'unmatched', descriptor } : undefined;
}

function hasEntry({ descriptors }: RateLimitRequest, key: ByteString): boolean {
  for (const { entries } of descriptors) for (const entry of entries) if (entry.key === key && entry.value !== '') return true;
  return false;
}
