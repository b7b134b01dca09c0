/** The composition root: the only file that knows every part, and which wraps which. */

import { isIP } from 'node:net';
import { Registry } from 'prom-client';
import { describeRules } from './config/describe-rules';
import type { HostPort, RedisServer } from './config/redis-url';
import type { Settings } from './config/settings';
import type { RedisConnection, SentinelPlace, StoreChoice } from './config/store-choice';
import { Health } from './observability/health';
import type { Logger } from './observability/logger';
import { makeMetrics, type Metrics } from './observability/metrics';
import { recordDecision } from './observability/record-decision';
import { RuleMetrics } from './observability/rule-metrics';
import { BreakerStore, type BreakerState } from './resilience/breaker';
import { DeadlineStore } from './resilience/deadline';
import { FallbackStore } from './resilience/fallback';
import { HEARTBEAT_TTL_MS, Instances } from './resilience/instances';
import { LastKnown } from './resilience/last-known';
import type { RuleSet } from './rule/rule-set';
import { makeShouldRateLimit } from './should-rate-limit';
import { MeasuredStore, type StoreMeasure } from './store/measured-store';
import { MemoryStore, monotonicNowUs } from './store/memory-store';
import type { ConnectionState } from './store/redis-connection';
import { RedisSentinels } from './store/redis-sentinel';
import { RedisStore, type RedisStoreOptions } from './store/redis-store';
import type { Store } from './store/store';
import { makeAnswerCall, type FailureKind } from './transport/answer';
import { debugRoutes } from './transport/debug-routes';
import { GrpcServer } from './transport/grpc-server';
import { httpRoutes } from './transport/http-routes';
import { HttpServer } from './transport/http-server';

export interface AppOptions {
  readonly settings: Settings;
  readonly storeChoice: StoreChoice;
  readonly ruleSet: RuleSet;
  readonly log: Logger;
  readonly version: string;
}

export interface App {
  /** The ports it listens on, once port 0 has become a free one. */
  readonly ports: { readonly grpc: number; readonly http: number; readonly debug: number };
  /** Turns the health off, answers what is in flight, and closes everything. */
  drain(): Promise<void>;
}

const DEGRADED_REDIS = 'degraded: redis';

/** A clock that is never set. */
const nowMs = () => performance.now();

/** About 20 MB each, if ever full. */
const LAST_KNOWN_MAX = 100_000;
const ACCOUNTS_MAX = 100_000;

const INSTANCES_MAX = 1_000;

/** How long a process that ends waits for Redis to hear of it, in milliseconds. */
const LEAVE_MS = 100;

/** A Redis without any answer for 20 deadlines, and at least this long, is looked for anew. */
const SILENCE_MS_MIN = 1_000;
const SILENCE_OF_TIMEOUTS = 20;

