/** The options of the Redis client for a server: its place, credentials and TLS. */

import { isIP } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { RedisTls, RedisTlsMaterial } from '../../../configuration/settings/redis/redis-tls';
import type { RedisServer } from '../../../configuration/settings/redis/redis-url';
import type { ClusterPlace, RedisConnection } from '../../../configuration/settings/redis/store-choice';
import { readTrustedAuthorities } from '../../../configuration/settings/tls/trusted-authorities';
import { event } from '../../../server/observability/log/log-event';
import { monotonicNowMs } from '../../../lib/clock';
import { asError } from '../../../lib/errors';
import type { Logger } from '../../../server/observability/log/logger';
import type { RedisSocket } from '../../../state/store/redis/client/redis-connection';
import type { Identity } from './open-identity';
import type { RedisStoreOptions } from '../../../state/store/redis/redis-store';

export interface ServerConnection extends Omit<SecuredConnection, 'place'> {
  readonly place: Exclude<RedisConnection['place'], ClusterPlace>;
}

export function toClientOptions(connection: ServerConnection, log: Logger): RedisStoreOptions['server'] {
  const { place, tls, database, username, password, authFile, signedIn, description: address } = connection;
  const named = { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
  // A locator gives the socket behind sentinels.
  const server = { database, ...('sentinels' in place ? {} : { socket: () => toSocket(place, tls) }) };
  if (signedIn !== undefined) {
    const onRenewal = renewalLog(address, log);
    return { ...server, credentials: async () => (await signedIn)(onRenewal) };
  }
  if (authFile === undefined) return { ...server, ...named };
  const credentials = async () => ({
    ...named,
    ...(await authFile.read((problem) => {
      log.warn(event('redis_auth_file', { address, error: problem }), `Redis at ${address}: ${problem}`);
    })),
  });
  return { ...server, credentials };
}

/** Logs each trouble once, and its end. */
function renewalLog(address: string, log: Logger): (problem: string | undefined) => void {
  let trouble: string | undefined;
  return (problem) => {
    if (problem === trouble) return;
    trouble = problem;
    const fields = { address, ...(problem !== undefined && { error: problem }) };
    if (problem === undefined) log.info(event('redis_credentials', fields), `the credentials for Redis at ${address} are renewed again`);
    else
      log.warn(
        event('redis_credentials', fields),
        `the credentials for Redis at ${address} could not be renewed, its connection goes on, and Weir tries again: ${problem}`,
      );
  };
}

export function toSocket(place: RedisServer['socket'], tls: SecuredConnection['tls']): RedisSocket {
  if ('path' in place) return { ...place, tls: false };
  if (tls === false) return place;
  return {
    ...place,
    tls: true,
    secureContext: tls.context(),
    // Node sends no server name by default, and one address may serve several Redis servers by name.
    ...(isIP(place.host) === 0 && { servername: place.host }),
    ...(!tls.verifyHostname && { checkServerIdentity: () => undefined }),
  };
}

/** A connection with its certificates parsed: only when they change, because hundreds of CAs take milliseconds. */
export interface SecuredConnection extends Omit<RedisConnection, 'tls'> {
  readonly tls: SecuredTls | false;
  /** Replaces username, password and file. */
  readonly signedIn?: Promise<Identity> | undefined;
}

interface SecuredTls extends Pick<RedisTls, 'verifyHostname'> {
  /** The certificates for a connection that begins now. */
  readonly context: () => SecureContext;
  /** The trusted CAs, for messages. */
  readonly trusted: string;
}

/** Undefined: the settings have the credentials, or none, and nothing more is loaded. */
export function signIn({ identity }: Pick<RedisConnection, 'identity'>): Promise<Identity> | undefined {
  return identity && import('./open-identity.js').then(({ openIdentity }) => openIdentity(identity));
}

/** The wait for Redis begins after the first token, or after its failure: an identity may need longer than a connection. Never rejects. */
export async function awaitToken({ signedIn }: Pick<SecuredConnection, 'signedIn'>): Promise<void> {
  if (signedIn === undefined) return;
  const identity = await signedIn;
  await identity(() => undefined).catch(() => undefined);
}

/** `where`: the Redis in the log. */
export function secure(tls: RedisTls, { log, where }: { readonly log: Logger; readonly where: string }): SecuredTls {
  const description = tls.ca === undefined ? readTrustedAuthorities().description : 'only those of REDIS_TLS_CACERT';
  const certificates = new RedisCertificates(tls, { log, where });
  return { context: () => certificates.context(), trusted: description, verifyHostname: tls.verifyHostname };
}

/** Minimum time between two reads of the files: Weir asks sentinels for the primary more often. */
const REREAD_MS = 1_000;

/** The certificates of the files as they are when a connection begins; while the files are unusable, those before. */
class RedisCertificates {
  private used: string;
  private current: SecureContext;
  /** The last trouble, so that many attempts log it once. */
  private trouble: string | undefined;
  private readMs = monotonicNowMs();

  constructor(
    private readonly tls: RedisTls,
    private readonly options: { readonly log: Logger; readonly where: string },
  ) {
    this.used = stateOf(tls);
    this.current = contextOf(tls);
  }

  context(): SecureContext {
    const nowMs = monotonicNowMs();
    if (nowMs - this.readMs >= REREAD_MS) {
      this.readMs = nowMs;
      this.reread();
    }
    return this.current;
  }

  private reread(): void {
    const { log, where } = this.options;
    try {
      const material = this.tls.reread();
      const state = stateOf(material);
      if (state !== this.used) {
        this.current = contextOf(material);
        this.used = state;
        log.info(event('redis_tls_files', { address: where }), `the certificates for Redis at ${where} were read again`);
      }
      this.trouble = undefined;
    } catch (error) {
      const trouble = asError(error).message;
      if (trouble !== this.trouble)
        log.warn(
          event('redis_tls_files', { address: where, error: trouble }),
          `the certificates for Redis at ${where} cannot be used, so those before stay in use: ${trouble}`,
        );
      this.trouble = trouble;
    }
  }
}

function stateOf({ ca, identity }: RedisTlsMaterial): string {
  return JSON.stringify([ca, identity]);
}

function contextOf({ ca, identity }: RedisTlsMaterial): SecureContext {
  const certificates = ca === undefined ? readTrustedAuthorities().certificates : [ca];
  return createSecureContext({ ca: [...certificates], ...identity });
}

export function trustedBy(tls: SecuredConnection['tls']): Pick<RedisStoreOptions, 'trusted'> {
  return tls === false ? {} : { trusted: tls.trusted };
}
