/** A decided request, for tests of what its answer carries: rules of their own and the verdicts on them. */

import { NEVER } from '../../../src/domain/algorithm/engine';
import type { GroupVerdict, Verdict } from '../../../src/domain/bucket/take';
import type { RateLimitRequest } from '../../../src/domain/descriptor/descriptor';
import { markDenials } from '../../../src/domain/decide/denial-rule';
import { toDecision } from '../../../src/domain/decide/to-decision';
import type { DecidedRequest } from '../../../src/domain/respond/decided/decided-request';
import { matchRequest, type GlobalModes, type Match } from '../../../src/domain/rule/match';
import type { Rule } from '../../../src/domain/rule/rule';
import type { RuleSet } from '../../../src/domain/rule/rule-set';
import { entriesOf, levelOf, requestOf, ruleSetOf } from './rules';

export interface Said {
  /** By `key` or `key=value`. */
  readonly rules: Readonly<Record<string, Rule>>;
  /** Of each limit, in the order of the descriptors. */
  readonly verdicts: readonly Verdict[];
  readonly overLimit?: boolean;
  readonly fallback?: true;
  readonly request?: RateLimitRequest;
  readonly modes?: GlobalModes;
}

/** By default a request has one descriptor for each rule. */
export function answeredOf({
  rules,
  verdicts,
  overLimit,
  fallback,
  request = askingFor(rules),
  modes = { shadow: false, quota: false },
}: Said): DecidedRequest {
  const matched = matchRequest({ ruleSet: rulesOf(rules), request, modes });
  const marked = markedVerdicts(matched.matches, verdicts);
  const over = overLimit ?? verdicts.some(({ fits }) => !fits);
  const verdict: GroupVerdict = { overLimit: over, verdicts: marked, nowUs: 0, ...(fallback && { fallback }) };
  return { request, matched, verdict, decision: toDecision(matched, verdict, () => 0) };
}

/** The verdicts with marks at the takes that deny. */
export function markedVerdicts(matches: readonly Match[], verdicts: readonly Verdict[]): Verdict[] {
  const takes = matches.flatMap(({ limits, mode }, descriptor) =>
    limits.map((limit) => ({ bucketKey: '', limit, hits: 1, mode, descriptor })),
  );
  const marked = verdicts.map((verdict) => ({ ...verdict }));
  markDenials({ takes, quotaAlwaysFits: matches.some(({ quotaAlwaysFits }) => quotaAlwaysFits) }, marked);
  return marked;
}

export function rulesOf(rules: Readonly<Record<string, Rule>>): RuleSet {
  const ruleSet = ruleSetOf(levelOf(rules));
  const headerModes = Object.values(rules).flatMap(({ limits }) => limits.flatMap(({ responseHeaders = [] }) => responseHeaders));
  const domains = new Map(Array.from(ruleSet.domains, ([name, domain]) => [name, { ...domain, headerModes }]));
  return { ...ruleSet, domains, generation: 7 };
}

function askingFor(rules: Readonly<Record<string, Rule>>): RateLimitRequest {
  return requestOf(Object.keys(rules).map((name) => ({ entries: entriesOf(name.includes('=') ? name : `${name}=v`) })));
}

export function fits(remaining: number, resetUs = 1_000_000): Verdict {
  return { fits: true, remaining, retryAfterUs: 0, resetAfterUs: resetUs };
}

export function over(retryUs: number, remaining = 0): Verdict {
  return { fits: false, remaining, retryAfterUs: retryUs, resetAfterUs: 60_000_000 };
}

/** More hits than the limit can ever hold. */
export const NEVER_FITS: Verdict = { fits: false, remaining: 3, retryAfterUs: NEVER, resetAfterUs: 2_000_000 };
