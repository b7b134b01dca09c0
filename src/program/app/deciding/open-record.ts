/** Opens the record of decisions: metrics, logs, and whatever else observes each decision. */

import type { Registry } from 'prom-client';
import { monotonicNowMs } from '../../../lib/clock';
import type { FaultLog } from '../../../server/observability/log/fault-log';
import { UnknownDomainLog } from '../../../server/observability/log/unknown-domain-log';
import { UnknownPlanLog } from '../../../server/observability/log/unknown-plan-log';
import type { Metrics } from '../../../server/observability/metrics/metrics';
import { makeRecordDecision } from '../../../server/observability/metrics/record-decision';
import { RuleMetrics } from '../../../server/observability/metrics/rule-metrics';
import { recordInAll } from '../../../server/observability/record-in-all';
import type { Settings } from '../../../configuration/settings/table/settings';
import type { DecidedRequest } from '../../../domain/respond/decided/decided-request';
import type { OpenedControl } from './open-control';
import type { DecidingProcess } from '../context/memory-store';

interface RecordInput extends Pick<DecidingProcess, 'settings' | 'log'> {
  readonly faults: FaultLog;
  readonly metrics: Metrics;
  readonly ruleMetrics: RuleMetrics;
  readonly control: OpenedControl | undefined;
  readonly recorders: Parameters<typeof recordFor>[0];
}

/** Makes the function that is called with every decision. */
export function openRecord({ settings, log, faults, metrics, ruleMetrics, control, recorders }: RecordInput): ReturnType<typeof recordFor> {
  const unknownDomains = new UnknownDomainLog({ log, nowMs: monotonicNowMs });
  const unknownPlans = new UnknownPlanLog({ log, nowMs: monotonicNowMs });
  const recordDecision = makeRecordDecision({
    metrics,
    ruleMetrics,
    globalShadow: settings.shadowMode,
    onUnknownDomain: (domain) => {
      unknownDomains.record(domain);
    },
    onUnknownPlan: (domain, plan) => {
      unknownPlans.record(domain, plan);
    },
    ...(control && { onControl: control.onDecided }),
  });
  return recordFor(recorders, faults, recordDecision);
}

interface Recorder {
  readonly record: (decided: DecidedRequest) => void;
}

/** The metrics come first: they are read most. */
function recordFor(observers: readonly (Recorder | undefined)[], faults: FaultLog, record: Recorder['record']): Recorder['record'] {
  const others = observers
    .filter((each) => each !== undefined)
    .map((each) => (decided: DecidedRequest) => {
      each.record(decided);
    });
  return recordInAll({
    recorders: [record, ...others],
    onError: (error) => {
      faults.error({ err: error }, 'a decision is not recorded');
    },
  });
}

export function openRuleMetrics(registry: Registry, settings: Settings): RuleMetrics {
  const { metricSeriesMax: seriesMax, nearLimitRatio, sanitizeDescriptorMetricDots: sanitizeDots } = settings;
  return new RuleMetrics({ registry, seriesMax, nearLimitRatio, sanitizeDots });
}
