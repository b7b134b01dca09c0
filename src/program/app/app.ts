/** The composition root: makes the parts of one process that serves, and hands them to each other. It binds no port by itself. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { DecisionTail } from '../../server/observability/tail/decision-tail';
import { monotonicNowMs, monotonicNowUs } from '../../lib/clock';
import { Gate } from '../../lib/gate';
import { describeConfig } from '../../configuration/source/describe-rules';
import type { ServerTlsFiles } from '../../configuration/settings/tls/server-tls-files';
import type { RulesInForce } from '../../configuration/source/rules-in-force';
import type { Settings } from '../../configuration/settings/table/settings';
import type { CheckChoice } from '../../configuration/settings/check-choice';
import type { StatsdChoice } from '../../configuration/settings/statsd-choice';
import type { TraceChoice } from '../../configuration/settings/trace-choice';
import type { StoreChoice } from '../../configuration/settings/redis/store-choice';
import { FaultLog } from '../../server/observability/log/fault-log';
import { EndedCertificates } from '../../server/observability/ended-certificates';
import { Health } from '../../server/observability/health';
import { event } from '../../server/observability/log/log-event';
import type { Logger } from '../../server/observability/log/logger';
import { makeMetrics, type ManagementServer, type Metrics } from '../../server/observability/metrics/metrics';
import { PrometheusText } from '../../server/observability/metrics/prometheus-text';
import { readMetrics, type MetricReading } from '../../server/observability/metrics/metrics-snapshot';
import { openControl, type OpenedControl } from './open-control';
import { additionOptions, inForce, makeMemoryStore, openAnyStore, openRecord, openRuleMetrics } from './open-deciding';
import { GrpcPort, makeGrpcServer, type GrpcPortOptions } from './open-grpc';
import type { OpenAdminInput } from './open-admin';
import { openCheck, openHttpPort, openPortLimits, type PortLimit } from './open-ports';
import { openPenalties } from './open-penalties';
import { openReservationCalls, openReservations } from './open-reservations';
import type { OpenedStore } from './open-store';
import { openTop } from './open-top';
import type { OpenedTracing } from './telemetry/open-tracing';
import { processServices, publishFacts, type ProcessServicesInput } from './process-services';
import { bindDebugPort, openConfigMetrics, publishMetrics, toLabels, type MetricsPublisher } from './publish-metrics';
import type { Bind } from './start/bind-all';
import { additionsFor } from '../../domain/respond/response-additions';
import { makeShouldRateLimit } from '../../should-rate-limit';
import type { MemoryStore } from '../../state/store/memory/memory-store';
import { makeAnswerCalls, type FailureKind } from '../../server/transport/answer';
import { debugRoutes, type PublishedMetrics } from '../../server/transport/http/debug-routes';
import { HttpServer } from '../../server/transport/http/http-server';
import { listenOn } from '../../server/transport/port/listen-error';
import { warmUp } from '../../server/warm-up/warm-up';

export interface AppOptions {
  readonly settings: Settings;
  readonly storeChoice: StoreChoice;
  /** The source offers configurations to these rules, before the start and while Weir serves. */
  readonly rules: RulesInForce;
  /** Undefined: the configuration is in files, or the parent process loads it. */
  readonly managementServer?: ManagementServer | undefined;
  readonly log: Logger;
  readonly version: string;
  /** Undefined: no TLS on the gRPC port. */
  readonly grpcTls: ServerTlsFiles | undefined;
  /** The statsd server that gets the metrics, if any. Workers have none: the parent process reports. */
  readonly statsd: StatsdChoice | undefined;
  /** The receiver of traces, if any. */
  readonly tracing: TraceChoice | undefined;
  /** What /check makes of a request; undefined: it is not served. */
  readonly check: CheckChoice | undefined;
  /** Whether this process is a worker: the parent process then has the debug port. */
  readonly isWorker: boolean;
  /** The number of serving processes with these settings on this machine. */
  readonly workers: number;
}

export interface App {
  /** One for each port; a worker has no debug port. */
  readonly binds: readonly Bind[];
  /** Answers from now on what the ports accept. Called once, when all of them are bound. */
  open(): void;
  /** Turns the health off, answers everything for `DRAIN_DELAY`, then only calls in flight, and closes everything. */
  drain(): Promise<void>;
  readMetrics(): Promise<readonly MetricReading[]>;
  /** For the admin API. */
  readonly admin: Pick<OpenAdminInput, 'services' | 'tail' | 'registry'>;
}

const NO_CONFIG = 'config: none yet';
const NO_DOMAIN = 'config: no domain';
const LAST_GOOD_CONFIG = 'config: last good';

