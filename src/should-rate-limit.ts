/** The path of a request: match its descriptors to rules, key their buckets, decide them all at once, respond. */

import { toGroup } from './bucket/to-group';
import type { Group, GroupVerdict } from './bucket/take';
import type { RateLimitRequest } from './descriptor/descriptor';
import type { Decision } from './engine/decision';
import { NOTHING_TAKEN, toDecision } from './engine/to-decision';
import { matchRequest, type GlobalModes, type RequestMatch } from './rule/match';
import type { RuleSet } from './rule/rule-set';
import type { Store, TakeOptions } from './store/store';

/** Answers one request; `docs/architecture.md` draws every way out. */
export type Decide = (request: RateLimitRequest, options: TakeOptions) => Promise<Decision>;

export interface ShouldRateLimitParts {
  /** The rules in force just now. */
  readonly ruleSet: () => RuleSet;
  readonly store: Store;
  readonly modes: GlobalModes;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** Told of every decision, for metrics. */
  readonly record: (decided: Decided) => void;
}

export interface Decided {
  readonly request: RateLimitRequest;
  readonly matched: RequestMatch;
  readonly decision: Decision;
}

/**
 * The returned function throws BadRequestError for a request that makes no sense, and StoreError when the store can't
 * decide.
 */
export function makeShouldRateLimit(parts: ShouldRateLimitParts): Decide {
  const { ruleSet, store, modes, keyPrefix, record } = parts;
  return async function shouldRateLimit(request, options) {
    const matched = matchRequest({ ruleSet: ruleSet(), request, modes });
    const group = toGroup({ request, matched, keyPrefix, shadow: modes.shadow });
    const verdict = await decide({ store, group, options });
    const decision = toDecision(matched, verdict);
    record({ request, matched, decision });
    return decision;
  };
}

async function decide({ store, group, options }: DecideInput): Promise<GroupVerdict> {
  if (group.takes.length === 0) return NOTHING_TAKEN;
  const [outcome] = await store.take([group], options);
  if (outcome === undefined) throw new Error('the store answered no outcome for a group');
  if (outcome instanceof Error) throw outcome;
  return outcome;
}

interface DecideInput {
  readonly store: Store;
  readonly group: Group;
  readonly options: TakeOptions;
}
