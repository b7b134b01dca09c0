/** Opens a Redis in each of its forms (one server, behind sentinels, a cluster), and wraps each server with breaker, deadline and batching. */

import { isIP } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { monotonicNowMs as nowMs } from '../../../lib/clock';
import type { RedisTls } from '../../../configuration/settings/redis/redis-tls';
import type { HostPort, RedisServer } from '../../../configuration/settings/redis/redis-url';
import type { Settings } from '../../../configuration/settings/table/settings';
import type { ClusterPlace, RedisConnection, SentinelPlace } from '../../../configuration/settings/redis/store-choice';
import { readTrustedAuthorities } from '../../../configuration/settings/tls/trusted-authorities';
import { AbsenceLog, type Passed } from '../../../server/observability/log/absence-log';
import type { Health } from '../../../server/observability/health';
import { event } from '../../../server/observability/log/log-event';
import type { Logger } from '../../../server/observability/log/logger';
import type { Metrics } from '../../../server/observability/metrics/metrics';
import type { RedisEviction } from '../../../server/observability/redis-eviction';
import { notAsked } from '../../../state/resilience/breaker';
import type { CircuitState } from '../../../state/resilience/circuit';
import type { EventLoopLag } from '../../../state/resilience/event-loop-lag';
import { slotOfGroup } from '../../../state/store/redis/cluster-slots';
import { EvictionWatch } from '../../../state/store/redis/eviction-watch';
import { describeAddress } from '../../../state/store/redis/client/address';
import type { StoreMeasure } from '../../../state/store/layers/measured-store';
import { RedisClusterStore } from '../../../state/store/redis/cluster/redis-cluster-store';
import type { ConnectionState } from '../../../state/store/redis/client/redis-connection';
import { RedisSentinels } from '../../../state/store/redis/client/redis-sentinel';
import { RedisStore, type BeatInput, type RedisStoreOptions, type ScriptRun } from '../../../state/store/redis/redis-store';
import { StoreError, type ServerName, type Store, type TakeOptions } from '../../../state/store/port/store';
import { within } from '../../../state/store/port/time-left';
import { wrapServer } from '../../../state/resilience/wrap-redis';

/** A connection without any reply for 20 deadlines, and at least this long, is replaced. */
const SILENCE_MS_MIN = 1_000;
const SILENCE_OF_TIMEOUTS = 20;

/** Timeout of a reservation step, in milliseconds. It exceeds that of a decision, because a step given up too early counts twice until the reservation lapses. */
const STEP_TIMEOUT_MS = 250;

const DEGRADED_BREAKER = 'degraded: redis breaker open';

/** Causes that are logged for one outage. Bounded, because a cause may contain an address, which changes. */
const CAUSES_MAX = 3;

/** Interval between pings of a server that was too slow, until it answers in time, in milliseconds. */
const PING_MS = 1_000;

export interface OpenRedisInput {
  readonly settings: Settings;
  readonly log: Logger;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly breakers: Breakers;
  /** What reports servers that evict keys; absent: another connection of this process watches them. */
  readonly eviction?: { readonly seen: RedisEviction; readonly store: string };
  readonly ownLag: EventLoopLag;
  /** Requests and hits decided without Redis since the start. */
  readonly passed: () => Passed;
  readonly connection: RedisConnection;
  /** Measures each command, and each call that is rejected before it becomes one. */
  readonly measure: StoreMeasure;
  /** The line in the body of the health check during an outage. */
  readonly degraded: string;
  /** Called after each connect. */
  readonly onConnected: () => void;
}

export interface OpenedRedis {
  /** The store with batching, deadline and circuit breaker for each server. */
  readonly store: Store;
  /** Starts to connect and retries until the store is closed. Resolves when connected, or after `waitMs`. */
  connect(options: { readonly waitMs: number }): Promise<void>;
  /** Records in Redis that an instance lives or leaves; resolves to the number of live instances. */
  beat(heartbeat: BeatInput): Promise<number>;
  /** Runs a script on the server of its keys. Rejects if that server is disconnected or its breaker is open. */
  run<Answer>(call: ScriptRun<Answer>, options: TakeOptions): Promise<Answer>;
  /** Whether the server of the bucket is connected and its breaker closed. */
  isThere(bucketKey: string): boolean;
}

