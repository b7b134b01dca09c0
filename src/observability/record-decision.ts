/** What a decision adds to the metrics. */

import type { Decided } from '../should-rate-limit';
import type { Metrics } from './metrics';
import type { DescriptorRecord, RuleMetrics } from './rule-metrics';

export function recordDecision({ decided, metrics, ruleMetrics }: RecordInput): void {
  const { request, matched, decision } = decided;
  if (!matched.domainFound) {
    metrics.domainNotFound.inc();
    return;
  }
  const records: DescriptorRecord[] = [];
  for (let i = 0; i < decision.statuses.length; i += 1) {
    const [status, match] = [decision.statuses[i], matched.matches[i]];
    if (match === undefined || status?.currentLimit === undefined) continue;
    const { currentLimit, fits, limitRemaining } = status;
    records.push({
      domain: request.domain,
      path: match.path,
      hits: request.descriptors[i]?.hits ?? request.hits,
      fits,
      remaining: limitRemaining,
      capacity: currentLimit.capacity,
      shadow: match.mode === 'shadow',
      cached: decision.cached === true,
    });
  }
  ruleMetrics.record(records, { denied: decision.overallCode === 'OVER_LIMIT' });
}

interface RecordInput {
  readonly decided: Decided;
  readonly metrics: Metrics;
  readonly ruleMetrics: RuleMetrics;
}
