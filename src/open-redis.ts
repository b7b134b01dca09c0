/** Opens a Redis in each of its shapes (one server, behind sentinels, a cluster), each server within what is wrapped around it. */

import { isIP } from 'node:net';
import { monotonicNowMs as nowMs } from './clock';
import type { HostPort, RedisServer } from './config/redis-url';
import type { Settings } from './config/settings';
import type { ClusterPlace, RedisConnection, SentinelPlace } from './config/store-choice';
import type { Health } from './observability/health';
import type { Logger } from './observability/logger';
import type { Metrics } from './observability/metrics';
import type { BreakerState } from './resilience/breaker';
import { slotOfGroup } from './store/cluster-slots';
import { describeAddress } from './store/describe-address';
import type { StoreMeasure } from './store/measured-store';
import { RedisClusterStore } from './store/redis-cluster-store';
import type { ConnectionState } from './store/redis-connection';
import { RedisSentinels } from './store/redis-sentinel';
import { RedisStore, type BeatInput, type RedisStoreOptions, type ScriptRun } from './store/redis-store';
import { StoreError, type Store, type TakeOptions } from './store/store';
import { within } from './store/time-left';
import { wrapServer } from './wrap-redis';

/** A Redis without any answer for 20 deadlines, and at least this long, is looked for anew. */
const SILENCE_MS_MIN = 1_000;
const SILENCE_OF_TIMEOUTS = 20;

/** A step of a reservation may take longer than a decision, in milliseconds: one that is given up too early counts twice until it lapses. */
const STEP_TIMEOUT_MS = 250;

const DEGRADED_BREAKER = 'degraded: redis breaker open';

/** So many things that are wrong with a server are told of one absence: their texts may hold addresses, which change. */
const CAUSES_MAX = 8;

/** A server that was too slow is pinged so often until it answers in time, in milliseconds. */
const PING_MS = 1_000;

export interface OpenRedisInput {
  readonly settings: Settings;
  readonly log: Logger;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly breakers: Breakers;
  readonly connection: RedisConnection;
  /** Told of each command to it, and of each call that it is not asked for. */
  readonly measure: StoreMeasure;
  /** In the body of the health check, while it is away. */
  readonly degraded: string;
  /** Each time that it has been found. */
  readonly onConnected: () => void;
}

export interface OpenedRedis {
  /** Each server asked for many calls at once, within a deadline, and not asked while it keeps failing. */
  readonly store: Store;
  /** Starts to connect, and goes on trying until the store is closed. Resolves when connected, or after `waitMs`. */
  connect(options: { readonly waitMs: number }): Promise<void>;
  /** Says there that an instance lives, or leaves; how many live. */
  beat(heartbeat: BeatInput): Promise<number>;
  /** What a script answers on the server that has its keys; a server that is away, or keeps failing, is not asked. */
  run(call: ScriptRun, options: TakeOptions): Promise<unknown>;
  /** Whether the server that has the bucket is connected and answers, as far as is known. */
  isThere(bucketKey: string): boolean;
}

export function openRedis(input: OpenRedisInput): OpenedRedis {
  const { connection, onConnected } = input;
  const { place } = connection;
  const tell = watchRedis({ ...input, where: connection.description });
  const onConnection = (state: ConnectionState): void => {
    tell(state);
    if (state.connected) onConnected();
  };
  if ('seeds' in place) return openCluster({ ...input, place, onConnection });
  return openServer({ ...input, connection: { ...connection, place }, onConnection, isClusterNode: false });
}

/** The breakers of all servers, as health, log and metrics tell them. */
export class Breakers {
  private readonly open = new Set<symbol>();

  constructor(private readonly watchers: Pick<OpenRedisInput, 'health' | 'log' | 'metrics'>) {}

