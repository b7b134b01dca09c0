/** The options of the Redis client for a server: its place, credentials and TLS. */

import { isIP } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { RedisTls } from '../../../configuration/settings/redis/redis-tls';
import type { RedisServer } from '../../../configuration/settings/redis/redis-url';
import type { ClusterPlace, RedisConnection } from '../../../configuration/settings/redis/store-choice';
import { readTrustedAuthorities } from '../../../configuration/settings/tls/trusted-authorities';
import { event } from '../../../server/observability/log/log-event';
import type { Logger } from '../../../server/observability/log/logger';
import type { RedisStoreOptions } from '../../../state/store/redis/redis-store';

export interface ServerConnection extends Omit<SecuredConnection, 'place'> {
  readonly place: Exclude<RedisConnection['place'], ClusterPlace>;
}

export function toClientOptions(connection: ServerConnection, log: Logger): RedisStoreOptions['server'] {
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

export function toSocket(place: RedisServer['socket'], tls: SecuredConnection['tls']): NonNullable<RedisStoreOptions['server']['socket']> {
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
export interface SecuredConnection extends Omit<RedisConnection, 'tls'> {
  readonly tls: SecuredTls | false;
}

interface SecuredTls extends Pick<RedisTls, 'verifyHostname'> {
  readonly context: SecureContext;
  /** The trusted CAs, for messages. */
  readonly trusted: string;
}

export function secure({ ca, identity, verifyHostname }: RedisTls): SecuredTls {
  const named = { certificates: [ca ?? ''], description: 'only those of REDIS_TLS_CACERT' };
  const { certificates, description } = ca === undefined ? readTrustedAuthorities() : named;
  return { context: createSecureContext({ ca: [...certificates], ...identity }), trusted: description, verifyHostname };
}

export function trustedBy(tls: SecuredConnection['tls']): Pick<RedisStoreOptions, 'trusted'> {
  return tls === false ? {} : { trusted: tls.trusted };
}
