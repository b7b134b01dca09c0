/** Counts a decision in the metrics. */

import type { ByteString } from '../../../domain/descriptor/descriptor';
import type { CandidateVerdict } from '../../../domain/decide/decision';
import type { PlanInForce } from '../../../domain/rule/choose-plan';
import type { SelectedRecord } from '../../../domain/rule/control-view';
import type { Limit } from '../../../domain/rule/limit';
import type { Match } from '../../../domain/rule/match';
import type { Decided } from '../../../should-rate-limit';
import type { Metrics } from './metrics';
import type { RuleMetrics } from './rule-metrics';
import { RulePaths, showsValues } from './rule-path';

export interface RecordParts {
  readonly metrics: Pick<Metrics, 'globalShadowMode'>;
  readonly ruleMetrics: RuleMetrics;
  /** `SHADOW_MODE`. */
  readonly globalShadow: boolean;
  /** Called for each request with an unknown domain. */
  readonly onUnknownDomain?: (domain: ByteString) => void;
  /** Called for each descriptor of a tenant whose plan the configuration does not have. */
  readonly onUnknownPlan?: (domain: ByteString, plan: ByteString) => void;
  /** Called for each descriptor and each record of control data that decided it. */
  readonly onControl?: (kind: SelectedRecord['kind']) => void;
}

const NO_CANDIDATES: readonly CandidateVerdict[] = [];

const NO_RECORDS: readonly SelectedRecord[] = [];

/** The returned function runs for every request: it builds no text for a rule without `detailed_metric` or `value_to_metric`. */
export function makeRecordDecision({
  metrics,
  ruleMetrics,
  globalShadow,
  onUnknownDomain,
  onUnknownPlan,
  onControl,
}: RecordParts): (decided: Decided) => void {
  const shownPaths = new RulePaths();
  const { plans } = ruleMetrics;
  const recordPlan = (domain: ByteString, { plan, unknownPlan }: PlanInForce, isOver: boolean): void => {
    plans.record(domain, plan, { isOver });
    if (unknownPlan === undefined) return;
    plans.recordUnknown(domain);
    onUnknownPlan?.(domain, unknownPlan);
  };
  return ({ request, matched, verdict, decision }) => {
    if (onControl !== undefined) {
      for (const { control = NO_RECORDS } of matched.matches)
        for (const { kind, candidate } of control) if (candidate !== true) onControl(kind);
    }
    if (!matched.domainFound) {
      ruleMetrics.recordUnknownDomain(request.domain);
      onUnknownDomain?.(request.domain);
      return;
    }
    let unmatched = 0;
    const denied = decision.overallCode === 'OVER_LIMIT';
    for (let i = 0; i < decision.statuses.length; i += 1) {
      const status = decision.statuses[i];
      const match = matched.matches[i];
      const descriptor = request.descriptors[i];
      if (match?.path.length === 0) unmatched += 1;
      if (match?.plan !== undefined && match.block === undefined) recordPlan(request.domain, match.plan, status?.code === 'OVER_LIMIT');
      if (match === undefined || descriptor === undefined || status?.currentLimit === undefined) continue;
      const { currentLimit, fits, limitRemaining, debt = 0, cut = 0 } = status;
      const { rule } = match;
      const shows = rule !== undefined && showsValues(rule);
      ruleMetrics.record({
        domain: request.domain,
        path: shows ? shownPaths.of(match, { rule, entries: descriptor.entries }) : match.path,
        sent: shows || rule === undefined,
        hits: descriptor.hits ?? request.hits,
        fits,
        remaining: limitRemaining,
        capacity: currentLimit.capacity,
        shadow: match.mode === 'shadow',
        cached: decision.cached === true,
        denied,
        isReport: isFact(match, { limit: currentLimit, hits: descriptor.hits }),
        debt,
        cut,
      });
    }
    for (const { descriptor: i, fits } of decision.candidates ?? NO_CANDIDATES) {
      const descriptor = request.descriptors[i];
      const match = matched.matches[i];
      if (descriptor === undefined || match?.rule === undefined) continue;
      const { rule } = match;
      const shows = showsValues(rule);
      const path = shows ? shownPaths.of(match, { rule, entries: descriptor.entries }) : match.path;
      ruleMetrics.recordCandidate({ domain: request.domain, path, sent: shows, hits: descriptor.hits ?? request.hits, fits });
    }
    if (unmatched > 0) ruleMetrics.recordUnmatched(request.domain, unmatched);
    if (globalShadow && verdict.verdicts.some(({ denies }) => denies === true)) metrics.globalShadowMode.inc();
  };
}

/** Whether the hits count whatever the answer is: those of a usage report, and the end of a request in flight. */
function isFact({ inFlight }: Match, { limit, hits }: { readonly limit: Limit; readonly hits: number | undefined }): boolean {
  if (hits === undefined) return false;
  return inFlight !== undefined && hits < 0 ? true : limit.overdraft !== undefined;
}