  /** What a breaker is to tell of each of its states: of which server, and what of. */
  watch(): (state: BreakerState, told: { readonly server: string; readonly cause: string }) => void {
    const { health, log, metrics } = this.watchers;
    const breaker = Symbol('breaker');
    return (state, { server, cause }) => {
      if (state === 'open') {
        this.open.add(breaker);
        metrics.breakerOpenings.inc();
        log.error(`Redis at ${server} has failed too often in a row (${cause}): it is not asked for a while`);
      } else {
        // Half open, the next call asks; a server that nobody asks any more stays so.
        this.open.delete(breaker);
        if (state === 'closed') log.info(`Redis at ${server} is asked again`);
      }
      metrics.breakerOpen.set(this.open.size);
      if (this.open.size > 0) health.degrade(DEGRADED_BREAKER);
      else health.recover(DEGRADED_BREAKER);
    };
  }
}

/** One server, and all that wraps it. */
function openServer({ settings, connection, log, breakers, measure, onConnection, isClusterNode }: OpenServerInput) {
  const { place, tls, description } = connection;
  const tellBreaker = breakers.watch();
  let server = description;
  let pings: NodeJS.Timeout | undefined;
  let isConnected = false;
  const redis = new RedisStore({
    server: toClientOptions(connection, log),
    ...('sentinels' in place && { locator: openSentinels({ settings, place, tls }) }),
    isClusterNode,
    connectTimeoutMs: settings.redisConnectTimeoutMs,
    silenceMs: Math.max(SILENCE_MS_MIN, SILENCE_OF_TIMEOUTS * settings.redisOpTimeoutMs),
    inFlightMax: settings.redisInFlightMax,
    onConnection: (state) => {
      isConnected = state.connected;
      if (state.address !== undefined) server = describePrimary(state.address, description);
      if (state.connected) breaker.reset();
      onConnection(state);
    },
  });
  const { store, breaker } = wrapServer(redis, {
    timeoutMs: settings.redisOpTimeoutMs,
    breaker: {
      failures: settings.redisBreakerFailures,
      windowMs: settings.redisBreakerWindowMs,
      openMs: settings.redisBreakerOpenMs,
      onState: (state) => {
        tellBreaker(state, { server, cause: breaker.cause });
        clearInterval(pings);
        if (state === 'open') pings = setInterval(pingIfTooSlow, PING_MS).unref();
      },
    },
    measure,
    partOf: isClusterNode ? slotOfGroup : () => 0,
    groupsMax: settings.redisInFlightMax,
  });
  const pingIfTooSlow = (): void => {
    if (breaker.isTooSlow) closeIfInTime(() => redis.ping()).catch(() => undefined);
  };
  /** No call waits for what is asked here, so it can show that Redis answers in time again long before the next probe. */
  const closeIfInTime = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    const startedMs = nowMs();
    const answer = await ask();
    if (nowMs() - startedMs <= settings.redisOpTimeoutMs) breaker.reset();
    return answer;
  };
  return {
    store,
    connect: (options: { readonly waitMs: number }) => redis.connect(options),
    readSlots: () => redis.readSlots(),
    beat: (heartbeat: BeatInput, options?: TakeOptions) => closeIfInTime(() => redis.beat(heartbeat, options)),
    run: async (call: ScriptRun, { timeoutMs = Infinity, ...options }: TakeOptions) => {
      if (!isConnected) throw new StoreError('Redis is not connected', 'connection', { mayHaveRun: false });
      if (!breaker.isTrusted) throw new StoreError('the store has failed too often and is not asked for a while', 'breaker', { mayHaveRun: false });
      const startedMs = nowMs();
      try {
        return await within(redis.run(call, options), Math.min(timeoutMs, Math.max(settings.redisOpTimeoutMs, STEP_TIMEOUT_MS)), { mayHaveRun: true });
      } catch (error) {
        if (error instanceof StoreError && error.reason !== 'redirected') measure.onError(error.reason);
        throw error;
      } finally {
        measure.onCall((nowMs() - startedMs) / 1_000);
      }
    },
    isThere: () => isConnected && breaker.isTrusted,
  };
}