export function openRedis(input: OpenRedisInput): OpenedRedis {
  const { onConnected } = input;
  const connection = { ...input.connection, tls: input.connection.tls !== false && secure(input.connection.tls) };
  const { place } = connection;
  const notify = watchRedis({ ...input, where: connection.description });
  const onConnection = (state: ConnectionState): void => {
    notify(state);
    if (state.connected) onConnected();
  };
  if ('seeds' in place) return openCluster({ ...input, connection, place, onConnection });
  return openServer({ ...input, connection: { ...connection, place }, onConnection, isClusterNode: false });
}

/** The breakers of all servers, and what health, log and metrics report of them. */
export class Breakers {
  private readonly open = new Set<symbol>();

  constructor(private readonly watchers: Pick<OpenRedisInput, 'health' | 'log' | 'metrics' | 'passed'>) {}

  /** Returns what takes each new state of one breaker, with the server and the cause, and whether its server is asked at all. */
  watch(): WatchedBreaker {
    const { log, metrics, passed } = this.watchers;
    const breaker = Symbol('breaker');
    let name = '';
    let isOpen = false;
    let isInUse = true;
    const absence = new AbsenceLog({
      log,
      nowMs,
      passed,
      again: () => `the circuit breaker of Redis at ${name} opened`,
      codes: { away: 'breaker_opened', back: 'breaker_closed' },
      address: () => name,
    });
    return {
      onState: (state, { server, cause }) => {
        name = server;
        // Half open counts as closed: the next call probes, and without calls the state would last.
        isOpen = state === 'open';
        if (isOpen) {
          metrics.breakerOpenings.inc();
          absence.begin(
            `the circuit breaker of Redis at ${server} opened: too many commands failed in a row (${cause}); failure modes decide until it closes`,
            cause,
          );
        } else {
          if (state === 'closed') absence.end(`the circuit breaker of Redis at ${server} closed`);
          if (state === 'gone') absence.close();
        }
        this.show(breaker, isOpen && isInUse);
      },
      setInUse: (now) => {
        isInUse = now;
        this.show(breaker, isOpen && isInUse);
      },
    };
  }

  private show(breaker: symbol, isOpen: boolean): void {
    if (isOpen) this.open.add(breaker);
    else this.open.delete(breaker);
    const { health, metrics } = this.watchers;
    metrics.breakerOpen.set(this.open.size);
    health.show(DEGRADED_BREAKER, { isDegraded: this.open.size > 0 });
  }
}

interface WatchedBreaker {
  readonly onState: (state: CircuitState, change: { readonly server: string; readonly cause: string }) => void;
  /** False: no slot belongs to the server, so its breaker decides nothing. */
  readonly setInUse: (isInUse: boolean) => void;
}