/** Wires the parts. Nothing is answered before the App opens. */
export async function openApp(options: AppOptions): Promise<App> {
  const { settings, storeChoice, rules, log, version, isWorker, grpcTls, statsd } = options;
  const registry = new Registry();
  const health = new Health();
  const ruleMetrics = openRuleMetrics(registry, settings);
  const memoryStore = makeMemoryStore(options);
  const metrics = makeMetrics({ registry, version, store: storeChoice.kind, memoryStore, rules });
  const ended = new EndedCertificates({ health, log, nowMs: () => Date.now() });
  if (!isWorker) openConfigMetrics({ registry, rules, settings, managementServer: options.managementServer, ended });
  if (settings.warmUp) await warmUpAndLog({ settings, storeChoice, metrics, log });
  const opened = await openAnyStore({ ...options, health, metrics, memoryStore });
  const { store, reservations, run, exchange, forget, leave } = opened;
  const control = await openControl({ settings, run, health, registry, log });
  const keyPrefix = settings.cacheKeyPrefix;
  const facts = publishFacts({ opened, rules, health, version, keyPrefix, control, metrics });
  const faults = new FaultLog({ log, nowMs: monotonicNowMs });
  const tail = new DecisionTail({ nowMs: () => Date.now() });
  const top = openTop({ settings, registry, exchange, log });
  const penalties = control && openPenalties({ settings, store, service: control.service, registry, log });
  const deciding = {
    ruleSet: () => inForce(rules),
    store,
    modes: { shadow: settings.shadowMode, quota: settings.quotaMode },
    control: control?.data,
    keyPrefix,
    nowUs: monotonicNowUs,
    record: openRecord({ settings, log, faults, metrics, ruleMetrics, control, recorders: [tail, top, penalties] }),
  };
  const shouldRateLimit = makeShouldRateLimit({ ...deciding, additions: (ruleSet) => additionsFor(ruleSet, additionOptions(settings)) });
  const { service, sweeper } = openReservations({ ...deciding, reservations, metrics, rules });
  const onFailure = countFailures(metrics);
  const answerCalls = makeAnswerCalls({ decide: shouldRateLimit, log: faults, onFailure });

  const reservationCalls = openReservationCalls({ service, answerCalls, log: faults, onFailure, metrics });
  const tracing = await openTraces(options, registry);
  const limits = openPortLimits({ log, isWorker });
  const gate = new Gate();
  const grpc = await GrpcPort.open({
    settings,
    tlsFiles: grpcTls,
    isWorker,
    log,
    faults,
    metrics,
    answerCalls,
    reservationCalls,
    health,
    ended,
    onFailure,
    tracer: tracing?.tracer,
    connectionsMax: limits.grpcConnectionsMax,
    gate,
    onCall: observeCalls(metrics),
  });
  const http = openHttpPort({
    settings,
    isConfigured: (domain) => rules.ruleSet?.domains.has(domain) === true,
    answerCalls,
    reservationCalls,
    check: options.check && openCheck(options.check, metrics),
    metrics,
    tracer: tracing?.tracer,
    health,
    log: faults,
    limit: { ...limits.http, gate },
  });
  const published = publishedBy(registry, toLabels(settings.extraTags));
  const debug = isWorker ? undefined : makeDebugServer({ rules, published, faults, limit: { ...limits.debug, gate } });
  const publisher = isWorker
    ? undefined
    : await publishMetrics({ settings, statsd, metrics: published, registry, log, limit: { ...limits.metrics, gate } });

  return {
    binds: bindsOf({ grpc, http, debug, publisher }, settings),
    open: () => {
      sweeper.start();
      penalties?.start();
      top?.start();
      publisher?.start();
      followConfig({ rules, health, settings });
      gate.open();
    },
    drain: async () => {
      health.startDrain();
      // Clients that watch the health leave; those that have not seen the change yet are still answered.
      await sleep(settings.drainDelayMs);
      await drainPorts({ grpc, http, debug }, { timeoutMs: settings.drainTimeoutMs });
      sweeper.stop();
      facts.stop();
      top?.stop();
      limits.close();
      await penalties?.stop();
      await Promise.all([leave(), control?.close(), tracing?.close()]);
      await Promise.all([store.close(), publisher?.close()]);
    },
    readMetrics: () => published.read(),
    admin: {
      services: servicesOf({
        storeChoice,
        memoryStore,
        control,
        forget,
        keyPrefix,
        facts: facts.facts,
        topKeys: top?.keys,
        readMetrics: () => published.read(),
      }),
      tail,
      registry,
    },
  };
}

