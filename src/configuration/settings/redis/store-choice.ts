/** Chooses the store that counts hits, Redis or the embedded one, and how to reach Redis. */

import { redisPlace, type RedisPlaceSettings } from './redis-place';
import { chooseIdentity, parseRedisAuth, RedisAuthFile, type RedisAuth, type RedisIdentity } from './redis-auth';
import type { RedisSettings } from './redis-settings';
import { readRedisTls, type RedisTls } from './redis-tls';
import { asPerSecond, perSecondWarning, settingsByRedis, type PerSecondSettings } from './per-second-redis';
import { parseClusterUrl, parseRedisUrl, parseSentinelUrl, type HostPort, type RedisServer, type SentinelGroup } from './redis-url';
import type { Settings } from '../table/settings';
import { SettingsError } from '../table/settings-error';

/** The reference's defaults of REDIS_URL and REDIS_PERSECOND_URL. */
const REDIS_SOCKET_DEFAULT = '/var/run/nutcracker/ratelimit.sock';
const PERSECOND_SOCKET_DEFAULT = '/var/run/nutcracker/ratelimitpersecond.sock';

export type StoreChoice =
  /** Has a warning if no setting asked for it. */
  | { readonly kind: 'memory'; readonly warning?: string }
  | {
      readonly kind: 'redis';
      readonly connection: RedisConnection;
      /** For limits of one second. */
      readonly perSecond?: RedisConnection;
      /** Names settings without effect. */
      readonly warning?: string;
    };

export interface RedisConnection extends Omit<RedisServer, 'tls' | 'socket'> {
  readonly place: RedisServer['socket'] | SentinelPlace | ClusterPlace;
  readonly tls: RedisTls | false;
  /** Replaces username and password. */
  readonly authFile?: RedisAuthFile;
  /** Replaces them too. */
  readonly identity?: RedisIdentity;
  /** The address for logs, without the password. */
  readonly description: string;
  /** How long calls wait for others that then share their command. */
  readonly pipeline: { readonly windowMs: number; readonly limit: number };
}

/** The primary that the sentinels name. */
export interface SentinelPlace extends SentinelGroup {
  /** Credentials for the sentinels. */
  readonly auth: Partial<RedisAuth>;
}

/** The owner of each slot, as these nodes and the nodes that they name report it. */
export interface ClusterPlace {
  readonly seeds: readonly HostPort[];
}

export type StoreSettings = RedisSettings &
  RedisPlaceSettings &
  PerSecondSettings &
  Pick<Settings, 'backendType' | 'runtimeRoot' | 'configType'>;

/** Throws SettingsError if no store can be chosen. */
export function chooseStore(given: StoreSettings): StoreChoice {
  // REDIS_HOST cannot name a primary and its sentinels.
  const settings = given.redisType === 'sentinel' ? given : { ...given, redisUrl: redisPlace(given) };
  const { backendType, redisUrl, redisType } = settings;
  if (backendType === 'memory') return { kind: 'memory' };
  if (backendType === 'redis' || redisUrl !== undefined || redisType !== 'single') return chooseRedis(settings);
  const shared = sharedConfig(settings);
  if (shared === undefined) {
    const warning =
      'Hits are counted in the memory of this process alone, because neither BACKEND_TYPE nor REDIS_URL is set; ' +
      'set REDIS_URL to share them between instances, or BACKEND_TYPE=memory to keep it so.';
    return { kind: 'memory', warning };
  }
  const message =
    `neither it nor REDIS_URL is set, but ${shared}: several instances would each keep their own counts; ` +
    'set REDIS_URL, or BACKEND_TYPE=memory if that is what you want';
  throw new SettingsError([{ name: 'BACKEND_TYPE', message }]);
}

/** The setting that suggests several instances with one configuration. */
function sharedConfig({ configType, runtimeRoot }: Pick<StoreSettings, 'configType' | 'runtimeRoot'>): string | undefined {
  if (configType === 'GRPC_XDS_SOTW') return 'CONFIG_TYPE is GRPC_XDS_SOTW';
  return runtimeRoot === undefined ? undefined : 'RUNTIME_ROOT is';
}

function chooseRedis(settings: StoreSettings): StoreChoice {
  const { main, perSecond } = settingsByRedis(settings);
  const connection = chooseConnection(main, REDIS_SOCKET_DEFAULT);
  const second = perSecond && choosePerSecond(perSecond);
  const warning = perSecondWarning(settings) ?? tokenWarning([connection, ...(second ? [second] : [])]);
  return {
    kind: 'redis',
    connection,
    ...(second && { perSecond: second }),
    ...(warning !== undefined && { warning }),
  };
}

