/** Decides which store counts the hits: Redis, and how to reach it, or the memory of this process. */

import { parseRedisAuth, RedisAuthFile } from './redis-auth';
import { readRedisTls, type RedisTls, type RedisTlsSettings } from './redis-tls';
import { parseRedisUrl, type RedisServer } from './redis-url';
import type { Settings } from './settings';
import { SettingsError } from './settings-error';

/** The reference's default of REDIS_URL. */
const REDIS_SOCKET_DEFAULT = '/var/run/nutcracker/ratelimit.sock';

export type StoreChoice =
  /** With a warning if nobody asked for it. */
  | { readonly kind: 'memory'; readonly warning?: string }
  | { readonly kind: 'redis'; readonly connection: RedisConnection };

export interface RedisConnection extends Omit<RedisServer, 'tls'> {
  readonly tls: RedisTls | false;
  /** Wins over username and password. */
  readonly authFile?: RedisAuthFile;
  /** For logs: where the server is, without its password. */
  readonly description: string;
}

export type StoreSettings = RedisTlsSettings &
  Pick<Settings, 'backendType' | 'redisUrl' | 'redisSocketType' | 'redisAuth' | 'redisAuthFile' | 'runtimeRoot'>;

/** Throws SettingsError if no store can be chosen. */
export function chooseStore(settings: StoreSettings): StoreChoice {
  const { backendType, redisUrl, runtimeRoot } = settings;
  if (backendType === 'memory') return { kind: 'memory' };
  if (backendType === 'redis' || redisUrl !== undefined) return { kind: 'redis', connection: chooseConnection(settings) };
  if (runtimeRoot === undefined) {
    const warning =
      'Hits are counted in the memory of this process alone, because neither BACKEND_TYPE nor REDIS_URL is set; ' +
      'set REDIS_URL to share them between instances, or BACKEND_TYPE=memory to keep it so.';
    return { kind: 'memory', warning };
  }
  const message =
    'neither it nor REDIS_URL is set, but RUNTIME_ROOT is: several instances would each keep their own counts; ' +
    'set REDIS_URL, or BACKEND_TYPE=memory if that is what you want';
  throw new SettingsError([{ name: 'BACKEND_TYPE', message }]);
}

function chooseConnection(settings: StoreSettings): RedisConnection {
  const { redisUrl, redisSocketType } = settings;
  const server: RedisServer =
    redisUrl === undefined
      ? { socket: { path: REDIS_SOCKET_DEFAULT }, tls: false, database: 0 }
      : parseRedisUrl(redisUrl, redisSocketType);
  const tls = readRedisTls({ settings, askedByUrl: server.tls, isUnixSocket: 'path' in server.socket });
  return { ...server, tls, ...readAuth(settings), description: describe({ ...server, tls: tls !== false }) };
}

function readAuth({ redisAuth, redisAuthFile }: StoreSettings): Pick<RedisConnection, 'username' | 'password' | 'authFile'> {
  if (redisAuthFile === undefined) return redisAuth === undefined ? {} : parseRedisAuth(redisAuth);
  if (redisAuth === undefined) return { authFile: new RedisAuthFile(redisAuthFile) };
  throw new SettingsError([{ name: 'REDIS_AUTH_FILE', message: 'it is set, and REDIS_AUTH too; set one of the two' }]);
}

function describe({ socket, tls, database }: RedisServer): string {
  if ('path' in socket) return `unix socket ${socket.path}`;
  const host = socket.host.includes(':') ? `[${socket.host}]` : socket.host;
  return `${tls ? 'rediss' : 'redis'}://${host}:${socket.port}/${database}`;
}
