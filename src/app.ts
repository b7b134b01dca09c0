/** The composition root: makes the parts of one process that serves, hands them to each other, and listens. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { monotonicNowMs, monotonicNowUs } from './clock';
import { describeConfig } from './config/describe-rules';
import type { GrpcTlsFiles } from './config/grpc-tls';
import type { RulesInForce } from './config/rules-in-force';
import type { Settings } from './config/settings';
import type { StatsdChoice } from './config/statsd-choice';
import type { StoreChoice } from './config/store-choice';
import { UnavailableError } from './errors';
import { SeldomFaults } from './observability/fault-log';
import { Health } from './observability/health';
import type { Logger } from './observability/logger';
import { makeConfigMetrics, makeMetrics, type ManagementServer, type Metrics } from './observability/metrics';
import { readMetrics } from './observability/reading';
import { makeRecordDecision } from './observability/record-decision';
import { RuleMetrics } from './observability/rule-metrics';
import { measureStore } from './observability/store-measure';
import { GrpcPort } from './open-grpc';
import { countLapsed, openReservations } from './open-reservations';
import type { OpenedStore } from './open-store';
import { publishMetrics, toLabels } from './publish-metrics';
import { MemoryReservations } from './reservation/memory-reservations';
import { additionsFor, type AdditionOptions } from './respond/additions';
import type { RuleSet } from './rule/rule-set';
import { makeShouldRateLimit } from './should-rate-limit';
import { MeasuredStore } from './store/measured-store';
import { MemoryStore } from './store/memory-store';
import { makeAnswerCalls, type FailureKind } from './transport/answer';
import { debugRoutes } from './transport/debug-routes';
import { httpRoutes } from './transport/http-routes';
import { HttpServer } from './transport/http-server';
import { ReservationCalls } from './transport/reservation/reservation-calls';
import { warmUp } from './warm-up/warm-up';
import type { MetricSnapshot, WorkerPorts } from './workers/messages';

export interface AppOptions {
  readonly settings: Settings;
  readonly storeChoice: StoreChoice;
  /** Whoever looks for the configuration hands it in there, before or while it is served by. */
  readonly rules: RulesInForce;
  /** Undefined: the configuration comes from elsewhere, or is looked for by another process. */
  readonly managementServer?: ManagementServer | undefined;
  readonly log: Logger;
  readonly version: string;
  /** Undefined: no TLS on the gRPC port. */
  readonly grpcTls: GrpcTlsFiles | undefined;
  /** The statsd server that is told, if any; not by a worker. */
  readonly statsd: StatsdChoice | undefined;
  /** One of several processes: whoever runs it has the debug port. */
  readonly isWorker: boolean;
  /** Awaited when all is there but the ports. */
  readonly untilMayListen?: () => Promise<void>;
  /** Processes that serve on this machine under these settings. */
  readonly workers: number;
}

export interface App {
  /** The ports it listens on, once port 0 has become a free one; a worker has no debug port. */
  readonly ports: WorkerPorts & { readonly debug?: number };
  /** Turns the health off, answers everything for a while, then what is in flight, and closes everything. */
  drain(): Promise<void>;
  readMetrics(): Promise<MetricSnapshot>;
}

const NO_CONFIG = 'config: none yet';
const NO_DOMAIN = 'config: no domain';
const LAST_GOOD_CONFIG = 'config: last good';

/** With Redis: buckets that are remembered and charged for while it is away, some 90 MB in all if ever full. */
const KEPT_FOR_REDIS = { lastKnownMax: 65_536, accountsMax: 50_000 } as const;
/** More than accounts, so that none loses its bucket. */
const FALLBACK_BUCKETS_MAX = 2 * KEPT_FOR_REDIS.accountsMax;

/** Of the embedded store: some 60 MB if ever full. */
const MEMORY_RESERVATIONS_MAX = 100_000;

