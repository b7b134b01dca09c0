/** The path of a request: match its descriptors to rules, key their buckets, decide them all at once, respond. */

import { Preparation, type Prepared } from './bucket/preparation';
import type { Group, GroupVerdict, OutsideWindows } from './bucket/take';
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
    const verdicts = await decide(asked, { preparation, options });
    return asked.map((each, i) => (each instanceof Error ? each : respond(each, verdicts[i], add)));
  };

  /** The verdict on each, in their order; all that ask for something are one call of the store. */
  async function decide(asked: readonly (Prepared | Error)[], context: AskContext): Promise<readonly Verdict[]> {
    const groups: Group[] = [];
    for (const each of asked) if (isForStore(each)) groups.push(each.group);
    const outcomes = groups.length === 0 ? NO_OUTCOMES : await store.take(groups, context.options);
    const verdicts = new Array<Verdict>(asked.length);
    const again: Promise<void>[] = [];
    let next = 0;
    for (const [i, each] of asked.entries()) {
      if (!isForStore(each)) {
        verdicts[i] = NOTHING_TAKEN;
        continue;
      }
      const outcome = outcomes[next];
      next += 1;
      if (outcome === undefined || !('outsideAtUs' in outcome)) verdicts[i] = outcome;
      else again.push(askAgain(each, outcome, context).then((verdict) => { verdicts[i] = verdict; }));
    }
    if (again.length > 0) await Promise.all(again);
    return verdicts;
  }

  /** The store's clock lies outside the calendar windows that were named to it: it is asked once more. */
  async function askAgain({ request, matched }: Prepared, { outsideAtUs }: OutsideWindows, { preparation, options }: AskContext): Promise<Verdict> {
    const group = preparation.groupAt(request, matched, () => outsideAtUs);
    const [outcome] = await store.take([group], options).catch((error: unknown) => [asError(error)]);
    return outcome !== undefined && 'outsideAtUs' in outcome ? new Error('the store asked for other calendar windows twice') : outcome;
  }

  function respond({ request, matched }: Prepared, verdict: Verdict, add: Add | undefined): Outcome {
    if (verdict === undefined) return new Error('the store answered no outcome for a group');
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

/** Undefined: the store said nothing of it. */
type Verdict = GroupVerdict | Error | undefined;

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

function isForStore(asked: Prepared | Error): asked is Prepared {
  return !(asked instanceof Error) && asked.group.takes.length > 0;
}

/** The preparation for the rules in force: another rule set knows nothing of what an earlier one has found out. */
function preparing({ ruleSet, additions, ...rest }: ShouldRateLimitParts): () => UnderRules {
  let prepared: UnderRules | undefined;
  return () => {
    const inForce = ruleSet();
    if (prepared?.preparation.ruleSet !== inForce) {
      prepared = { preparation: new Preparation({ ...rest, ruleSet: inForce }), add: additions?.(inForce) };
    }
    return prepared;
  };
}

/** What is found out once for a rule set. */
interface UnderRules {
  readonly preparation: Preparation;
  readonly add: Add | undefined;
}