/** Not refused: a sidecar may encrypt what Weir sends. */
function tokenWarning(connections: readonly RedisConnection[]): string | undefined {
  const clear = connections.find(({ identity, tls, place }) => identity !== undefined && tls === false && !('path' in place));
  return (
    clear && `Weir sends tokens to Redis at ${clear.description} without TLS; set REDIS_TLS=true unless a proxy beside Weir encrypts them.`
  );
}

/** The description names the role, because both may be at one address, in two databases or clusters. */
function choosePerSecond(settings: RedisSettings): RedisConnection {
  const connection = asPerSecond(() => chooseConnection(settings, PERSECOND_SOCKET_DEFAULT));
  return { ...connection, description: `${connection.description} (limits of one second)` };
}

function chooseConnection(settings: RedisSettings, socketDefault: string): RedisConnection {
  // Timers count whole milliseconds.
  const pipeline = { windowMs: Math.round(settings.redisPipelineWindowMs), limit: settings.redisPipelineLimit };
  return { ...chooseServer(settings, socketDefault), pipeline };
}

type ChosenServer = Omit<RedisConnection, 'pipeline'>;

function chooseServer(settings: RedisSettings, socketDefault: string): ChosenServer {
  const { redisType, redisSentinelAuth } = settings;
  if (redisType === 'sentinel') return chooseSentinels(settings);
  if (redisSentinelAuth !== undefined) {
    throw new SettingsError([
      { name: 'REDIS_SENTINEL_AUTH', message: `it is set, but REDIS_TYPE is ${redisType}; set REDIS_TYPE=sentinel, or leave it unset` },
    ]);
  }
  return redisType === 'cluster' ? chooseCluster(settings) : chooseSingle(settings, socketDefault);
}

function chooseSingle(settings: RedisSettings, socketDefault: string): ChosenServer {
  const { redisUrl, redisSocketType } = settings;
  const { socket, ...server }: RedisServer =
    redisUrl === undefined ? { socket: { path: socketDefault }, tls: false, database: 0 } : parseRedisUrl(redisUrl, redisSocketType);
  const tls = readRedisTls({ settings, isTlsUrl: server.tls, isUnixSocket: 'path' in socket });
  return { ...server, place: socket, tls, ...readAuth(settings), description: describe({ ...server, socket, tls: tls !== false }) };
}

/** Always database 0, because the form of REDIS_URL cannot name another. */
function chooseSentinels(settings: RedisSettings): ChosenServer {
  const { redisUrl, redisSentinelAuth } = settings;
  if (redisUrl === undefined) {
    const message = 'REDIS_TYPE is sentinel, and it is not set; write it as NAME,host1:26379,host2:26379';
    throw new SettingsError([{ name: 'REDIS_URL', message }]);
  }
  const { masterName, sentinels } = parseSentinelUrl(redisUrl);
  const auth = redisSentinelAuth === undefined ? {} : parseRedisAuth(redisSentinelAuth);
  const tls = readRedisTls({ settings, isTlsUrl: false, isUnixSocket: false });
  const description = `${masterName}, asking the sentinels ${sentinels.map(describeHostPort).join(', ')}`;
  return { place: { masterName, sentinels, auth }, database: 0, tls, ...readAuth(settings), description };
}

/** Always database 0: a cluster has only that one. */
function chooseCluster(settings: RedisSettings): ChosenServer {
  const { redisUrl } = settings;
  if (redisUrl === undefined) {
    const message = 'REDIS_TYPE is cluster, and it is not set; write it as host1:6379,host2:6379';
    throw new SettingsError([{ name: 'REDIS_URL', message }]);
  }
  const seeds = parseClusterUrl(redisUrl);
  const tls = readRedisTls({ settings, isTlsUrl: false, isUnixSocket: false });
  const description = `the cluster of ${seeds.map(describeHostPort).join(', ')}`;
  return { place: { seeds }, database: 0, tls, ...readAuth(settings), description };
}

function readAuth(settings: RedisSettings): Pick<RedisConnection, 'username' | 'password' | 'authFile' | 'identity'> {
  const { redisAuth, redisAuthFile } = settings;
  const identity = chooseIdentity(settings);
  if (identity !== undefined) return { identity };
  if (redisAuthFile === undefined) return redisAuth === undefined ? {} : parseRedisAuth(redisAuth);
  if (redisAuth === undefined) return { authFile: new RedisAuthFile(redisAuthFile) };
  throw new SettingsError([{ name: 'REDIS_AUTH_FILE', message: 'it is set, and REDIS_AUTH too; set one of the two' }]);
}

function describe({ socket, tls, database }: RedisServer): string {
  if ('path' in socket) return `unix socket ${socket.path}`;
  return `${tls ? 'rediss' : 'redis'}://${describeHostPort(socket)}/${database}`;
}

function describeHostPort({ host, port }: HostPort): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