/** Wires the parts and listens. Rejects if a port can't be bound. */
export async function startApp(options: AppOptions): Promise<App> {
  const { settings, storeChoice, rules, log, version, isWorker, workers, grpcTls, statsd } = options;
  const registry = new Registry();
  if (!isWorker) registry.setDefaultLabels(toLabels(settings.extraTags));
  const health = new Health();
  const { metricSeriesMax: seriesMax, nearLimitRatio, sanitizeDescriptorMetricDots: sanitizeDots } = settings;
  const ruleMetrics = new RuleMetrics({ registry, seriesMax, nearLimitRatio, sanitizeDots });
  // With Redis it decides only while Redis does not, and as far as the failure modes say so.
  const bucketsMax = storeChoice.kind === 'memory' ? settings.memoryBucketsMax : FALLBACK_BUCKETS_MAX;
  const memoryStore = new MemoryStore({ nowUs: monotonicNowUs, bucketsMax });
  const metrics = makeMetrics({ registry, version, store: storeChoice.kind, memoryStore, rules });
  if (!isWorker) makeConfigMetrics({ registry, loads: rules, managementServer: options.managementServer });
  if (settings.warmUp) await warmUpAndTell({ settings, storeChoice, metrics, log });
  const { store, reservations, leave }: OpenedStore =
    storeChoice.kind === 'memory'
      ? openMemoryStore(memoryStore, metrics)
      // Some 11 MB of client and what is wrapped around it, which the embedded store does without.
      : await (await import('./open-store.js')).openStore({ settings, workers, choice: storeChoice, health, log, metrics, local: memoryStore, onLapsed: countLapsed(metrics), ...KEPT_FOR_REDIS });
  const deciding = {
    ruleSet: () => inForce(rules),
    store,
    modes: { shadow: settings.shadowMode, quota: settings.quotaMode },
    keyPrefix: settings.cacheKeyPrefix,
    nowUs: monotonicNowUs,
    record: makeRecordDecision({ metrics, ruleMetrics, globalShadow: settings.shadowMode }),
  };
  const shouldRateLimit = makeShouldRateLimit({ ...deciding, additions: (ruleSet) => additionsFor(ruleSet, additionOptions(settings)) });
  const { service, sweeper } = openReservations({ ...deciding, reservations, metrics, rules });
  const onFailure = (kind: FailureKind): void => { metrics.shouldRateLimitError.inc({ err_type: ERROR_TYPES[kind] }); };
  const faults = new SeldomFaults({ log, nowMs: monotonicNowMs });
  const answerCalls = makeAnswerCalls({ decide: shouldRateLimit, log: faults, onFailure });
  const reservationCalls = new ReservationCalls({ service, answerCalls, log: faults });

  const responseTimes = metrics.responseTime.with({ grpc_method: 'ShouldRateLimit' });
  const grpc = new GrpcPort({
    settings,
    tlsFiles: grpcTls,
    isWorker,
    log,
    faults,
    metrics,
    answerCalls,
    reservationCalls,
    health,
    onFailure,
    onCall: ({ seconds }) => { responseTimes.observe(seconds); },
  });
  const http = new HttpServer({ ...httpRoutes({ answerCalls, reservationCalls, health }), log: faults });
  const published = publishedBy(registry);
  const debug = isWorker ? undefined : new HttpServer({ routes: debugRoutes({ configLines: () => describeConfig(rules), metrics: published }), log: faults });
  const unpublish = isWorker ? undefined : await publishMetrics({ settings, statsd, metrics: published, registry, log });

  await options.untilMayListen?.();
  sweeper.start();
  followConfig({ rules, health, settings });
  const ports = {
    grpc: await grpc.start(),
    http: (await http.start({ host: settings.host, port: settings.port })).port,
    ...(debug && { debug: (await debug.start({ host: settings.debugHost, port: settings.debugPort })).port }),
  };
  return {
    ports,
    drain: async () => {
      const bound = { timeoutMs: settings.drainTimeoutMs };
      health.startDrain();
      // Whoever asks for the health goes elsewhere; who has not asked yet is still answered.
      await sleep(settings.drainDelayMs);
      await Promise.all([grpc.drain(bound), http.close(bound), debug?.close(bound)]);
      sweeper.stop();
      await leave();
      await Promise.all([store.close(), unpublish?.()]);
    },
    readMetrics: () => published.read(),
  };
}

function publishedBy(registry: Registry) {
  return { contentType: registry.contentType, metrics: () => registry.metrics(), read: () => readMetrics(registry) };
}

function inForce({ ruleSet }: RulesInForce): RuleSet {
  if (ruleSet === undefined) throw new UnavailableError('there is no configuration yet; see the log of the rate limit service');
  return ruleSet;
}

/** The health is on from the first good configuration on, whatever comes after it; if it needs one with a domain in it, as long as that is in force. */
function followConfig({ rules, health, settings }: Pick<AppOptions, 'rules' | 'settings'> & { readonly health: Health }): void {
  const needsDomain = settings.healthyWithAtLeastOneConfigLoaded;
  const mayDoWithout = settings.forceStartWithoutInitialConfig && !needsDomain;
  const show = (): void => {
    const hasRules = rules.ruleSet !== undefined;
    const isEmpty = rules.ruleSet?.domains.size === 0;
    if (needsDomain && isEmpty) health.hold();
    else if (hasRules || mayDoWithout) health.serve();
    health.show(NO_CONFIG, { isDegraded: !hasRules });
    health.show(NO_DOMAIN, { isDegraded: needsDomain && isEmpty });
    health.show(LAST_GOOD_CONFIG, { isDegraded: hasRules && rules.error !== undefined });
  };
  show();
  rules.onLoad(show);
}

function openMemoryStore(memoryStore: MemoryStore, metrics: Metrics): OpenedStore {
  return {
    store: new MeasuredStore(memoryStore, measureStore(metrics, 'memory')),
    reservations: new MemoryReservations({ store: memoryStore, nowUs: monotonicNowUs, recordsMax: MEMORY_RESERVATIONS_MAX, onLapsed: countLapsed(metrics) }),
    leave: () => Promise.resolve(),
  };
}

/** Before there is anything that it could keep waiting. */
async function warmUpAndTell({ settings, storeChoice, metrics, log }: Pick<AppOptions, 'settings' | 'storeChoice' | 'log'> & { readonly metrics: Metrics }): Promise<void> {
  const { calls, ms } = await warmUp({ transport: settings.transport, counts: storeChoice.kind, metrics });
  log.debug(`warmed up by ${calls} calls in ${ms.toFixed(0)} ms`);
}

/** `err_type` as the reference counts: what Redis is to blame for, and everything else. */
const ERROR_TYPES: Readonly<Record<FailureKind, string>> = {
  bad_request: 'service_error',
  unavailable: 'redis_error',
  fault: 'service_error',
};

function additionOptions(settings: Settings): AdditionOptions {
  const { limitLimitHeader: limit, limitRemainingHeader: remaining, limitResetHeader: reset } = settings;
  return {
    responseHeaders: settings.responseHeaders ?? (settings.limitResponseHeadersEnabled ? 'reference' : 'off'),
    headerNames: { limit, remaining, reset },
    retryAfter: settings.retryAfterEnabled,
    requestMetadata: settings.responseDynamicMetadata,
    decisionMetadata: settings.responseDecisionMetadata,
  };
}
