/** Decides which store counts the hits: Redis, and how to reach it, or the memory of this process. */

import { parseRedisUrl, type RedisServer } from './redis-url';
import type { Settings } from './settings';
import { SettingsError } from './settings-error';

/** The reference's default of REDIS_URL. */
const REDIS_SOCKET_DEFAULT = '/var/run/nutcracker/ratelimit.sock';

export type StoreChoice =
  /** With a warning if nobody asked for it. */
  | { readonly kind: 'memory'; readonly warning?: string }
  | { readonly kind: 'redis'; readonly connection: RedisConnection };

export interface RedisConnection extends RedisServer {
  /** For logs: where the server is, without its password. */
  readonly description: string;
}

export type StoreSettings = Pick<Settings, 'backendType' | 'redisUrl' | 'redisSocketType' | 'redisAuth' | 'runtimeRoot'>;

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
  const { redisUrl, redisSocketType, redisAuth } = settings;
  const server: RedisServer =
    redisUrl === undefined
      ? { socket: { path: REDIS_SOCKET_DEFAULT }, tls: false, database: 0 }
      : parseRedisUrl(redisUrl, redisSocketType);
  return { ...server, ...readAuth(redisAuth), description: describe(server) };
}

/** `password` or `user:password`, split at the first colon as the reference does. */
function readAuth(auth: string | undefined): { username?: string; password?: string } {
  if (auth === undefined) return {};
  const colon = auth.indexOf(':');
  return colon < 0 ? { password: auth } : { username: auth.slice(0, colon), password: auth.slice(colon + 1) };
}

function describe({ socket, tls, database }: RedisServer): string {
  if ('path' in socket) return `unix socket ${socket.path}`;
  const host = socket.host.includes(':') ? `[${socket.host}]` : socket.host;
  return `${tls ? 'rediss' : 'redis'}://${host}:${socket.port}/${database}`;
}
