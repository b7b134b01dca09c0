/** The path of a request: match its descriptors to rules, key their buckets, decide them all at once, respond. */

import { Preparation, type Prepared } from './bucket/preparation';
import type { Group, OutsideWindows } from './bucket/take';
import type { RateLimitRequest } from './descriptor/descriptor';
import type { Decision } from './engine/decision';
import { NOTHING_TAKEN, toDecision } from './engine/to-decision';
import { asError } from './errors';
import type { GlobalModes, RequestMatch } from './rule/match';
import type { Add } from './respond/additions';
import type { RuleSet } from './rule/rule-set';
import type { GroupOutcome, Store, TakeOptions } from './store/store';

/** What became of a request: its decision, or why there is none. */
export type Outcome = Decision | Error;

/**
 * Decides requests that came together, each by itself, and resolves to what became of them in their order;
 * `docs/architecture.md` draws every way out. Rejects with what all of them failed of.
 */
export type Decide = (requests: readonly RateLimitRequest[], options: TakeOptions) => Promise<readonly Outcome[]>;

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
 * The returned function answers BadRequestError for a request that makes no sense, and StoreError for one that the store
 * can't decide; it rejects with a StoreError when that is so of all.
 */
export function makeShouldRateLimit(parts: ShouldRateLimitParts): Decide {
  const { store, record } = parts;
  const inForce = preparing(parts);
  return async function shouldRateLimit(requests, options) {
    const { preparation, add } = inForce();
    const asked = requests.map((request) => prepare(request, preparation));
    const groups = groupsOf(asked);
    const outcomes = groups.length === 0 ? NO_OUTCOMES : await store.take(groups, options);
    const verdicts = verdictsOf(asked, outcomes);
    // Only of calendar limits, and seldom: no other call pays for a further promise.
    if (verdicts.some(isOutside)) await askAgain(asked, verdicts, { preparation, options });
    return asked.map((each, i) => (each instanceof Error ? each : respond(each, verdicts[i], add)));
  };

  /** The store's clock lies outside the calendar windows that were named to it: it is asked anew, around its own time. */
  async function askAgain(asked: readonly (Prepared | Error)[], verdicts: Verdict[], { preparation, options }: AskContext): Promise<void> {
    const again = verdicts.map(async (verdict, i) => {
      const each = asked[i];
      if (!isOutside(verdict) || each === undefined || each instanceof Error) return;
      let outcome: Verdict = verdict;
      for (let asks = 1; isOutside(outcome) && asks < ASKS_MAX; asks += 1) {
        const { outsideAtUs } = outcome;
        const group = preparation.groupAt(each.request, each.matched, () => outsideAtUs);
        [outcome] = await store.take([group], options).catch((error: unknown) => [asError(error)]);
      }
      verdicts[i] = isOutside(outcome) ? new Error(`the store asked for other calendar windows ${ASKS_MAX} times`) : outcome;
    });
    await Promise.all(again);
  }

  function respond({ request, matched }: Prepared, verdict: Verdict, add: Add | undefined): Outcome {
    if (verdict === undefined || isOutside(verdict)) return new Error('the store answered no outcome for a group');
    if (verdict instanceof Error) return verdict;
    try {
      const decision = toDecision(matched, verdict);
      record({ request, matched, decision });
      return add === undefined ? decision : add({ request, matched, verdict, decision });
    } catch (error) {
      // The others have been charged: they are answered.
      return asError(error);
    }
  }
}

/** What the store said of a request; undefined: nothing. */
type Verdict = GroupOutcome | Error | undefined;

/**
 * A store that is away is decided for by this process's clock, and when it is back by its own: so far apart, each change between two
 * asks costs one more.
 */
const ASKS_MAX = 4;

const NO_OUTCOMES: readonly GroupOutcome[] = [];

interface AskContext {
  readonly preparation: Preparation;
  readonly options: TakeOptions;
}

/** Match and key. */
function prepare(request: RateLimitRequest, preparation: Preparation): Prepared | Error {
  try {
    return preparation.of(request);
  } catch (error) {
    return asError(error);
  }
}

/** The groups of the requests in which something is limited: the store is asked for no other. */
function groupsOf(asked: readonly (Prepared | Error)[]): Group[] {
  const groups: Group[] = [];
  for (const each of asked) if (isForStore(each)) groups.push(each.group);
  return groups;
}

/** In the order of the requests; of those that ask for nothing, that nothing was taken. */
function verdictsOf(asked: readonly (Prepared | Error)[], outcomes: readonly GroupOutcome[]): Verdict[] {
  let next = -1;
  return asked.map((each) => {
    if (!isForStore(each)) return NOTHING_TAKEN;
    next += 1;
    return outcomes[next];
  });
}

function isForStore(asked: Prepared | Error): asked is Prepared {
  return !(asked instanceof Error) && asked.group.takes.length > 0;
}

function isOutside(verdict: Verdict): verdict is OutsideWindows {
  return verdict !== undefined && 'outsideAtUs' in verdict;
}

/** The preparation for the rules in force: another rule set knows nothing of what an earlier one has found out. */
function preparing({ ruleSet, additions, ...rest }: ShouldRateLimitParts): () => UnderRules {
  let prepared: UnderRules | undefined;
  return () => {
    const inForce = ruleSet();
    if (prepared?.preparation.ruleSet !== inForce) {
      prepared = { preparation: new Preparation({ ruleSet: inForce, ...rest }), add: additions?.(inForce) };
    }
    return prepared;
  };
}

/** What is found out once for a rule set. */
interface UnderRules {
  readonly preparation: Preparation;
  readonly add: Add | undefined;
}
