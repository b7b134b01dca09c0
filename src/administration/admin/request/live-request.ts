/** A request as the admin API asks about it: matched by the rules in force, and its buckets, read without a charge. */

import type { Group, Take, Verdict } from '../../../domain/bucket/take';
import { candidatesOf, toGroup } from '../../../domain/bucket/to-group';
import { toByteString } from '../../../domain/descriptor/byte-string';
import type { RateLimitRequest } from '../../../domain/descriptor/descriptor';
import { US_PER_MS } from '../../../lib/time-units';
import type { AmountForm } from '../../../lib/text/amount';
import { BadRequestError } from '../../../lib/errors';
import { readLevels } from '../../../state/fair/read-levels';
import { matchRequest, type FairLevels, type MatchInput, type RequestMatch } from '../../../domain/rule/match';
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
  /** By bucket key, how people read the hits; without those that are read as hits. */
  readonly forms: ReadonlyMap<string, AmountForm>;
}

/**
 * How limits of the request are divided among members now.
 *
 * @throws AdminProblem if the request is invalid, or the store cannot answer
 */
export async function levelsOf(request: RateLimitRequest, backend: AdminBackend): Promise<FairLevels> {
  const { matched } = groupOf(request, backend, { control: backend.controlView, admitsAll: true });
  return readLevels({ request, matched, board: backend.demand, nowUs: backend.nowMs() * US_PER_MS });
}

/** The takes of the request, as a decision would make them. */
export function groupOf(
  request: RateLimitRequest,
  backend: AdminBackend,
  view: Pick<MatchInput, 'control' | 'fair' | 'admitsAll'> = { control: backend.controlView },
): NamedGroup {
  const { ruleSet } = currentRules(backend);
  const { modes, keyPrefix } = backend.rules;
  try {
    const matched = matchRequest({ ruleSet, request, modes, ...view });
    const group = toGroup({ request, matched, keyPrefix, shadow: modes.shadow, nowUs: () => backend.nowMs() * 1_000 });
    const { takes } = group;
    const limits = [...matched.matches.flatMap((match) => match.limits), ...candidatesOf(matched.matches).map(({ limit }) => limit)];
    const forms = limits.flatMap(({ show }, i): [string, AmountForm][] => (show === undefined ? [] : [[takes[i]?.bucketKey ?? '', show]]));
    return { group, matched, takes, names: limits.map(({ name }) => name), forms: new Map(forms) };
  } catch (error) {
    throw error instanceof BadRequestError ? new AdminProblem('invalid', error.message) : error;
  }
}

export interface LiveBucket {
  readonly take: Take;
  readonly verdict: Verdict;
  /** The store's clock, in microseconds since 1970. */
  readonly nowUs: number;
  /** How people read the hits. Absent: as hits. */
  readonly form?: AmountForm;
}

/** The state of each bucket of the takes, in their order, without a charge. */
export async function readBuckets(
  takes: readonly Take[],
  backend: AdminBackend,
  forms: NamedGroup['forms'] = new Map(),
): Promise<readonly LiveBucket[]> {
  if (takes.length === 0) return [];
  const verdicts = await backend.buckets.take(takes.map(checkOf));
  return takes.map((take, i) => {
    const outcome = verdicts[i];
    const [verdict] = outcome?.verdicts ?? [];
    if (outcome === undefined || verdict === undefined)
      throw new AdminProblem('unavailable', 'the store cannot read a bucket now; try again');
    const form = forms.get(take.bucketKey);
    return { take, verdict, nowUs: outcome.nowUs, ...(form && { form }) };
  });
}

/** Checks the bucket for one hit, and charges nothing. */
export function checkOf({ bucketKey, limit }: Take): Group {
  return { takes: [{ bucketKey, limit, hits: 0, mode: 'enforced', descriptor: 0 }], quotaAlwaysFits: false, shadow: false, dry: true };
}
