/** Counts a decision in the top keys. */

import { copyOf } from '../../domain/descriptor/byte-string';
import type { Descriptor, RateLimitRequest } from '../../domain/descriptor/descriptor';
import type { CandidateVerdict, DescriptorStatus } from '../../domain/decide/decision';
import type { Limit } from '../../domain/rule/limit';
import type { Match, RequestMatch } from '../../domain/rule/match';
import { countedEntries } from '../../domain/descriptor/last-entry';
import type { DecidedRequest } from '../../domain/respond/decided/decided-request';
import type { KeyHits, LiveOwner, SeenKey } from './counters';
import { NO_HINTS, type LiveKeys, type OwnerInput } from './live-keys';
import { SHARE_MAX } from './nearest-keys';
import { hashOfKey } from './space-saving';

/** The parts of a decided request that are counted. */
export type Counted = Pick<DecidedRequest, 'request' | 'matched' | 'decision'>;

export interface CountDecisionParts {
  readonly keys: LiveKeys;
  /** `NEAR_LIMIT_RATIO`: keys are near their limit from this used share on. */
  readonly nearLimitRatio: number;
}

/** The returned function runs for every request. For one that recurs it builds no text and allocates nothing. */
export function makeCountDecision(parts: CountDecisionParts): (decided: Counted) => void {
  const counter = new DecisionCounter(parts);
  return (decided) => {
    counter.count(decided);
  };
}

class DecisionCounter {
  private readonly owners = new WeakMap<readonly string[], LiveOwner>();
  private readonly known = new WeakMap<RequestMatch, (SeenKey | undefined)[]>();
  private last: { readonly path: readonly string[]; readonly owner: LiveOwner } | undefined;
  // Filled again for each descriptor, so that no call allocates them.
  private fresh: SeenKey | undefined;
  private hits: KeyHits | undefined;

  constructor(private readonly parts: CountDecisionParts) {}

  count(decided: Counted): void {
    const { request, matched, decision } = decided;
    const seen = request.recurs === true ? (this.known.get(matched) ?? this.remember(matched)) : undefined;
    this.countStatuses(decided, seen);
    if (decision.candidates !== undefined) this.countCandidates(decided, decision.candidates, seen);
  }

  private countStatuses({ request, matched, decision }: Counted, seen: SeenKeys): void {
    const { statuses } = decision;
    const isDenied = decision.overallCode === 'OVER_LIMIT';
    for (let i = 0; i < statuses.length; i += 1) {
      const status = statuses[i];
      const descriptor = request.descriptors[i];
      const match = matched.matches[i];
      if (status?.currentLimit === undefined || descriptor === undefined || match === undefined) continue;
      const hits = descriptor.hits ?? request.hits;
      if (hits <= 0) continue;
      const share = isDenied || !status.fits ? 0 : usedShare(status.limitRemaining, status.currentLimit.capacity);
      const near = share >= this.parts.nearLimitRatio ? Math.floor(share * SHARE_MAX) : 0;
      const key = seen?.[i] ?? this.keyOf({ request, match, descriptor }, i, seen);
      this.parts.keys.count(key, this.hitsOf(status, status.currentLimit, hits, near));
      if (match.stage?.part === 'candidate' && !status.fits) this.countDeniedByCandidate(key, hits, status.currentLimit);
    }
  }

  private countCandidates({ request, matched }: Counted, candidates: readonly CandidateVerdict[], seen: SeenKeys): void {
    for (const { descriptor: i, limit, fits } of candidates) {
      const descriptor = request.descriptors[i];
      const match = matched.matches[i];
      if (fits || descriptor === undefined || match === undefined) continue;
      const hits = descriptor.hits ?? request.hits;
      if (hits <= 0) continue;
      const key = seen?.[i] ?? this.keyOf({ request, match, descriptor }, i, seen);
      this.countDeniedByCandidate(key, hits, limit);
    }
  }

  private countDeniedByCandidate(key: SeenKey, hits: number, limit: Limit): void {
    this.parts.keys.countCandidate(key, { hits, limit, remaining: 0, denies: false, share: 0 });
  }

  private hitsOf({ limitRemaining: remaining, denies }: DescriptorStatus, limit: Limit, hits: number, near: number): KeyHits {
    if (this.hits === undefined) return (this.hits = { hits, limit, remaining, denies, share: near });
    this.hits.hits = hits;
    this.hits.limit = limit;
    this.hits.remaining = remaining;
    this.hits.denies = denies;
    this.hits.share = near;
    return this.hits;
  }

  private remember(matched: RequestMatch): (SeenKey | undefined)[] {
    const seen = new Array<SeenKey | undefined>(matched.matches.length).fill(undefined);
    this.known.set(matched, seen);
    return seen;
  }

  private keyOf(input: KeyInput, i: number, seen: SeenKeys): SeenKey {
    return seen === undefined ? this.freshKey(input) : (seen[i] = this.keptKey(input));
  }

  private keptKey(input: KeyInput): SeenKey {
    const { owner, key, hash } = this.freshKey(input);
    return { owner, key: copyOf(key), hash, isCopy: true, ...NO_HINTS };
  }

  private freshKey({ request, match, descriptor }: KeyInput): SeenKey {
    const entries = countedEntries(descriptor.entries, match);
    const owner = this.ownerOf(match, { domain: request.domain, entries });
    const key = owner.form.keyOf(entries);
    const hash = hashOfKey(key);
    if (this.fresh === undefined) return (this.fresh = { owner, key, hash, isCopy: false, ...NO_HINTS });
    this.fresh.owner = owner;
    this.fresh.key = key;
    this.fresh.hash = hash;
    return this.fresh;
  }

  private ownerOf({ path, rule }: Match, { domain, entries }: Pick<OwnerInput, 'domain' | 'entries'>): LiveOwner {
    if (this.last?.path === path) return this.last.owner;
    const owner = this.owners.get(path) ?? this.parts.keys.ownerOf({ domain, path, entries, rule });
    this.owners.set(path, owner);
    this.last = { path, owner };
    return owner;
  }
}

/** The keys of a request that recurs, by descriptor; undefined: it does not recur. */
type SeenKeys = (SeenKey | undefined)[] | undefined;

interface KeyInput {
  readonly request: RateLimitRequest;
  readonly match: Match;
  readonly descriptor: Descriptor;
}

function usedShare(remaining: number, capacity: number): number {
  return capacity === 0 ? 0 : Math.min(1, Math.max(0, 1 - remaining / capacity));
}
