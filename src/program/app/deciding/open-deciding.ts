/** Opens the parts of a process that decides, in the service and in the library: its store, its record of decisions, and what answers get besides. */

import type { Registry } from 'prom-client';
import { monotonicNowMs, monotonicNowUs } from '../../../lib/clock';
import { UnavailableError } from '../../../lib/errors';
import type { ByteString } from '../../../domain/descriptor/descriptor';
import type { Health } from '../../../server/observability/health';
import type { FaultLog } from '../../../server/observability/log/fault-log';
import type { Logger } from '../../../server/observability/log/logger';
import { UnknownDomainLog } from '../../../server/observability/log/unknown-domain-log';
import { UnknownPlanLog } from '../../../server/observability/log/unknown-plan-log';
import type { Metrics } from '../../../server/observability/metrics/metrics';
import { makeRecordDecision } from '../../../server/observability/metrics/record-decision';
import { RuleMetrics } from '../../../server/observability/metrics/rule-metrics';
import { measureStore } from '../../../server/observability/metrics/store-measure';
import { recordInAll } from '../../../server/observability/record-in-all';
import { MemoryReservations } from '../../../state/reservation/memory-reservations';
import type { AdditionOptions } from '../../../domain/respond/response-additions';
import type { RuleSet } from '../../../domain/rule/rule-set';
import type { Settings } from '../../../configuration/settings/table/settings';
import type { Decided } from '../../../should-rate-limit';
import type { RulesInForce } from '../../../configuration/source/rules-in-force';
import { MeasuredStore } from '../../../state/store/layers/measured-store';
import type { MemoryStore } from '../../../state/store/memory/memory-store';
import type { OpenedControl } from './open-control';
import { KEPT_FOR_REDIS, type DecidingProcess } from '../context/memory-store';
import { countLapsed } from './open-reservations';
import type { OpenedStore } from './open-store';

/** Bound of the embedded store: about 60 MB if full. */
const MEMORY_RESERVATIONS_MAX = 100_000;
const MEMORY_RESERVATIONS_BYTES_MAX = 64 * 1024 * 1024;

interface RecordInput extends Pick<DecidingProcess, 'settings' | 'log'> {
  readonly faults: FaultLog;
  readonly metrics: Metrics;
  readonly ruleMetrics: RuleMetrics;
  readonly control: OpenedControl | undefined;
  readonly recorders: Parameters<typeof recordFor>[0];
}

/** Makes the function that is called with every decision. */
export function openRecord({ settings, log, faults, metrics, ruleMetrics, control, recorders }: RecordInput): ReturnType<typeof recordFor> {
  const recordDecision = makeRecordDecision({
    metrics,
    ruleMetrics,
    globalShadow: settings.shadowMode,
    onUnknownDomain: logUnknownDomains(log),
    onUnknownPlan: logUnknownPlans(log),
    ...(control && { onControl: control.onDecided }),
  });
  return recordFor(recorders, faults, recordDecision);
}

interface Recorder {
  readonly record: (decided: Decided) => void;
}

/** The metrics come first: they are read most. */
function recordFor(observers: readonly (Recorder | undefined)[], faults: FaultLog, record: Recorder['record']): Recorder['record'] {
  const others = observers
    .filter((each) => each !== undefined)
    .map((each) => (decided: Decided) => {
      each.record(decided);
    });
  return recordInAll({
    recorders: [record, ...others],
    onError: (error) => {
      faults.error({ err: error }, 'a decision is not recorded');
    },
  });
}

function logUnknownDomains(log: Logger): (domain: ByteString) => void {
  const unknown = new UnknownDomainLog({ log, nowMs: monotonicNowMs });
  return (domain) => {
    unknown.record(domain);
  };
}

function logUnknownPlans(log: Logger): (domain: ByteString, plan: ByteString) => void {
  const unknown = new UnknownPlanLog({ log, nowMs: monotonicNowMs });
  return (domain, plan) => {
    unknown.record(domain, plan);
  };
}

export function openRuleMetrics(registry: Registry, settings: Settings): RuleMetrics {
  const { metricSeriesMax: seriesMax, nearLimitRatio, sanitizeDescriptorMetricDots: sanitizeDots } = settings;
  return new RuleMetrics({ registry, seriesMax, nearLimitRatio, sanitizeDots });
}

/** @throws UnavailableError if there are none yet */
export function inForce({ ruleSet }: RulesInForce): RuleSet {
  if (ruleSet === undefined) throw new UnavailableError('there is no configuration yet; see the log of the rate limit service');
  return ruleSet;
}

interface OpenAnyStoreInput extends DecidingProcess {
  readonly health: Health;
  readonly metrics: Metrics;
  readonly memoryStore: MemoryStore;
}

export async function openAnyStore({
  settings,
  storeChoice: choice,
  workers,
  log,
  health,
  metrics,
  memoryStore,
}: OpenAnyStoreInput): Promise<OpenedStore> {
  if (choice.kind === 'memory') return openMemoryStore(memoryStore, metrics);
  // Imported on demand: the Redis client and its wrappers take about 11 MB, which the embedded store does not need.
  const { openStore } = await import('./open-store.js');
  return openStore({
    settings,
    workers,
    choice,
    health,
    log,
    metrics,
    local: memoryStore,
    onLapsed: countLapsed(metrics),
    ...KEPT_FOR_REDIS,
  });
}

function openMemoryStore(memoryStore: MemoryStore, metrics: Metrics): OpenedStore {
  return {
    store: new MeasuredStore(memoryStore, measureStore(metrics, 'memory')),
    reservations: new MemoryReservations({
      store: memoryStore,
      nowUs: monotonicNowUs,
      recordsMax: MEMORY_RESERVATIONS_MAX,
      bytesMax: MEMORY_RESERVATIONS_BYTES_MAX,
      onLapsed: countLapsed(metrics),
    }),
    leave: () => Promise.resolve(),
  };
}

/** As the settings ask for them. */
export function additionOptions(settings: Settings): AdditionOptions {
  const { limitLimitHeader: limit, limitRemainingHeader: remaining, limitResetHeader: reset } = settings;
  return {
    responseHeaders: settings.responseHeaders ?? (settings.limitResponseHeadersEnabled ? 'reference' : 'off'),
    headerNames: { limit, remaining, reset },
    headerForms: { limit: settings.limitLimitForm, reset: settings.limitResetForm },
    retryAfter: settings.retryAfterEnabled,
    retryAfterMs: settings.retryAfterMsEnabled,
    responseBody: settings.responseBody,
    requestMetadata: settings.responseDynamicMetadata,
    decisionMetadata: settings.responseDecisionMetadata,
  };
}
