/** Counts a decision in the metrics. */

import type { ByteString } from '../../../domain/descriptor/descriptor';
import type { CandidateVerdict } from '../../../domain/decide/decision';
import type { PlanInForce } from '../../../domain/rule/choose-plan';
import type { SelectedRecord } from '../../../domain/rule/control-view';
import type { Limit } from '../../../domain/rule/limit';
import type { Match } from '../../../domain/rule/match';
import type { DecidedRequest } from '../../../domain/respond/decided/decided-request';
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

const NO_RECORDS: readonly SelectedRecord[] = [];

/** The returned function runs for every request: it builds no text for a rule without `detailed_metric` or `value_to_metric`. */
export function makeRecordDecision(parts: RecordParts): (decided: DecidedRequest) => void {
  const recorder = new DecisionRecorder(parts);
  return (decided) => {
    recorder.record(decided);
  };
}

class DecisionRecorder {
  private readonly shownPaths = new RulePaths();

  constructor(private readonly parts: RecordParts) {}

  record(decided: DecidedRequest): void {
    const { metrics, ruleMetrics, globalShadow, onUnknownDomain, onControl } = this.parts;
    const { request, matched, verdict, decision } = decided;
    if (onControl !== undefined) recordControl(matched.matches, onControl);
    if (!matched.domainFound) {
      ruleMetrics.recordUnknownDomain(request.domain);
      onUnknownDomain?.(request.domain);
      return;
    }
    let unmatched = 0;
    for (let i = 0; i < decision.statuses.length; i += 1) {
      if (matched.matches[i]?.path.length === 0) unmatched += 1;
      this.recordStatus(decided, i);
    }
    if (decision.candidates !== undefined) this.recordCandidates(decided, decision.candidates);
    if (unmatched > 0) ruleMetrics.recordUnmatched(request.domain, unmatched);
    if (matched.refusal !== undefined) ruleMetrics.recordRefused(request.domain, matched.refusal.reason);
    if (globalShadow && verdict.verdicts.some(({ denies }) => denies === true)) metrics.globalShadowMode.inc();
  }

  private recordStatus({ request, matched, decision }: DecidedRequest, i: number): void {
    const status = decision.statuses[i];
    const match = matched.matches[i];
    const descriptor = request.descriptors[i];
    if (match?.plan !== undefined && match.block === undefined)
      this.recordPlan(request.domain, match.plan, { isOver: status?.code === 'OVER_LIMIT' });
    if (match === undefined || descriptor === undefined || status?.currentLimit === undefined) return;
    // A refused request without a rule has no series but that of refusals.
    if (match.block?.refusal !== undefined && match.rule === undefined) return;
    const { currentLimit, fits, limitRemaining, debt = 0, cut = 0 } = status;
    const hits = descriptor.hits ?? request.hits;
    if (match.stage !== undefined && match.block === undefined) this.parts.ruleMetrics.rollouts.record(match.stage, { hits, fits });
    const { rule } = match;
    const shows = rule !== undefined && showsValues(rule);
    this.parts.ruleMetrics.record({
      domain: request.domain,
      path: shows ? this.shownPaths.of(match, { rule, entries: descriptor.entries }) : match.path,
      sent: shows || rule === undefined,
      hits,
      fits,
      remaining: limitRemaining,
      capacity: currentLimit.capacity,
      shadow: match.mode === 'shadow',
      cached: decision.cached === true,
      denied: decision.overallCode === 'OVER_LIMIT',
      isReport: isFact(match, { limit: currentLimit, hits: descriptor.hits }),
      debt,
      cut,
    });
  }

  private recordPlan(domain: ByteString, { plan, unknownPlan }: PlanInForce, count: { readonly isOver: boolean }): void {
    const { plans } = this.parts.ruleMetrics;
    plans.record(domain, plan, count);
    if (unknownPlan === undefined) return;
    plans.recordUnknown(domain);
    this.parts.onUnknownPlan?.(domain, unknownPlan);
  }

  private recordCandidates({ request, matched }: DecidedRequest, candidates: readonly CandidateVerdict[]): void {
    for (const { descriptor: i, fits } of candidates) {
      const descriptor = request.descriptors[i];
      const match = matched.matches[i];
      if (descriptor === undefined || match?.rule === undefined) continue;
      const { rule } = match;
      const shows = showsValues(rule);
      const path = shows ? this.shownPaths.of(match, { rule, entries: descriptor.entries }) : match.path;
      const hits = descriptor.hits ?? request.hits;
      this.parts.ruleMetrics.recordCandidate({ domain: request.domain, path, sent: shows, hits, fits });
    }
  }
}

function recordControl(matches: readonly Match[], onControl: (kind: SelectedRecord['kind']) => void): void {
  for (const { control = NO_RECORDS } of matches) for (const { kind, candidate } of control) if (candidate !== true) onControl(kind);
}

/** Whether the hits count whatever the answer is: those of a usage report, and the end of a request in flight. */
function isFact({ inFlight }: Match, { limit, hits }: { readonly limit: Limit; readonly hits: number | undefined }): boolean {
  if (hits === undefined) return false;
  return inFlight !== undefined && hits < 0 ? true : limit.overdraft !== undefined;
}