/** Opens one server with everything that wraps it. */
function openServer({ settings, connection, log, breakers, eviction, ownLag, measure, onConnection, isClusterNode }: OpenServerInput) {
  const { place, tls, description } = connection;
  const watchedBreaker = breakers.watch();
  const watched = eviction?.seen.watch();
  let server = description;
  let named = 'sentinels' in place ? undefined : nameOfPlace(place);
  let pings: NodeJS.Timeout | undefined;
  let isConnected = false;
  const redis = new RedisStore({
    server: toClientOptions(connection, log),
    ...('sentinels' in place && { locator: openSentinels({ settings, place, tls }) }),
    isClusterNode,
    ...trustedBy(connection.tls),
    connectTimeoutMs: settings.redisConnectTimeoutMs,
    silenceMs: Math.max(SILENCE_MS_MIN, SILENCE_OF_TIMEOUTS * settings.redisOpTimeoutMs),
    inFlightMax: settings.redisInFlightMax,
    onConnection: (state) => {
      isConnected = state.connected;
      if (state.address !== undefined) {
        server = describePrimary(state.address, description);
        named = nameOfAddress(state.address);
      }
      if (state.connected) {
        breaker.reset();
        evictionWatch?.start();
      } else {
        evictionWatch?.stop();
      }
      onConnection(state);
    },
  });
  const evictionWatch =
    eviction &&
    new EvictionWatch({
      read: () => redis.readEviction(),
      onLook: (look) => {
        watched?.onLook({ ...look, address: server, store: eviction.store });
      },
    });
  const { store, breaker, deadline } = wrapServer(redis, {
    timeoutMs: settings.redisOpTimeoutMs,
    lagMs: () => ownLag.recentMs(),
    breaker: {
      failures: settings.redisBreakerFailures,
      windowMs: settings.redisBreakerWindowMs,
      openMs: settings.redisBreakerOpenMs,
      onState: (state) => {
        watchedBreaker.onState(state, { server, cause: breaker.cause });
        if (state === 'gone') {
          evictionWatch?.stop();
          watched?.forget();
        }
        clearInterval(pings);
        if (state === 'open') pings = setInterval(pingIfTooSlow, PING_MS).unref();
      },
    },
    measure,
    partOf: isClusterNode ? slotOfGroup : () => 0,
    server: () => named,
    groupsMax: settings.redisInFlightMax,
  });
  const pingIfTooSlow = (): void => {
    if (breaker.isTooSlow) closeIfInTime(() => redis.ping()).catch(() => undefined);
  };
  /** Runs a command that no call waits for. If it is answered in time, the breaker closes long before its next probe. */
  const closeIfInTime = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    const startedMs = nowMs();
    const answer = await ask();
    if (nowMs() - startedMs <= deadline.allowedMs) breaker.reset();
    return answer;
  };
  return {
    store,
    connect: (options: { readonly waitMs: number }) => redis.connect(options),
    readSlots: () => redis.readSlots(),
    setInUse: watchedBreaker.setInUse,
    beat: (heartbeat: BeatInput, options?: TakeOptions) => closeIfInTime(() => redis.beat(heartbeat, options)),
    run: async <Answer>(call: ScriptRun<Answer>, { timeoutMs = Infinity, ...options }: TakeOptions): Promise<Answer> => {
      if (!isConnected) throw new StoreError('Redis is not connected', 'connection', { mayHaveRun: false });
      if (!breaker.isTrusted) throw notAsked();
      const startedMs = nowMs();
      try {
        return await within(redis.run(call, options), Math.min(timeoutMs, Math.max(settings.redisOpTimeoutMs, STEP_TIMEOUT_MS)), {
          mayHaveRun: true,
        });
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

interface OpenServerInput extends Pick<OpenRedisInput, 'settings' | 'log' | 'breakers' | 'eviction' | 'ownLag' | 'measure'> {
  readonly connection: ServerConnection;
  readonly onConnection: (state: ConnectionState) => void;
  readonly isClusterNode: boolean;
}

interface ServerConnection extends Omit<SecuredConnection, 'place'> {
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

interface OpenClusterInput extends Omit<OpenRedisInput, 'connection'> {
  readonly connection: SecuredConnection;
  readonly place: ClusterPlace;
  readonly onConnection: (state: ConnectionState) => void;
}

interface OpenSentinelsInput extends Pick<OpenRedisInput, 'settings'> {
  readonly place: SentinelPlace;
  readonly tls: SecuredConnection['tls'];
}

function openSentinels({ settings, place, tls }: OpenSentinelsInput): RedisSentinels {
  const toSocketOf = (address: HostPort) => toSocket(address, tls);
  return new RedisSentinels({ ...place, toSocket: toSocketOf, connectTimeoutMs: settings.redisConnectTimeoutMs, ...trustedBy(tls) });
}

/**
 * Reports each change once to health and log, although connecting is retried many times. The cause may change during an outage, and
 * the last one is what an operator must fix: a server restarted with a password first hangs up, then answers NOAUTH.
 */
function watchRedis({ health, log, where, degraded, passed, connection }: WatchRedisInput) {
  const absence = new AbsenceLog({
    log,
    nowMs,
    passed,
    again: () => `the connection to Redis at ${where} was lost`,
    codes: { away: 'redis_lost', back: 'redis_connected' },
    address: () => where,
  });
  let isConnected = false;
  let hasBeenAway = false;
  /** Causes already logged in this outage. */
  const causes = new Set<string>();
  return ({ connected, address, cause = 'no cause known' }: ConnectionState) => {
    if (connected) {
      if (isConnected) return;
      const sentence = `connected to Redis at ${address === undefined ? where : describePrimary(address, where)}`;
      isConnected = true;
      causes.clear();
      health.recover(degraded);
      if (hasBeenAway) absence.end(sentence);
      else log.info(event('redis_connected', { address: address ?? where }), sentence);
      return;
    }
    isConnected = false;
    if (causes.has(cause) || causes.size === CAUSES_MAX) return;
    causes.add(cause);
    if (causes.size > 1) {
      if (absence.isLogging) log.error(event('redis_lost', { address: where, error: cause }), `still no Redis at ${where} (${cause})`);
    } else {
      hasBeenAway = true;
      health.degrade(degraded);
      absence.begin(`no Redis at ${where} (${cause}${adviceOn(cause, connection)}): failure modes decide until it is back`, cause);
    }
  };
}

/** A server with TLS hangs up on a client without, and the other way round TLS finds no handshake. */
function adviceOn(cause: string, { tls }: Pick<RedisConnection, 'tls'>): string {
  if (tls === false && /ECONNRESET|EPIPE|Socket closed/.test(cause)) return '; if this port speaks TLS, set REDIS_TLS=true';
  if (tls === false) return '';
  if (/wrong version number|packet length too long/.test(cause)) return '; this port speaks no TLS';
  // Redis waits for the rest of a command that it takes the handshake for.
  return cause.startsWith('no answer within') ? '; if this port speaks no TLS, use redis:// without REDIS_TLS' : '';
}

function nameOfPlace(place: RedisServer['socket']): ServerName {
  return 'path' in place ? { address: place.path } : { address: place.host, port: place.port };
}

/** The primary that sentinels name, as `describeAddress` writes it. */
function nameOfAddress(text: string): ServerName {
  const [, ipv6, host = text, port] = /^(?:\[([^\]]*)\]|([^:]*)):(\d+)$/.exec(text) ?? [];
  return { address: ipv6 ?? host, ...(port !== undefined && { port: Number(port) }) };
}

function describePrimary(address: string, where: string): string {
  return `${address}, the primary of ${where}`;
}

interface WatchRedisInput extends Pick<OpenRedisInput, 'health' | 'log' | 'degraded' | 'passed'> {
  readonly where: string;
  readonly connection: Pick<RedisConnection, 'tls'>;
}

function toClientOptions(connection: ServerConnection, log: Logger): RedisStoreOptions['server'] {
  const { place, tls, database, username, password, authFile, description } = connection;
  const named = { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
  const server = { database, ...('sentinels' in place ? {} : { socket: toSocket(place, tls) }) };
  if (authFile === undefined) return { ...server, ...named };
  const credentials = async () => ({
    ...named,
    ...(await authFile.read((problem) => {
      log.warn(event('redis_auth_file', { address: description, error: problem }), `Redis at ${description}: ${problem}`);
    })),
  });
  return { ...server, credentialsProvider: { type: 'async-credentials-provider', credentials } };
}

function toSocket(place: RedisServer['socket'], tls: SecuredConnection['tls']): NonNullable<RedisStoreOptions['server']['socket']> {
  if ('path' in place) return { ...place, tls: false };
  if (tls === false) return place;
  return {
    ...place,
    tls: true,
    secureContext: tls.context,
    // Node sends no server name by default, and one address may serve several Redis servers by name.
    ...(isIP(place.host) === 0 && { servername: place.host }),
    ...(!tls.verifyHostname && { checkServerIdentity: () => undefined }),
  };
}

/** A connection with its certificates parsed: once, because hundreds of CAs take milliseconds. */
interface SecuredConnection extends Omit<RedisConnection, 'tls'> {
  readonly tls: SecuredTls | false;
}

interface SecuredTls extends Pick<RedisTls, 'verifyHostname'> {
  readonly context: SecureContext;
  /** The trusted CAs, for messages. */
  readonly trusted: string;
}

function secure({ ca, identity, verifyHostname }: RedisTls): SecuredTls {
  const named = { certificates: [ca ?? ''], description: 'only those of REDIS_TLS_CACERT' };
  const { certificates, description } = ca === undefined ? readTrustedAuthorities() : named;
  return { context: createSecureContext({ ca: [...certificates], ...identity }), trusted: description, verifyHostname };
}

function trustedBy(tls: SecuredConnection['tls']): Pick<RedisStoreOptions, 'trusted'> {
  return tls === false ? {} : { trusted: tls.trusted };
}
