/** The path of a request: match its descriptors to rules, key their buckets, decide them all at once, respond. */

import type { RateLimitRequest } from './domain/descriptor/descriptor';
import type { Decision } from './domain/decide/decision';
import { toDecision } from './domain/decide/to-decision';
import { asError } from './lib/errors';
import { isOutsideWindows } from './domain/bucket/take';
import { askAgain } from './state/request/ask-again';
import { groupsOf, pairVerdicts, type StoreVerdict } from './state/request/pair-verdicts';
import { Preparation, type Prepared } from './state/request/preparation';
import { SampledRequests, type RequestTraces } from './state/request/request-trace';
import type { Add } from './domain/respond/response-additions';
import type { DecidedRequest } from './domain/respond/decided/decided-request';
import type { ControlView } from './domain/rule/control-view';
import type { FairLevels, GlobalModes } from './domain/rule/match';
import type { RuleSet } from './domain/rule/rule-set';
import type { GroupOutcome, Store, TakeOptions } from './state/store/port/store';

/** The result for a request: its decision, or an error. */
export type Outcome = Decision | Error;

export interface DecideOptions extends Pick<TakeOptions, 'timeoutMs'> {
  /** Absent: none of the requests is sampled. */
  readonly traces?: RequestTraces | undefined;
}

/**
 * Decides requests that arrived together, each on its own, and resolves to their results in order;
 * `docs/architecture.md` draws every path. Rejects if the store can decide none of them.
 */
export type Decide = (requests: readonly RateLimitRequest[], options: DecideOptions) => Promise<readonly Outcome[]>;

export interface ShouldRateLimitParts {
  /** The current rules. */
  readonly ruleSet: () => RuleSet;
  readonly store: Store;
  readonly modes: GlobalModes;
  /** The changes of operators while Weir runs. Absent: control data are off. */
  readonly control?: ControlView | undefined;
  /** How limits are divided among members. Absent: members may use whole limits. */
  readonly fair?: FairLevels | undefined;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** This process's clock, in microseconds since 1970: an estimate of the store's clock, to name calendar windows. */
  readonly nowUs: () => number;
  /** Adds headers and metadata to answers under a rule set; undefined: nothing to add. */
  readonly additions?: (ruleSet: RuleSet) => Add | undefined;
  /** Called with every decision to update metrics. */
  readonly record: (decided: DecidedRequest) => void;
}

/**
 * The returned function answers BadRequestError for an invalid request, and StoreError for one that the store
 * cannot decide; it rejects with a StoreError if the store can decide none.
 */
export function makeShouldRateLimit(parts: ShouldRateLimitParts): Decide {
  const { store, record, nowUs } = parts;
  const rulesInForce = preparing(parts);
  return async function shouldRateLimit(requests, call) {
    const { traces } = call;
    if (traces !== undefined) for (const trace of traces) trace?.begin();
    const { preparation, add } = rulesInForce();
    const prepared = requests.map((request) => matchAndKey(request, preparation));
    const groups = groupsOf(prepared);
    const options = traces === undefined ? call : tracedOptions(call, SampledRequests.of(prepared, traces));
    const outcomes = groups.length === 0 ? NO_OUTCOMES : await store.take(groups, options);
    const verdicts = pairVerdicts(prepared, outcomes);
    // Only for calendar limits, and rarely, so other calls do not pay for another promise.
    if (verdicts.some(isOutsideWindows)) await askAgain(prepared, verdicts, { store, preparation, options });
    const answered = prepared.map((each, i) => (each instanceof Error ? each : respond(each, verdicts[i], add)));
    if (traces !== undefined) endTraces(traces, { requests, prepared, answered });
    return answered;
  };

  function respond({ request, matched }: Prepared, verdict: StoreVerdict, add: Add | undefined): Outcome {
    if (verdict === undefined || isOutsideWindows(verdict)) return new Error('the store answered no outcome for a group');
    if (verdict instanceof Error) return verdict;
    try {
      const decision = toDecision(matched, verdict, nowUs);
      const decided: DecidedRequest = { request, matched, verdict, decision };
      record(decided);
      return add === undefined ? decision : add(decided);
    } catch (error) {
      // Other requests of the call are already charged, so they still get their answers.
      return asError(error);
    }
  }
}

const NO_OUTCOMES: readonly GroupOutcome[] = [];

function tracedOptions({ timeoutMs }: DecideOptions, trace: SampledRequests): TakeOptions {
  return timeoutMs === undefined ? { trace } : { timeoutMs, trace };
}

interface EndTracesInput {
  readonly requests: readonly RateLimitRequest[];
  readonly prepared: readonly (Prepared | Error)[];
  readonly answered: readonly Outcome[];
}

function endTraces(traces: RequestTraces, { requests, prepared, answered }: EndTracesInput): void {
  for (let i = 0; i < traces.length; i += 1) {
    const trace = traces[i];
    if (trace === undefined) continue;
    const [request, each, outcome] = [requests[i], prepared[i], answered[i]];
    if (request === undefined || each === undefined || outcome === undefined) continue;
    trace.end({ request, matched: each instanceof Error ? undefined : each.matched, outcome });
  }
}

function matchAndKey(request: RateLimitRequest, preparation: Preparation): Prepared | Error {
  try {
    return preparation.of(request);
  } catch (error) {
    return asError(error);
  }
}

/** Created once for each rule set. */
interface UnderRules {
  readonly preparation: Preparation;
  readonly add: Add | undefined;
}

/** The preparation for the rules in force, which starts empty for a new rule set. */
function preparing({ ruleSet, additions, ...rest }: ShouldRateLimitParts): () => UnderRules {
  let underRules: UnderRules | undefined;
  return () => {
    const inForce = ruleSet();
    if (underRules?.preparation.ruleSet !== inForce) {
      underRules = { preparation: new Preparation({ ruleSet: inForce, ...rest }), add: additions?.(inForce) };
    }
    return underRules;
  };
}
