/** The path of a request: match its descriptors to rules, key their buckets, decide them all at once, respond. */

import { Preparation } from './bucket/preparation';
import type { GroupVerdict, OutsideWindows } from './bucket/take';
import type { RateLimitRequest } from './descriptor/descriptor';
import type { Decision } from './engine/decision';
import { NOTHING_TAKEN, toDecision } from './engine/to-decision';
import type { GlobalModes, RequestMatch } from './rule/match';
import type { Add } from './respond/additions';
import type { RuleSet } from './rule/rule-set';
import type { GroupOutcome, Store, TakeOptions } from './store/store';

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
  /** What answers under a rule set carry besides their codes; undefined: nothing. */
  readonly additions?: (ruleSet: RuleSet) => Add | undefined;
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
  const { store, record } = parts;
  const inForce = preparing(parts);
  return async function shouldRateLimit(request, options) {
    const { preparation, add } = inForce();
    const { matched, group } = preparation.of(request);
    const outcome = group.takes.length === 0 ? NOTHING_TAKEN : only(await store.take([group], options));
    const verdict = 'outsideAtUs' in outcome ? await askAgain(outcome, { preparation, request, matched, options }) : outcome;
    const decision = toDecision(matched, verdict);
    record({ request, matched, decision });
    return add === undefined ? decision : add({ request, matched, verdict, decision });
  };

  /** The store's clock lies outside the calendar windows that were named to it: it is asked once more. */
  async function askAgain({ outsideAtUs }: OutsideWindows, { preparation, request, matched, options }: Asked): Promise<GroupVerdict> {
    const group = preparation.groupAt(request, matched, () => outsideAtUs);
    const outcome = only(await store.take([group], options));
    if ('outsideAtUs' in outcome) throw new Error('the store asked for other calendar windows twice');
    return outcome;
  }
}

interface Asked {
  readonly preparation: Preparation;
  readonly request: RateLimitRequest;
  readonly matched: RequestMatch;
  readonly options: TakeOptions;
}

/** The preparation for the rules in force: another rule set knows nothing of what an earlier one has found out. */
function preparing({ ruleSet, additions, ...rest }: ShouldRateLimitParts): () => Prepared {
  let prepared: Prepared | undefined;
  return () => {
    const inForce = ruleSet();
    if (prepared?.preparation.ruleSet !== inForce) {
      prepared = { preparation: new Preparation({ ...rest, ruleSet: inForce }), add: additions?.(inForce) };
    }
    return prepared;
  };
}

/** What is found out once for a rule set. */
interface Prepared {
  readonly preparation: Preparation;
  readonly add: Add | undefined;
}

/** The outcome of the one group that was asked for. */
function only(outcomes: readonly GroupOutcome[]): GroupVerdict | OutsideWindows {
  const outcome = outcomes[0];
  if (outcome === undefined) throw new Error('the store answered no outcome for a group');
  if (outcome instanceof Error) throw outcome;
  return outcome;
}
