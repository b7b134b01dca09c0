/** The path of a request: match its descriptors to rules, key their buckets, decide them all at once, respond. */

import { toGroup } from './bucket/to-group';
import type { Group, GroupVerdict, OutsideWindows } from './bucket/take';
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
  /** This process's clock, in microseconds since 1970: a guess at the store's, good enough to name calendar windows. */
  readonly nowUs: () => number;
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
  const { ruleSet, store, modes, keyPrefix, nowUs, record } = parts;
  return async function shouldRateLimit(request, options) {
    const matched = matchRequest({ ruleSet: ruleSet(), request, modes });
    const verdict = await decide({
      store,
      options,
      nowUs: nowUs(),
      groupAt: (atUs) => toGroup({ request, matched, keyPrefix, shadow: modes.shadow, nowUs: atUs }),
    });
    const decision = toDecision(matched, verdict);
    record({ request, matched, decision });
    return decision;
  };
}

/** Asks the store, and once more if its clock lies outside the calendar windows that were named to it. */
async function decide({ store, groupAt, options, nowUs }: DecideInput): Promise<GroupVerdict> {
  const outcome = await takeOne(store, groupAt(nowUs), options);
  if (!('outsideAtUs' in outcome)) return outcome;
  const again = await takeOne(store, groupAt(outcome.outsideAtUs), options);
  if ('outsideAtUs' in again) throw new Error('the store asked for other calendar windows twice');
  return again;
}

async function takeOne(store: Store, group: Group, options: TakeOptions): Promise<GroupVerdict | OutsideWindows> {
  if (group.takes.length === 0) return NOTHING_TAKEN;
  const [outcome] = await store.take([group], options);
  if (outcome === undefined) throw new Error('the store answered no outcome for a group');
  if (outcome instanceof Error) throw outcome;
  return outcome;
}

interface DecideInput {
  readonly store: Store;
  readonly groupAt: (atUs: number) => Group;
  readonly options: TakeOptions;
  readonly nowUs: number;
}
