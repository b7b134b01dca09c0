/** Opens one Redis server with everything that wraps it: breaker, deadline, batching, and what watches it. */

import type { HostPort, RedisServer } from '../../../configuration/settings/redis/redis-url';
import type { SentinelPlace } from '../../../configuration/settings/redis/store-choice';
import type { Settings } from '../../../configuration/settings/table/settings';
import { monotonicNowMs as nowMs } from '../../../lib/clock';
import type { Breakers, WatchedBreaker } from '../../../server/observability/breakers';
import type { Logger } from '../../../server/observability/log/logger';
import { describePrimary } from '../../../server/observability/redis-connection-watch';
import type { RedisEngine, WatchedEngine } from '../../../server/observability/redis-engine';
import type { RedisEviction } from '../../../server/observability/redis-eviction';
import { notAsked } from '../../../state/resilience/breaker';
import type { CircuitState } from '../../../state/resilience/circuit';
import { EarlyProbe } from '../../../state/resilience/early-probe';
import type { EventLoopLag } from '../../../state/resilience/event-loop-lag';
import { wrapServer, type WrappedServer } from '../../../state/resilience/wrap-redis';
import type { StoreMeasure } from '../../../state/store/layers/measured-store';
import type { Store } from '../../../state/store/port/store';
import { StoreError } from '../../../state/store/port/store-error';
import type { ServerName } from '../../../state/store/port/store-trace';
import { within } from '../../../state/store/port/time-left';
import { RedisSentinels } from '../../../state/store/redis/client/redis-sentinel';
import type { ConnectionState } from '../../../state/store/redis/client/redis-connection';
import { slotOfGroup } from '../../../state/store/redis/cluster-slots';
import { EvictionWatch } from '../../../state/store/redis/eviction-watch';
import { RedisStore, type BeatInput, type RunOptions, type ScriptRun } from '../../../state/store/redis/redis-store';
import { awaitToken, toClientOptions, toSocket, trustedBy, type SecuredConnection, type ServerConnection } from './redis-client-options';

/** A connection without any reply for 20 deadlines, and at least this long, is replaced. */
const SILENCE_MS_MIN = 1_000;
const SILENCE_OF_TIMEOUTS = 20;

/**
 * The least timeout of a script that decides nothing (reservation steps, control data, top keys, facts), in milliseconds. It exceeds that of
 * a decision, because a reservation step that is given up too early counts twice until the reservation lapses.
 */
const SCRIPT_TIMEOUT_MS = 250;

export function scriptTimeoutMs({ redisOpTimeoutMs }: Pick<Settings, 'redisOpTimeoutMs'>): number {
  return Math.max(redisOpTimeoutMs, SCRIPT_TIMEOUT_MS);
}

export interface OpenServerInput {
  readonly settings: Settings;
  readonly log: Logger;
  readonly breakers: Breakers;
  /** The reporter of servers that evict keys. Absent: another connection of this process watches them. */
  readonly eviction?: { readonly seen: RedisEviction; readonly store: string };
  /** The reporter of engines. Absent: another connection of this process reports them. */
  readonly engine?: Pick<RedisEngine, 'watch'>;
  readonly ownLag: EventLoopLag;
  /** Measures each command, and each call that is rejected before it becomes one. */
  readonly measure: StoreMeasure;
  readonly connection: ServerConnection;
  readonly onConnection: (state: ConnectionState) => void;
  readonly isClusterNode: boolean;
}

export class OpenedServer {
  readonly store: Store;
  /** For buckets of slots that the server is importing. */
  readonly importing: Store;
  private readonly redis: RedisStore;
  private readonly wrapped: WrappedServer;
  private readonly probe: EarlyProbe;
  private readonly watchedBreaker: WatchedBreaker;
  private readonly watchedEviction: ReturnType<RedisEviction['watch']> | undefined;
  private readonly evictionWatch: EvictionWatch | undefined;
  private readonly watchedEngine: WatchedEngine | undefined;
  /** The server in messages; behind sentinels the primary that they name. */
  private description: string;
  private name: ServerName | undefined;
  private isConnected = false;

  constructor(private readonly input: OpenServerInput) {
    const { connection, breakers, eviction } = input;
    const { place } = connection;
    this.description = connection.description;
    this.name = 'sentinels' in place ? undefined : nameOfPlace(place);
    this.watchedBreaker = breakers.watch();
    this.watchedEviction = eviction?.seen.watch();
    this.watchedEngine = input.engine?.watch();
    this.redis = this.makeRedis();
    this.evictionWatch =
      eviction &&
      new EvictionWatch({
        read: () => this.redis.readEviction(),
        onLook: (look) => {
          this.watchedEviction?.onLook({ ...look, address: this.description, store: eviction.store });
        },
      });
    this.wrapped = this.wrap();
    this.store = this.wrapped.store;
    this.importing = this.wrapped.beside(this.redis.importing);
    const { breaker, deadline } = this.wrapped;
    this.probe = new EarlyProbe({ ping: () => this.redis.ping(), breaker, allowedMs: () => deadline.allowedMs, nowMs });
  }