/** Wires the parts and listens. Rejects if a port can't be bound. */
export async function startApp(options: AppOptions): Promise<App> {
  const { settings, storeChoice, ruleSet, log, version } = options;
  const registry = new Registry();
  const health = new Health();
  const ruleMetrics = new RuleMetrics({
    registry,
    seriesMax: settings.metricSeriesMax,
    nearLimitRatio: settings.nearLimitRatio,
  });
  // With Redis it decides only while Redis does not, and as far as the failure modes say so.
  const memoryStore = new MemoryStore({ nowUs: monotonicNowUs, bucketsMax: settings.memoryBucketsMax });
  const metrics = makeMetrics({ registry, version, store: storeChoice.kind, memoryStore });
  metrics.configLoadSuccess.inc();
  const measure = measureBy(metrics, storeChoice.kind);
  const { store, leave } =
    storeChoice.kind === 'memory'
      ? { store: new MeasuredStore(memoryStore, measure), leave: undefined }
      : await openRedis({ settings, connection: storeChoice.connection, health, log, metrics, measure, local: memoryStore });
  const shouldRateLimit = makeShouldRateLimit({
    ruleSet: () => ruleSet,
    store,
    modes: { shadow: settings.shadowMode, quota: settings.quotaMode },
    keyPrefix: settings.cacheKeyPrefix,
    nowUs: monotonicNowUs,
    record: (decided) => {
      recordDecision({ decided, metrics, ruleMetrics });
    },
  });
  const answerCall = makeAnswerCall({
    decide: shouldRateLimit,
    log,
    onFailure: (kind) => {
      metrics.shouldRateLimitError.inc({ err_type: ERROR_TYPES[kind] });
    },
  });

  const grpc = new GrpcServer({
    answerCall,
    health,
    onCall: ({ grpcMethod, seconds }) => {
      metrics.totalRequests.inc({ grpc_method: grpcMethod });
      metrics.responseTime.observe({ grpc_method: grpcMethod }, seconds);
    },
  });
  const http = new HttpServer({ routes: httpRoutes({ answerCall, health }), log });
  const debug = new HttpServer({ routes: debugRoutes({ configLines: () => describeRules(ruleSet), registry }), log });

  health.serve();
  const ports = {
    grpc: (await grpc.start({ host: settings.grpcHost, port: settings.grpcPort })).port,
    http: (await http.start({ host: settings.host, port: settings.port })).port,
    debug: (await debug.start({ host: settings.debugHost, port: settings.debugPort })).port,
  };
  return {
    ports,
    drain: async () => {
      const bound = { timeoutMs: settings.drainTimeoutMs };
      health.startDrain();
      await Promise.all([grpc.drain(bound), http.close(bound), debug.close(bound)]);
      await leave?.();
      await store.close();
    },
  };
}

/** `err_type` as the reference counts: what Redis is to blame for, and everything else. */
const ERROR_TYPES: Readonly<Record<FailureKind, string>> = {
  bad_request: 'service_error',
  unavailable: 'redis_error',
  fault: 'service_error',
};

function measureBy(metrics: Metrics, store: StoreChoice['kind']): StoreMeasure {
  return {
    onCall: (seconds) => {
      metrics.storeLatency.observe({ store }, seconds);
    },
    onError: (reason) => {
      metrics.storeErrors.inc({ store, reason });
    },
  };
}

/**
 * Redis, asked within a deadline, not asked while it keeps failing, and with a fallback. Resolves without it after
 * REDIS_CONNECT_TIMEOUT: degraded, and trying on.
 */
async function openRedis(input: OpenRedisInput): Promise<{ readonly store: Store; readonly leave: () => Promise<void> }> {
  const { settings, connection, health, log, metrics, measure, local } = input;
  const tellConnection = watchRedis({ health, log, where: connection.description });
  const { place } = connection;
  const redis = new RedisStore({
    server: toClientOptions(connection, log),
    ...('sentinels' in place && { locator: openSentinels({ settings, place, tls: connection.tls }) }),
    connectTimeoutMs: settings.redisConnectTimeoutMs,
    silenceMs: Math.max(SILENCE_MS_MIN, SILENCE_OF_TIMEOUTS * settings.redisOpTimeoutMs),
    inFlightMax: settings.redisInFlightMax,
    onConnection: (state) => {
      tellConnection(state);
      if (!state.connected) return;
      breaker.reset();
      void instances.beat();
    },
  });
  const breaker = new BreakerStore(new DeadlineStore(redis, { timeoutMs: settings.redisOpTimeoutMs }), {
    failures: settings.redisBreakerFailures,
    windowMs: settings.redisBreakerWindowMs,
    openMs: settings.redisBreakerOpenMs,
    nowMs,
    onState: watchBreaker({ health, log, metrics }),
  });
  const heart = { key: `${settings.cacheKeyPrefix}weir:instances`, ttlMs: HEARTBEAT_TTL_MS, instancesMax: INSTANCES_MAX };
  const instances = new Instances({
    beat: async (heartbeat) => {
      const startedMs = nowMs();
      const count = await redis.beat({ ...heart, ...heartbeat });
      // No call waits for a heartbeat, so it can show that Redis answers in time again long before the next probe.
      if (nowMs() - startedMs <= settings.redisOpTimeoutMs) breaker.reset();
      return count;
    },
    assumed: settings.failureModeInstances,
    onCount: (count) => {
      metrics.instances.set(count);
      store.chargeBack();
    },
  });
  const store = new FallbackStore(new MeasuredStore(breaker, measure), {
    failureMode: settings.failureMode,
    local,
    lastKnown: new LastKnown({ nowMs, bucketsMax: LAST_KNOWN_MAX }),
    accountsMax: ACCOUNTS_MAX,
    nowMs,
    instances: () => instances.count,
    onFallback: ({ local: localHits, open }) => {
      metrics.fallbackDecisions.inc();
      metrics.fallbackHits.inc({ failure_mode: 'local' }, localHits);
      metrics.fallbackHits.inc({ failure_mode: 'open' }, open);
    },
    onChargedBack: (hits) => {
      metrics.chargedBackHits.inc(hits);
    },
    onLost: (hits) => {
      metrics.chargeBackLostHits.inc(hits);
    },
  });
  metrics.instances.set(instances.count);
  await redis.connect({ waitMs: settings.redisConnectTimeoutMs });
  instances.start();
  return { store, leave: () => instances.leave({ waitMs: LEAVE_MS }) };
}

