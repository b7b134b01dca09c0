/** What a decision adds to the metrics. */

import type { Decision } from '../engine/decision';
import type { Limit } from '../rule/limit';
import type { Match, RequestMatch } from '../rule/match';
import type { Decided } from '../should-rate-limit';
import type { Metrics } from './metrics';
import type { RuleMetrics } from './rule-metrics';
import { ShownPaths, showsValues } from './shown-path';

export interface RecordParts {
  readonly metrics: Pick<Metrics, 'globalShadowMode'>;
  readonly ruleMetrics: RuleMetrics;
  /** `SHADOW_MODE`. */
  readonly globalShadow: boolean;
}

/** The returned function is called for every request: for a rule without `detailed_metric` and the like it makes no text. */
export function makeRecordDecision({ metrics, ruleMetrics, globalShadow }: RecordParts): (decided: Decided) => void {
  const shownPaths = new ShownPaths();
  return ({ request, matched, decision }) => {
    if (!matched.domainFound) {
      ruleMetrics.recordUnknownDomain(request.domain);
      return;
    }
    let unmatched = 0;
    const denied = decision.overallCode === 'OVER_LIMIT';
    for (let i = 0; i < decision.statuses.length; i += 1) {
      const status = decision.statuses[i];
      const match = matched.matches[i];
      const descriptor = request.descriptors[i];
      if (match?.path.length === 0) unmatched += 1;
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
    if (unmatched > 0) ruleMetrics.recordUnmatched(request.domain, unmatched);
    if (globalShadow && wouldBeDenied(decision, matched)) metrics.globalShadowMode.inc();
  };
}

/** Whether the hits hold whatever the answer is: a usage report's, and the end of a request in flight. */
function isFact({ inFlight }: Match, { limit, hits }: { readonly limit: Limit; readonly hits: number | undefined }): boolean {
  if (hits === undefined) return false;
  return inFlight !== undefined && hits < 0 ? true : limit.overdraft !== undefined;
}

/** What the overall code would be without `SHADOW_MODE`, by the rule of the store. */
function wouldBeDenied({ statuses }: Decision, { matches }: RequestMatch): boolean {
  const over = matches.filter((_, i) => statuses[i]?.code === 'OVER_LIMIT');
  if (over.some(({ mode }) => mode === 'enforced')) return true;
  const quotas = matches.filter(({ mode, limits, quotaAlwaysFits }) => quotaAlwaysFits || (mode === 'quota' && limits.length > 0));
  return over.length > 0 && over.length === quotas.length;
}
