/** The composition root: the only file that knows every part, and which wraps which. */

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
import { StoreLog } from './observability/store-log';
import { GrpcPort } from './open-grpc';
import type { OpenedRedis } from './open-redis';
import { publishMetrics, toLabels } from './publish-metrics';
import { HEARTBEAT_TTL_MS, Instances } from './resilience/instances';
import { additionsFor, type AdditionOptions } from './respond/additions';
import type { RuleSet } from './rule/rule-set';
import { makeShouldRateLimit } from './should-rate-limit';
import { slotOf, SLOTS } from './store/cluster-slots';
import { MeasuredStore, type StoreMeasure } from './store/measured-store';
import { MemoryStore } from './store/memory-store';
import { OneByOneStore } from './store/one-by-one-store';
import { isPerSecond, PerSecondStore } from './store/per-second-store';
import { SplitStore, type SplitStoreOptions } from './store/split-store';
import { StoreError, type Store } from './store/store';
import { makeAnswerCalls, type FailureKind } from './transport/answer';
import { debugRoutes } from './transport/debug-routes';
import { httpRoutes } from './transport/http-routes';
import { HttpServer } from './transport/http-server';
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
const DEGRADED_REDIS = 'degraded: redis';
const DEGRADED_REDIS_PER_SECOND = 'degraded: redis per second';

/** With Redis: buckets that are remembered and charged for while it is away, some 90 MB in all if ever full. */
const LAST_KNOWN_MAX = 65_536;
const ACCOUNTS_MAX = 50_000;
/** More than accounts, so that none loses its bucket. */
const FALLBACK_BUCKETS_MAX = 2 * ACCOUNTS_MAX;

const INSTANCES_MAX = 1_000;

/** How long a process that ends waits for Redis to hear of it, in milliseconds. */
const LEAVE_MS = 100;

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
  const { store, leave } =
    storeChoice.kind === 'memory'
      ? { store: new MeasuredStore(memoryStore, measureBy(metrics, 'memory')), leave: undefined }
      : await openStore({ settings, workers, choice: storeChoice, health, log, metrics, local: memoryStore });
  const shouldRateLimit = makeShouldRateLimit({
    ruleSet: () => inForce(rules),
    store,
    modes: { shadow: settings.shadowMode, quota: settings.quotaMode },
    keyPrefix: settings.cacheKeyPrefix,
    nowUs: monotonicNowUs,
    additions: (ruleSet) => additionsFor(ruleSet, additionOptions(settings)),
    record: makeRecordDecision({ metrics, ruleMetrics, globalShadow: settings.shadowMode }),
  });
  const onFailure = (kind: FailureKind): void => {
    metrics.shouldRateLimitError.inc({ err_type: ERROR_TYPES[kind] });
  };
  const faults = new SeldomFaults({ log, nowMs });
  const answerCalls = makeAnswerCalls({ decide: shouldRateLimit, log: faults, onFailure });

  const responseTimes = metrics.responseTime.with({ grpc_method: 'ShouldRateLimit' });
  const grpc = new GrpcPort({
    settings,
    tlsFiles: grpcTls,
    isWorker,
    log,
    faults,
    metrics,
    answerCalls,
    health,
    onFailure,
    onCall: ({ seconds }) => { responseTimes.observe(seconds); },
  });
  const http = new HttpServer({ routes: httpRoutes({ answerCalls, health }), log: faults });
  const published = { contentType: registry.contentType, metrics: () => registry.metrics(), read: () => readMetrics(registry) };
  const debug = isWorker ? undefined : new HttpServer({ routes: debugRoutes({ configLines: () => describeConfig(rules), metrics: published }), log: faults });
  const unpublish = isWorker ? undefined : await publishMetrics({ settings, statsd, metrics: published, registry, log });

  await options.untilMayListen?.();
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
      await leave?.();
      await Promise.all([store.close(), unpublish?.()]);
    },
    readMetrics: () => published.read(),
  };
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

/**
 * Redis, and what decides without it. Resolves without it after REDIS_CONNECT_TIMEOUT: degraded, and trying on.
 */