  private makeRedis(): RedisStore {
    const { settings, connection, log, isClusterNode } = this.input;
    const { place, tls } = connection;
    return new RedisStore({
      server: toClientOptions(connection, log),
      ...('sentinels' in place && { locator: openSentinels({ settings, place, tls }) }),
      isClusterNode,
      probe: { keyPrefix: settings.cacheKeyPrefix },
      ...trustedBy(tls),
      connectTimeoutMs: settings.redisConnectTimeoutMs,
      silenceMs: Math.max(SILENCE_MS_MIN, SILENCE_OF_TIMEOUTS * settings.redisOpTimeoutMs),
      inFlightMax: settings.redisInFlightMax,
      onConnection: (state) => {
        this.onConnection(state);
      },
    });
  }

  private wrap(): WrappedServer {
    const { settings, connection, ownLag, measure, isClusterNode } = this.input;
    return wrapServer(this.redis, {
      timeoutMs: settings.redisOpTimeoutMs,
      lagMs: () => ownLag.recentMs(),
      breaker: {
        failures: settings.redisBreakerFailures,
        windowMs: settings.redisBreakerWindowMs,
        openMs: settings.redisBreakerOpenMs,
        onState: (state) => {
          this.onBreaker(state);
        },
      },
      measure,
      partOf: isClusterNode ? slotOfGroup : () => 0,
      server: () => this.name,
      groupsMax: settings.redisInFlightMax,
      pipeline: connection.pipeline,
    });
  }

  private onConnection(state: ConnectionState): void {
    const { connected, address } = state;
    this.isConnected = connected;
    if (address !== undefined) {
      this.description = describePrimary(address, this.input.connection.description);
      this.name = nameOfAddress(address);
    }
    if (connected) {
      this.wrapped.breaker.reset();
      if (this.watchedEngine !== undefined) void this.reportEngine(this.watchedEngine);
      this.evictionWatch?.start();
    } else {
      this.evictionWatch?.stop();
    }
    this.input.onConnection(state);
  }

  /** Never rejects: a server that refuses the measurement is used without it. */
  private async reportEngine(watched: WatchedEngine): Promise<void> {
    const { redis, description: address } = this;
    const { engine } = redis;
    if (!watched.onConnected(address, engine)) return;
    const writeMs = await redis.measureWrite().catch(() => undefined);
    if (writeMs !== undefined) watched.onWrite(address, engine, writeMs);
  }

  private onBreaker(state: CircuitState): void {
    this.watchedBreaker.onState(state, { server: this.description, cause: this.wrapped.breaker.cause });
    if (state === 'gone') {
      this.evictionWatch?.stop();
      this.watchedEviction?.forget();
      this.watchedEngine?.forget();
    }
    this.probe.onState(state);
  }

  /** Starts to connect and retries until the store is closed. Resolves when connected, or after `waitMs`. */
  async connect(options: { readonly waitMs: number }): Promise<void> {
    await awaitToken(this.input.connection);
    await this.redis.connect(options);
  }

  readSlots(): ReturnType<RedisStore['readSlots']> {
    return this.redis.readSlots();
  }

  /** False: no slot belongs to the server, so its breaker decides nothing. */
  setInUse(isInUse: boolean): void {
    this.watchedBreaker.setInUse(isInUse);
  }

  /** Records in Redis that an instance lives or leaves; resolves to the number of live instances. */
  beat(heartbeat: BeatInput, options?: RunOptions): Promise<number> {
    return this.probe.closeIfInTime(() => this.redis.beat(heartbeat, options));
  }

  /** Runs a script. Rejects if the server is disconnected or its breaker is open. */
  async run<Answer>(call: ScriptRun<Answer>, { timeoutMs = Infinity, ...options }: RunOptions): Promise<Answer> {
    const { settings, measure } = this.input;
    if (!this.isConnected) throw new StoreError('Redis is not connected', 'connection', { mayHaveRun: false });
    if (!this.wrapped.breaker.isTrusted) throw notAsked();
    const startedMs = nowMs();
    try {
      const boundMs = Math.min(timeoutMs, scriptTimeoutMs(settings));
      return await within(this.redis.run(call, options), boundMs, { mayHaveRun: true });
    } catch (error) {
      if (error instanceof StoreError && error.reason !== 'redirected') measure.onError(error.reason);
      throw error;
    } finally {
      measure.onCall((nowMs() - startedMs) / 1_000);
    }
  }

  /** Whether the server, although it does not belong to a Redis Cluster, refuses a script with keys of several slots. */
  separatesSlots(): boolean {
    return this.redis.engine.separatesSlots;
  }

  /** Whether the server is connected and its breaker closed. */
  isThere(): boolean {
    return this.isConnected && this.wrapped.breaker.isTrusted;
  }
}

interface OpenSentinelsInput extends Pick<OpenServerInput, 'settings'> {
  readonly place: SentinelPlace;
  readonly tls: SecuredConnection['tls'];
}

export function openSentinels({ settings, place, tls }: OpenSentinelsInput): RedisSentinels {
  const toSocketOf = (address: HostPort) => toSocket(address, tls);
  return new RedisSentinels({ ...place, toSocket: toSocketOf, connectTimeoutMs: settings.redisConnectTimeoutMs, ...trustedBy(tls) });
}

function nameOfPlace(place: RedisServer['socket']): ServerName {
  return 'path' in place ? { address: place.path } : { address: place.host, port: place.port };
}

/** The primary that sentinels name, as `describeAddress` writes it. */
function nameOfAddress(text: string): ServerName {
  const [, ipv6, host = text, port] = /^(?:\[([^\]]*)\]|([^:]*)):(\d+)$/.exec(text) ?? [];
  return { address: ipv6 ?? host, ...(port !== undefined && { port: Number(port) }) };
}