interface OpenServerInput extends Pick<OpenRedisInput, 'settings' | 'log' | 'breakers' | 'measure'> {
  readonly connection: ServerConnection;
  readonly onConnection: (state: ConnectionState) => void;
  readonly isClusterNode: boolean;
}

interface ServerConnection extends Omit<RedisConnection, 'place'> {
  readonly place: Exclude<RedisConnection['place'], ClusterPlace>;
}

function openCluster(input: OpenClusterInput): OpenedRedis {
  const { settings, connection, place, metrics, measure, onConnection } = input;
  const redis = new RedisClusterStore({
    seeds: place.seeds,
    timeoutMs: settings.redisOpTimeoutMs,
    connectTimeoutMs: settings.redisConnectTimeoutMs,
    onConnection,
    onRedirect: (kind) => {
      metrics.clusterRedirects.inc({ kind });
    },
    onUnasked: (reason) => {
      measure.onError(reason);
    },
    makeNode: (address, onNodeConnection) => {
      const ofNode = { ...connection, place: address, description: `${describeAddress(address)}, of ${connection.description}` };
      return openServer({ ...input, connection: ofNode, onConnection: onNodeConnection, isClusterNode: true });
    },
  });
  return {
    store: redis,
    connect: (options) => redis.connect(options),
    beat: (heartbeat) => redis.beat(heartbeat),
    run: (call, { timeoutMs = Infinity, ...options }) => redis.run(call, { ...options, timeoutMs: Math.min(timeoutMs, STEP_TIMEOUT_MS) }),
    isThere: (bucketKey) => redis.isThere(bucketKey),
  };
}

interface OpenClusterInput extends OpenRedisInput {
  readonly place: ClusterPlace;
  readonly onConnection: (state: ConnectionState) => void;
}

interface OpenSentinelsInput extends Pick<OpenRedisInput, 'settings'> {
  readonly place: SentinelPlace;
  readonly tls: RedisConnection['tls'];
}

function openSentinels({ settings, place, tls }: OpenSentinelsInput): RedisSentinels {
  const toSocketOf = (address: HostPort) => toSocket(address, tls);
  return new RedisSentinels({ ...place, toSocket: toSocketOf, connectTimeoutMs: settings.redisConnectTimeoutMs });
}

/**
 * Tells health and log of each change, once: a Redis that stays away is tried many times. What is wrong may become another
 * thing meanwhile, and is what there is to mend: of one that was restarted with a password, first that it hung up.
 */
function watchRedis({ health, log, where, degraded }: WatchRedisInput) {
  let isConnected = false;
  /** Those told of this absence. */
  const causes = new Set<string>();
  return ({ connected, address, cause = 'no cause known' }: ConnectionState) => {
    if (connected) {
      if (isConnected) return;
      isConnected = true;
      causes.clear();
      health.recover(degraded);
      log.info(`connected to Redis at ${address === undefined ? where : describePrimary(address, where)}`);
      return;
    }
    isConnected = false;
    if (causes.has(cause) || causes.size === CAUSES_MAX) return;
    causes.add(cause);
    if (causes.size > 1) {
      log.error(`still no Redis at ${where} (${cause})`);
    } else {
      health.degrade(degraded);
      log.error(`no Redis at ${where} (${cause}): each limit is decided by its failure mode until it is back`);
    }
  };
}

function describePrimary(address: string, where: string): string {
  return `${address}, the primary of ${where}`;
}

interface WatchRedisInput extends Pick<OpenRedisInput, 'health' | 'log' | 'degraded'> {
  readonly where: string;
}

function toClientOptions(connection: ServerConnection, log: Logger): RedisStoreOptions['server'] {
  const { place, tls, database, username, password, authFile, description } = connection;
  const named = { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
  const server = { database, ...('sentinels' in place ? {} : { socket: toSocket(place, tls) }) };
  if (authFile === undefined) return { ...server, ...named };
  const credentials = async () => ({ ...named, ...(await authFile.read((problem) => { log.warn(`Redis at ${description}: ${problem}`); })) });
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
