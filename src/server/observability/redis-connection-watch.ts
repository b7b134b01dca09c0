/** Reports the connection to a Redis to health and log: each outage once, with its causes. */

import { monotonicNowMs as nowMs } from '../../lib/clock';
import type { ConnectionState } from '../../state/store/redis/client/redis-connection';
import type { Health } from './health';
import { AbsenceLog, type Passed } from './log/absence-log';
import { event } from './log/log-event';
import type { Logger } from './log/logger';

/** Causes that are logged for one outage. Bounded, because a cause may contain an address, which changes. */
const CAUSES_MAX = 3;

export interface WatchConnectionInput {
  readonly health: Health;
  readonly log: Logger;
  /** The line in the body of the health check during an outage. */
  readonly degraded: string;
  /** Requests and hits decided without Redis since the start. */
  readonly passed: () => Passed;
  /** Describes the Redis. */
  readonly where: string;
  /** Whether the connection uses TLS. */
  readonly tls: boolean;
}

/**
 * Reports each change once to health and log, although connecting is retried many times. The cause may change during an outage, and
 * the last one is what an operator must fix: a server restarted with a password first hangs up, then answers NOAUTH.
 */
export function watchConnection({ health, log, where, degraded, passed, tls }: WatchConnectionInput): (state: ConnectionState) => void {
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
      absence.begin(`no Redis at ${where} (${cause}${adviceOn(cause, { hasTls: tls })}): failure modes decide until it is back`, cause);
    }
  };
}

/** A server with TLS hangs up on a client without, and the other way round TLS finds no handshake. */
function adviceOn(cause: string, { hasTls }: { readonly hasTls: boolean }): string {
  if (!hasTls && /ECONNRESET|EPIPE|Socket closed/.test(cause)) return '; if this port speaks TLS, set REDIS_TLS=true';
  if (!hasTls) return '';
  if (/wrong version number|packet length too long/.test(cause)) return '; this port speaks no TLS';
  // Redis waits for the rest of a command that it takes the handshake for.
  return cause.startsWith('no answer within') ? '; if this port speaks no TLS, use redis:// without REDIS_TLS' : '';
}

/** The primary that sentinels name. */
export function describePrimary(address: string, where: string): string {
  return `${address}, the primary of ${where}`;
}
