/** Connects to each Redis of the settings once, and says what Weir finds there. */

import { readSettings, type Environment, type Settings } from '../../../configuration/settings/table/settings';
import { chooseStore, type RedisConnection } from '../../../configuration/settings/redis/store-choice';
import { createLogger } from '../../../server/observability/log/logger';
import { describeAddress } from '../../../state/store/redis/client/address';
import type { Engine } from '../../../state/store/redis/engine-probe';
import { RedisStore } from '../../../state/store/redis/redis-store';
import { openSentinels } from './open-redis-server';
import { secure, signIn, toClientOptions, trustedBy, type SecuredConnection, type ServerConnection } from './redis-client-options';

/** More than a slow engine needs, and bounded: nobody waits for a server that is away. */
const WAIT_MS = 5_000;

/** One server, as it was found. */
export interface ProbedRedis {
  readonly address: string;
  /** Absent: it cannot be used, by `cause`. */
  readonly engine?: Engine;
  readonly cause?: string;
  /** A node of a Redis Cluster, whose scripts have keys of one slot anyway. */
  readonly isClusterNode: boolean;
  /** Time that a write adds to a round trip, in milliseconds. Absent: not measured. */
  readonly writeMs?: number;
  /** `maxmemory-policy`. Absent: not shown. */
  readonly policy?: string;
}

/**
 * Empty: the store is in memory.
 *
 * @throws SettingsError
 */
export async function probeRedis(env: Environment): Promise<readonly ProbedRedis[]> {
  const settings = readSettings(env);
  const choice = chooseStore(settings);
  if (choice.kind === 'memory') return [];
  const connections = [choice.connection, ...(choice.perSecond === undefined ? [] : [choice.perSecond])];
  return (await Promise.all(connections.map((connection) => probeConnection(connection, settings)))).flat();
}

function probeConnection({ tls, ...connection }: RedisConnection, settings: Settings): Promise<readonly ProbedRedis[]> {
  const log = createLogger({ level: 'fatal', format: settings.logFormat });
  const { place, description } = connection;
  const secured: SecuredConnection = {
    ...connection,
    tls: tls !== false && secure(tls, { log, where: description }),
    signedIn: signIn(connection),
  };
  if (!('seeds' in place)) return Promise.all([probeServer({ ...secured, place }, { settings, isClusterNode: false })]);
  const nodes = place.seeds.map((seed): ServerConnection => ({
    ...secured,
    place: seed,
    description: `${describeAddress(seed)}, of ${description}`,
  }));
  return Promise.all(nodes.map((node) => probeServer(node, { settings, isClusterNode: true })));
}

interface ProbeServerOptions {
  readonly settings: Settings;
  readonly isClusterNode: boolean;
}

async function probeServer(connection: ServerConnection, { settings, isClusterNode }: ProbeServerOptions): Promise<ProbedRedis> {
  const log = createLogger({ level: 'fatal', format: settings.logFormat });
  const { place, tls, description: address } = connection;
  const last = { isConnected: false, cause: `no answer within ${WAIT_MS} ms` };
  const store = new RedisStore({
    server: toClientOptions(connection, log),
    ...('sentinels' in place && { locator: openSentinels({ settings, place, tls }) }),
    ...trustedBy(tls),
    isClusterNode,
    probe: { keyPrefix: settings.cacheKeyPrefix },
    connectTimeoutMs: WAIT_MS,
    silenceMs: WAIT_MS,
    inFlightMax: 100,
    onConnection: (state) => {
      last.isConnected = state.connected;
      if (state.cause !== undefined) last.cause = state.cause;
    },
  });
  try {
    await store.connect({ waitMs: WAIT_MS });
    if (!last.isConnected) return { address, isClusterNode, cause: last.cause };
    const writeMs = await store.measureWrite().catch(() => undefined);
    const policy = await store.readEviction().then(
      (reading) => reading.policy,
      () => undefined,
    );
    return {
      address,
      isClusterNode,
      engine: store.engine,
      ...(writeMs !== undefined && { writeMs }),
      ...(policy !== undefined && { policy }),
    };
  } finally {
    await store.close();
  }
}