async function openStore(input: OpenStoreInput): Promise<{ readonly store: Store; readonly leave: () => Promise<void> }> {
  const { settings, workers, choice, health, log, metrics, local } = input;
  // Some 11 MB of client and what is wrapped around it, which the embedded store does without.
  const { Breakers, openRedis } = await import('./open-redis.js');
  const { wrapRedis } = await import('./wrap-redis.js');
  const parts = { settings, health, log, metrics, breakers: new Breakers({ health, log, metrics }) };
  const storeLog = new StoreLog({ log, nowMs: monotonicNowMs });
  // What has been lost meanwhile may have been what denied.
  const onSecond = () => { denyCache.clear(); };
  const onMain = () => {
    denyCache.clear();
    void instances.beat();
  };
  const measure = measureBy(metrics, 'redis');
  const main = openRedis({ ...parts, measure, connection: choice.connection, degraded: DEGRADED_REDIS, onConnected: onMain });
  const second =
    choice.perSecond &&
    openRedis({ ...parts, measure: measureBy(metrics, 'redis_per_second'), connection: choice.perSecond, degraded: DEGRADED_REDIS_PER_SECOND, onConnected: onSecond });

  const parted = inParts({ settings, choice, metrics, main, second, onGivenBack: (settlements) => { denyCache.forget(settlements); } });
  const { store, denyCache } = wrapRedis(parted, {
    denyCacheMax: settings.denyCacheMax,
    lastKnownMax: LAST_KNOWN_MAX,
    accountsMax: ACCOUNTS_MAX,
    failureMode: settings.failureMode,
    local,
    instances: () => instances.count,
    isThere: ({ bucketKey, limit }) => (second !== undefined && isPerSecond(limit) ? second : main).isThere(bucketKey),
    onDenied: () => {
      metrics.denyCacheDenials.inc();
    },
    onFallback: ({ local: localHits, open }) => {
      metrics.fallbackDecisions.inc();
      metrics.fallbackHits.inc({ failure_mode: 'local' }, localHits);
      metrics.fallbackHits.inc({ failure_mode: 'open' }, open);
    },
    onChargedBack: (hits) => {
      metrics.chargedBackHits.inc(hits);
    },
    onLost: (hits, cause) => {
      metrics.chargeBackLostHits.inc(hits);
      storeLog.hitsLost(hits, cause);
    },
    onUndecided: (error) => { storeLog.undecided(error); },
  });
  const heart = { key: `${settings.cacheKeyPrefix}weir:instances`, ttlMs: HEARTBEAT_TTL_MS, instancesMax: INSTANCES_MAX };
  let isToldOfHeartbeat = false;
  const instances = new Instances({
    beat: (heartbeat) => {
      // Only to show that it answers in time: instances are counted in the first.
      second?.beat({ ...heart, ...heartbeat }).catch(() => undefined);
      return main.beat({ ...heart, ...heartbeat });
    },
    // Each worker has a share of its own.
    assumed: settings.failureModeInstances * workers,
    onCount: (count) => {
      metrics.instances.set(count);
      store.chargeBack();
    },
    onError: (error) => {
      // One that is refused counts nobody, though Redis may well decide: told once.
      if (isToldOfHeartbeat || !(error instanceof StoreError) || error.reason !== 'script') return;
      isToldOfHeartbeat = true;
      log.warn(`no heartbeat in Redis at ${choice.connection.description}, so instances are not counted: ${error.message}`);
    },
    nowMs: monotonicNowMs,
  });
  metrics.instances.set(instances.count);

  const wait = { waitMs: settings.redisConnectTimeoutMs };
  await Promise.all([main.connect(wait), second?.connect(wait)]);
  instances.start();
  return { store, leave: () => instances.leave({ waitMs: LEAVE_MS }) };
}

interface OpenStoreInput extends Pick<AppOptions, 'settings' | 'workers' | 'log'> {
  readonly choice: Extract<StoreChoice, { kind: 'redis' }>;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly local: Store;
}

/** One Redis, or two; where a request's buckets may be in several places, they are taken all or nothing. */
function inParts({ settings, choice, metrics, main, second, onGivenBack }: InPartsInput): Store {
  const isCluster = 'seeds' in choice.connection.place;
  if (second === undefined && !isCluster) return main.store;
  const isSecondCluster = choice.perSecond !== undefined && 'seeds' in choice.perSecond.place;
  const both = second && new PerSecondStore(main.store, second.store);
  return new OneByOneStore(new SplitStore(both ?? main.store, {
    partOf: ({ bucketKey, limit }) => {
      const isOfSecond = second !== undefined && isPerSecond(limit);
      // Each slot of each Redis is a part, and a Redis that is no cluster is one.
      const slot = (isOfSecond ? isSecondCluster : isCluster) ? slotOf(bucketKey) : 0;
      return isOfSecond ? SLOTS + slot : slot;
    },
    timeoutMs: settings.redisOpTimeoutMs,
    onHitsLost: (hits) => {
      metrics.hitsLost.inc(hits);
    },
    onGivenBack,
  }));
}

interface InPartsInput extends Pick<OpenStoreInput, 'settings' | 'choice' | 'metrics'> {
  readonly main: OpenedRedis;
  readonly second: OpenedRedis | undefined;
  readonly onGivenBack: SplitStoreOptions['onGivenBack'];
}

function measureBy(metrics: Metrics, store: string): StoreMeasure {
  const latencies = metrics.storeLatency.with({ store });
  return {
    onCall: (seconds) => {
      latencies.observe(seconds);
    },
    onError: (reason) => {
      metrics.storeErrors.inc({ store, reason });
    },
  };
}

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
