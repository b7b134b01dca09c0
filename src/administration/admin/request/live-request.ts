/** A request as the admin API asks about it: matched by the rules in force, and its buckets, read without a charge. */

import type { Group, Take, Verdict } from '../../../domain/bucket/take';
import { candidatesOf, toGroup } from '../../../domain/bucket/to-group';
import { toByteString } from '../../../domain/descriptor/byte-string';
import type { RateLimitRequest } from '../../../domain/descriptor/descriptor';
import { BadRequestError } from '../../../lib/errors';
import { matchRequest, type MatchInput, type RequestMatch } from '../../../domain/rule/match';
import type { AdminBackend, CurrentRules } from '../backend';
import { AdminProblem } from '../problem';

export interface RequestBody {
  readonly domain: string;
  readonly descriptors: readonly { readonly entries: readonly { readonly key: string; readonly value: string }[] }[];
}

/** With one hit for each descriptor. */
export function toRequest({ domain, descriptors }: RequestBody): RateLimitRequest {
  return {
    domain: toByteString(domain),
    descriptors: descriptors.map(({ entries }) => ({
      entries: entries.map(({ key, value }) => ({ key: toByteString(key), value: toByteString(value) })),
    })),
    hits: 1,
  };
}

/** @throws AdminProblem if none is loaded yet */
export function currentRules({ rules }: AdminBackend): CurrentRules {
  const current = rules.current();
  if (current === undefined) throw new AdminProblem('unavailable', 'no configuration is loaded yet; see the log');
  return current;
}

export interface NamedGroup {
  readonly group: Group;
  readonly matched: RequestMatch;
  readonly takes: readonly Take[];
  /** The name of the limit of each take. */
  readonly names: readonly string[];
}

/** The takes of the request, as a decision would make them. */
export function groupOf(
  request: RateLimitRequest,
  backend: AdminBackend,
  view: Pick<MatchInput, 'control' | 'admitsAll'> = { control: backend.controlView },
): NamedGroup {
  const { ruleSet } = currentRules(backend);
  const { modes, keyPrefix } = backend.rules;
  try {
    const matched = matchRequest({ ruleSet, request, modes, ...view });
    const group = toGroup({ request, matched, keyPrefix, shadow: modes.shadow, nowUs: () => backend.nowMs() * 1_000 });
    const names = matched.matches.flatMap(({ limits }) => limits.map(({ name }) => name));
    const ofCandidates = candidatesOf(matched.matches).map(({ limit }) => limit.name);
    return { group, matched, takes: group.takes, names: [...names, ...ofCandidates] };
  } catch (error) {
    throw error instanceof BadRequestError ? new AdminProblem('invalid', error.message) : error;
  }
}

export interface LiveBucket {
  readonly take: Take;
  readonly verdict: Verdict;
  /** The store's clock, in microseconds since 1970. */
  readonly nowUs: number;
}

/** The state of each bucket of the takes, in their order, without a charge. */
export async function readBuckets(takes: readonly Take[], backend: AdminBackend): Promise<readonly LiveBucket[]> {
  if (takes.length === 0) return [];
  const verdicts = await backend.buckets.take(takes.map(checkOf));
  return takes.map((take, i) => {
    const outcome = verdicts[i];
    const [verdict] = outcome?.verdicts ?? [];
    if (outcome === undefined || verdict === undefined)
      throw new AdminProblem('unavailable', 'the store cannot read a bucket now; try again');
    return { take, verdict, nowUs: outcome.nowUs };
  });
}

/** Checks the bucket for one hit, and charges nothing. */
export function checkOf({ bucketKey, limit }: Take): Group {
  return { takes: [{ bucketKey, limit, hits: 0, mode: 'enforced', descriptor: 0 }], quotaAlwaysFits: false, shadow: false, dry: true };
}