/** The observer keeps the series, so that a call needs no lookup. */
function observeCalls({ responseTime }: Metrics): GrpcPortOptions['onCall'] {
  const times = responseTime.with({ grpc_method: 'ShouldRateLimit' });
  return ({ seconds }) => {
    times.observe(seconds);
  };
}

interface Ports {
  readonly grpc: GrpcPort;
  readonly http: HttpServer;
  readonly debug: HttpServer | undefined;
}

interface PublishedPorts extends Ports {
  readonly publisher: MetricsPublisher | undefined;
}

function bindsOf({ grpc, http, debug, publisher }: PublishedPorts, settings: Settings): App['binds'] {
  return [
    () => grpc.bind(),
    () => bindHttpPort(http, settings),
    ...(debug ? [() => bindDebugPort(debug, settings)] : []),
    ...(publisher ? [() => publisher.bind()] : []),
  ];
}

function drainPorts({ grpc, http, debug }: Ports, bound: { readonly timeoutMs: number }): Promise<unknown> {
  return Promise.all([grpc.drain(bound), http.close(bound), debug?.close(bound)]);
}

/** Undefined: traces are off. */
async function openTraces({ tracing, settings, version, log }: AppOptions, registry: Registry): Promise<OpenedTracing | undefined> {
  if (tracing === undefined) return undefined;
  // Imported on demand: OpenTelemetry takes several megabytes.
  const { openTracing } = await import('./telemetry/open-tracing.js');
  return openTracing({ tracing, settings, version, registry, log });
}

interface DebugInput extends Pick<AppOptions, 'rules'> {
  readonly published: PublishedMetrics;
  readonly faults: FaultLog;
  readonly limit: PortLimit;
}

function makeDebugServer({ rules, published, faults, limit }: DebugInput): HttpServer {
  return new HttpServer({ routes: debugRoutes({ configLines: () => describeConfig(rules), metrics: published }), log: faults, ...limit });
}

interface ServicesInput
  extends
    Pick<AppOptions, 'storeChoice'>,
    Pick<OpenedStore, 'forget'>,
    Pick<ProcessServicesInput, 'facts' | 'keyPrefix' | 'topKeys' | 'readMetrics'> {
  readonly memoryStore: MemoryStore;
  readonly control: OpenedControl | undefined;
}

/** With Redis, the thread of the admin API reads buckets and control data itself. */
function servicesOf({ storeChoice, memoryStore, control, ...rest }: ServicesInput): OpenAdminInput['services'] {
  const isEmbedded = storeChoice.kind === 'memory';
  return processServices({
    ...rest,
    memoryStore: isEmbedded ? memoryStore : undefined,
    control: isEmbedded ? control?.store : undefined,
  });
}

async function bindHttpPort(server: HttpServer, { host, port }: Pick<Settings, 'host' | 'port'>): Promise<{ http: number }> {
  const bound = await listenOn({ host, port, hostSetting: 'HOST', portSetting: 'PORT' }, () => server.start({ host, port }));
  return { http: bound.port };
}

function publishedBy(registry: Registry, labels: Readonly<Record<string, string>>): PublishedMetrics {
  const text = new PrometheusText(labels);
  const read = () => readMetrics(registry);
  return { contentType: text.contentType, text: async () => text.write(await read()), read };
}

/** Turns the health on at the first good configuration and leaves it on. If a domain is required, the health follows the configuration in force. */
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

/** Runs before the ports open, so it delays no call. */
async function warmUpAndLog({
  settings,
  storeChoice,
  metrics,
  log,
}: Pick<AppOptions, 'settings' | 'storeChoice' | 'log'> & { readonly metrics: Metrics }): Promise<void> {
  const { calls, ms } = await warmUp({
    makeServer: (parts) => makeGrpcServer(settings.transport, parts),
    counts: storeChoice.kind,
    metrics,
  });
  log.debug(event('warmed_up', { calls, durationMs: Math.round(ms) }), `warmed up by ${calls} calls in ${ms.toFixed(0)} ms`);
}

function countFailures({ shouldRateLimitError }: Metrics): (kind: FailureKind) => void {
  return (kind) => {
    shouldRateLimitError.inc({ err_type: ERROR_TYPES[kind] });
  };
}

/** `err_type` as envoyproxy/ratelimit counts it: errors of Redis, and all others. */
const ERROR_TYPES: Readonly<Record<FailureKind, string>> = {
  bad_request: 'service_error',
  unavailable: 'redis_error',
  fault: 'service_error',
};
