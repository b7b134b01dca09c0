/** Opens a Redis in each of its forms: one server, behind sentinels, or a cluster. */

import type { ClusterPlace, RedisConnection } from '../../../configuration/settings/redis/store-choice';
import type { Passed } from '../../../server/observability/log/absence-log';
import type { Health } from '../../../server/observability/health';
import type { Metrics } from '../../../server/observability/metrics/metrics';
import { watchConnection } from '../../../server/observability/redis-connection-watch';
import { describeAddress } from '../../../state/store/redis/client/address';
import type { ConnectionState } from '../../../state/store/redis/client/redis-connection';
import { RedisClusterStore } from '../../../state/store/redis/cluster/redis-cluster-store';
import type { BeatInput, RunScript } from '../../../state/store/redis/redis-store';
import type { Store } from '../../../state/store/port/store';
import { OpenedServer, scriptTimeoutMs, type OpenServerInput } from './open-redis-server';
import { awaitToken, secure, signIn, type SecuredConnection } from './redis-client-options';

export interface OpenRedisInput extends Omit<OpenServerInput, 'connection' | 'onConnection' | 'isClusterNode'> {
  readonly health: Health;
  readonly metrics: Metrics;
  /** Requests and hits decided without Redis since the start. */
  readonly passed: () => Passed;
  readonly connection: RedisConnection;
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
  readonly run: RunScript;
  /** Whether a script may have keys of one slot only. It may change with each connect. */
  separatesSlots(): boolean;
  /** Whether the server of the bucket is connected and its breaker closed. */
  isThere(bucketKey: string): boolean;
}

export function openRedis(input: OpenRedisInput): OpenedRedis {
  const { onConnected, health, log, degraded, passed } = input;
  const { tls, description: where } = input.connection;
  const connection = { ...input.connection, tls: tls !== false && secure(tls, { log, where }), signedIn: signIn(input.connection) };
  const { place } = connection;
  const notify = watchConnection({ health, log, degraded, passed, where, tls: tls !== false });
  const onConnection = (state: ConnectionState): void => {
    notify(state);
    if (state.connected && state.isUnchanged !== true) onConnected();
  };
  if ('seeds' in place) return openCluster({ ...input, connection, place, onConnection });
  return new OpenedServer({ ...input, connection: { ...connection, place }, onConnection, isClusterNode: false });
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
      return new OpenedServer({ ...input, connection: ofNode, onConnection: onNodeConnection, isClusterNode: true });
    },
  });
  return {
    store: redis,
    connect: async (options) => {
      await awaitToken(connection);
      await redis.connect(options);
    },
    beat: (heartbeat) => redis.beat(heartbeat),
    run: (call, { timeoutMs = Infinity, ...options }) =>
      redis.run(call, { ...options, timeoutMs: Math.min(timeoutMs, scriptTimeoutMs(settings)) }),
    separatesSlots: () => true,
    isThere: (bucketKey) => redis.isThere(bucketKey),
  };
}

interface OpenClusterInput extends Omit<OpenRedisInput, 'connection'> {
  readonly connection: SecuredConnection;
  readonly place: ClusterPlace;
  readonly onConnection: (state: ConnectionState) => void;
}