interface OpenRedisInput extends Pick<AppOptions, 'settings' | 'log'> {
  readonly connection: RedisConnection;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly measure: StoreMeasure;
  readonly local: Store;
}

const DEGRADED_BREAKER = 'degraded: redis breaker open';

function watchBreaker({ health, log, metrics }: { readonly health: Health; readonly log: Logger; readonly metrics: Metrics }) {
  return (state: BreakerState) => {
    metrics.breakerOpen.set(state === 'closed' ? 0 : 1);
    if (state === 'open') {
      metrics.breakerOpenings.inc();
      health.degrade(DEGRADED_BREAKER);
      log.error('Redis has failed too often in a row: it is not asked for a while');
    } else if (state === 'closed') {
      health.recover(DEGRADED_BREAKER);
      log.info('Redis is asked again');
    }
  };
}

interface OpenSentinelsInput extends Pick<AppOptions, 'settings'> {
  readonly place: SentinelPlace;
  readonly tls: RedisConnection['tls'];
}

function openSentinels({ settings, place, tls }: OpenSentinelsInput): RedisSentinels {
  const toSocketOf = (address: HostPort) => toSocket(address, tls);
  return new RedisSentinels({ ...place, toSocket: toSocketOf, connectTimeoutMs: settings.redisConnectTimeoutMs });
}

/** Tells health and log of each change, once: a Redis that stays away is tried many times. */
function watchRedis({ health, log, where }: { readonly health: Health; readonly log: Logger; readonly where: string }) {
  let known: boolean | undefined;
  return ({ connected, address, cause }: ConnectionState) => {
    if (connected === known) return;
    known = connected;
    if (connected) {
      health.recover(DEGRADED_REDIS);
      log.info(address === undefined ? `connected to Redis at ${where}` : `connected to Redis at ${address}, the primary of ${where}`);
    } else {
      health.degrade(DEGRADED_REDIS);
      log.error(`no Redis at ${where} (${cause ?? 'no cause known'}): each limit is decided by its failure mode until it is back`);
    }
  };
}

function toClientOptions(connection: RedisConnection, log: Logger): RedisStoreOptions['server'] {
  const { place, tls, database, username, password, authFile } = connection;
  const named = { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
  const server = { database, ...('sentinels' in place ? {} : { socket: toSocket(place, tls) }) };
  if (authFile === undefined) return { ...server, ...named };
  const credentials = async () => ({ ...named, ...(await authFile.read((problem) => { log.warn(problem); })) });
  return { ...server, credentialsProvider: { type: 'async-credentials-provider', credentials } };
}

function toSocket(place: RedisServer['socket'], tls: RedisConnection['tls']): NonNullable<RedisStoreOptions['server']['socket']> {
  if ('path' in place) return { ...place, tls: false };
  if (tls === false) return place;
  return {
    ...place,
    tls: true,
    ...(tls.ca !== undefined && { ca: tls.ca }),
    ...tls.identity,
    // Node sends no name of its own accord, and one address may serve many Redis servers by their names.
    ...(isIP(place.host) === 0 && { servername: place.host }),
    ...(!tls.verifyHostname && { checkServerIdentity: () => undefined }),
  };
}
