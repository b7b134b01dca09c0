/** The composition root: the only file that knows every part, and which wraps which. */

import { isIP } from 'node:net';
import { Registry } from 'prom-client';
import { describeRules } from './config/describe-rules';
import type { HostPort, RedisServer } from './config/redis-url';
import type { Settings } from './config/settings';
import type { ClusterPlace, RedisConnection, SentinelPlace, StoreChoice } from './config/store-choice';
import { Health } from './observability/health';
import type { Logger } from './observability/logger';
import { makeMetrics, type Metrics } from './observability/metrics';
import { recordDecision } from './observability/record-decision';
import { RuleMetrics } from './observability/rule-metrics';
import { DeadlineStore } from './resilience/deadline';
import type { RuleSet } from './rule/rule-set';
import { makeShouldRateLimit } from './should-rate-limit';
import { slotOf, SLOTS } from './store/cluster-slots';
import { MeasuredStore, type StoreMeasure } from './store/measured-store';
import { MemoryStore, monotonicNowUs } from './store/memory-store';
import type { ConnectionState } from './store/redis-connection';
import { isPerSecond, PerSecondStore } from './store/per-second-store';
import { RedisClusterStore } from './store/redis-cluster-store';
import { RedisSentinels } from './store/redis-sentinel';
import { RedisStore, type RedisStoreOptions } from './store/redis-store';
import { SplitStore } from './store/split-store';
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
const DEGRADED_REDIS_PER_SECOND = 'degraded: redis per second';

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
  const memoryStore = new MemoryStore({ nowUs: monotonicNowUs, bucketsMax: settings.memoryBucketsMax });
  const metrics = makeMetrics({ registry, version, store: storeChoice.kind, memoryStore });
  metrics.configLoadSuccess.inc();
  const store =
    storeChoice.kind === 'memory'
      ? new MeasuredStore(memoryStore, measureBy(metrics, 'memory'))
      : await openStores({ settings, choice: storeChoice, health, log, metrics });
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

/** One Redis, or two; where a request's buckets may be in several places, they are taken all or nothing. */
async function openStores({ choice, ...parts }: OpenStoresInput): Promise<Store> {
  const { settings, metrics } = parts;
  const { connection, perSecond } = choice;
  const isCluster = 'seeds' in connection.place;
  const [main, second] = await Promise.all([
    openRedis({ ...parts, connection, name: 'redis' }),
    perSecond && openRedis({ ...parts, connection: perSecond, name: 'redis_per_second' }),
  ]);
  if (second === undefined && !isCluster) return main;
  const isSecondCluster = perSecond !== undefined && 'seeds' in perSecond.place;
  return new SplitStore(second === undefined ? main : new PerSecondStore(main, second), {
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
  });
}

interface OpenStoresInput extends Omit<OpenRedisInput, 'connection' | 'name'> {
  readonly choice: Extract<StoreChoice, { kind: 'redis' }>;
}

function measureBy(metrics: Metrics, store: string): StoreMeasure {
  return {
    onCall: (seconds) => {
      metrics.storeLatency.observe({ store }, seconds);
    },
    onError: (reason) => {
      metrics.storeErrors.inc({ store, reason });
    },
  };
}

/** Redis, answering in time or not at all. Resolves without it after REDIS_CONNECT_TIMEOUT: degraded, and trying on. */
async function openRedis(input: OpenRedisInput): Promise<Store> {
  const { settings, connection, name, metrics, health, log } = input;
  const { place, description: where } = connection;
  const onConnection = watchRedis({ health, log, where, line: name === 'redis' ? DEGRADED_REDIS : DEGRADED_REDIS_PER_SECOND });
  const { redis, store } =
    'seeds' in place ? openCluster({ ...input, place, onConnection }) : openNode({ settings, connection: { ...connection, place }, log, onConnection });
  await redis.connect({ waitMs: settings.redisConnectTimeoutMs });
  return new MeasuredStore(store, measureBy(metrics, name));
}

interface OpenRedisInput extends Pick<AppOptions, 'settings' | 'log'> {
  readonly connection: RedisConnection;
  /** In metrics. */
  readonly name: 'redis' | 'redis_per_second';
  readonly health: Health;
  readonly metrics: Metrics;
}

/** One server, and all that wraps it. */
function openNode({ settings, connection, log, onConnection, isClusterNode = false }: OpenNodeInput) {
  const { place, tls } = connection;
  const redis = new RedisStore({
    server: toClientOptions(connection, log),
    ...('sentinels' in place && { locator: openSentinels({ settings, place, tls }) }),
    isClusterNode,
    connectTimeoutMs: settings.redisConnectTimeoutMs,
    silenceMs: Math.max(SILENCE_MS_MIN, SILENCE_OF_TIMEOUTS * settings.redisOpTimeoutMs),
    inFlightMax: settings.redisInFlightMax,
    onConnection,
  });
  return { redis, store: new DeadlineStore(redis, { timeoutMs: settings.redisOpTimeoutMs }) };
}

interface OpenNodeInput extends Pick<AppOptions, 'settings' | 'log'> {
  readonly connection: NodeConnection;
  readonly onConnection: (state: ConnectionState) => void;
  readonly isClusterNode?: boolean;
}

interface NodeConnection extends Omit<RedisConnection, 'place'> {
  readonly place: Exclude<RedisConnection['place'], ClusterPlace>;
}

function openCluster({ settings, connection, place, metrics, log, onConnection }: OpenClusterInput) {
  const redis = new RedisClusterStore({
    seeds: place.seeds,
    timeoutMs: settings.redisOpTimeoutMs,
    connectTimeoutMs: settings.redisConnectTimeoutMs,
    onConnection,
    onRedirect: (kind) => {
      metrics.clusterRedirects.inc({ kind });
    },
    makeNode: (address, onNodeConnection) => {
      const node = openNode({ settings, connection: { ...connection, place: address }, log, onConnection: onNodeConnection, isClusterNode: true });
      return { store: node.store, connect: (options) => node.redis.connect(options), readSlots: () => node.redis.readSlots() };
    },
  });
  return { redis, store: redis };
}

interface OpenClusterInput extends OpenRedisInput {
  readonly place: ClusterPlace;
  readonly onConnection: (state: ConnectionState) => void;
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
function watchRedis({ health, log, where, line }: WatchRedisInput) {
  let known: boolean | undefined;
  return ({ connected, address, cause }: ConnectionState) => {
    if (connected === known) return;
    known = connected;
    if (connected) {
      health.recover(line);
      log.info(address === undefined ? `connected to Redis at ${where}` : `connected to Redis at ${address}, the primary of ${where}`);
    } else {
      health.degrade(line);
      log.error(`no Redis at ${where} (${cause ?? 'no cause known'}): requests are answered UNAVAILABLE until it is back`);
    }
  };
}

interface WatchRedisInput extends Pick<OpenRedisInput, 'health' | 'log'> {
  readonly where: string;
  /** In the body of the health check. */
  readonly line: string;
}

function toClientOptions(connection: NodeConnection, log: Logger): RedisStoreOptions['server'] {
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
