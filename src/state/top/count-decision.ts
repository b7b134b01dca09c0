/** Counts a decision in the top keys. */

import type { Descriptor, RateLimitRequest } from '../../domain/descriptor/descriptor';
import type { CandidateVerdict } from '../../domain/decide/decision';
import type { Match, RequestMatch } from '../../domain/rule/match';
import type { DecidedRequest } from '../../domain/respond/decided/response-input';
import type { KeyHits, LiveOwner, SeenKey } from './counters';
import { copyOf } from './key-text';
import { NO_HINTS, type LiveKeys, type OwnerInput } from './live-keys';
import { SHARE_MAX } from './nearest-keys';
import { hashOfKey } from './space-saving';

/** What is counted of a decided request. */
export type Counted = Pick<DecidedRequest, 'request' | 'matched' | 'decision'>;

export interface CountDecisionParts {
  readonly keys: LiveKeys;
  /** `NEAR_LIMIT_RATIO`: keys are near their limit from this used share on. */
  readonly nearLimitRatio: number;
}

const NO_CANDIDATES: readonly CandidateVerdict[] = [];

/** The returned function runs for every request. For one that recurs it builds no text and allocates nothing. */
export function makeCountDecision({ keys, nearLimitRatio }: CountDecisionParts): (decided: Counted) => void {
  const owners = new WeakMap<readonly string[], LiveOwner>();
  const known = new WeakMap<RequestMatch, (SeenKey | undefined)[]>();
  let last: { readonly path: readonly string[]; readonly owner: LiveOwner } | undefined;
  // Filled again for each descriptor, so that no call allocates them.
  let fresh: SeenKey | undefined;
  let decided: KeyHits | undefined;

  return ({ request, matched, decision }) => {
    const { statuses } = decision;
    const isDenied = decision.overallCode === 'OVER_LIMIT';
    const seen = request.recurs === true ? (known.get(matched) ?? remember(matched)) : undefined;
    for (let i = 0; i < statuses.length; i += 1) {
      const status = statuses[i];
      const descriptor = request.descriptors[i];
      const match = matched.matches[i];
      if (status?.currentLimit === undefined || descriptor === undefined || match === undefined) continue;
      const { currentLimit: limit, limitRemaining: remaining, denies } = status;
      const hits = descriptor.hits ?? request.hits;
      if (hits <= 0) continue;
      const share = isDenied || !status.fits ? 0 : usedShare(remaining, limit.capacity);
      const near = share >= nearLimitRatio ? Math.floor(share * SHARE_MAX) : 0;
      if (decided === undefined) decided = { hits, limit, remaining, denies, share: near };
      else {
        decided.hits = hits;
        decided.limit = limit;
        decided.remaining = remaining;
        decided.denies = denies;
        decided.share = near;
      }
      keys.count(
        seen === undefined ? freshKey({ request, match, descriptor }) : (seen[i] ??= keptKey({ request, match, descriptor })),
        decided,
      );
    }
    for (const { descriptor: i, limit, fits } of decision.candidates ?? NO_CANDIDATES) {
      const descriptor = request.descriptors[i];
      const match = matched.matches[i];
      if (fits || descriptor === undefined || match === undefined) continue;
      const hits = descriptor.hits ?? request.hits;
      if (hits <= 0) continue;
      const key = seen === undefined ? freshKey({ request, match, descriptor }) : (seen[i] ??= keptKey({ request, match, descriptor }));
      keys.countCandidate(key, { hits, limit, remaining: 0, denies: false, share: 0 });
    }
  };

  function remember(matched: RequestMatch): (SeenKey | undefined)[] {
    const seen = new Array<SeenKey | undefined>(matched.matches.length).fill(undefined);
    known.set(matched, seen);
    return seen;
  }

  function keptKey(input: KeyInput): SeenKey {
    const { owner, key, hash } = freshKey(input);
    return { owner, key: copyOf(key), hash, isCopy: true, ...NO_HINTS };
  }

  function freshKey({ request, match, descriptor: { entries } }: KeyInput): SeenKey {
    const owner = ownerOf(match, { domain: request.domain, entries });
    const key = owner.form.keyOf(entries);
    const hash = hashOfKey(key);
    if (fresh === undefined) return (fresh = { owner, key, hash, isCopy: false, ...NO_HINTS });
    fresh.owner = owner;
    fresh.key = key;
    fresh.hash = hash;
    return fresh;
  }

  function ownerOf({ path, rule }: Match, { domain, entries }: Pick<OwnerInput, 'domain' | 'entries'>): LiveOwner {
    if (last?.path === path) return last.owner;
    const owner = owners.get(path) ?? keys.ownerOf({ domain, path, entries, rule });
    owners.set(path, owner);
    last = { path, owner };
    return owner;
  }
}

interface KeyInput {
  readonly request: RateLimitRequest;
  readonly match: Match;
  readonly descriptor: Descriptor;
}

function usedShare(remaining: number, capacity: number): number {
  return capacity === 0 ? 0 : Math.min(1, Math.max(0, 1 - remaining / capacity));
}
