/** Sessions of browsers: each stands for the credentials that opened it, until it is idle or too old. */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { hashOfSecret } from './secret-hash';

/** Most sessions; beyond it the one that was idle for longest ends. */
export const SESSIONS_MAX = 256;

/** Most sessions of one caller, whose longest idle one ends first: no caller ends those of others. */
export const CALLER_SESSIONS_MAX = 16;

/** A session ends after this time without a request, in milliseconds. */
export const SESSION_IDLE_MS = 1_800_000;

/** A session ends at this age, in milliseconds. */
export const SESSION_LIFE_MS = 43_200_000;

/** Bytes of an identifier, and of a CSRF token. */
const SECRET_BYTES = 32;

export interface Session {
  /** The value that its requests must send in the header X-Weir-CSRF when they write. */
  readonly csrf: string;
  /** The header Authorization that opened it. It is checked again at each request, so a session ends with its token. */
  readonly authorization: string;
  readonly openedAtMs: number;
}

export interface OpenedSession {
  /** The value of the cookie. */
  readonly id: string;
  readonly session: Session;
}

interface Kept {
  readonly session: Session;
  readonly caller: string;
  seenAtMs: number;
}

export class Sessions {
  /** By the hash of the identifier, the longest idle first. */
  private readonly kept = new Map<string, Kept>();

  /** `nowMs`: a monotonic clock. */
  constructor(private readonly nowMs: () => number) {}

  get size(): number {
    return this.kept.size;
  }

  open(authorization: string, caller: string): OpenedSession {
    const id = randomBytes(SECRET_BYTES).toString('base64url');
    const nowMs = this.nowMs();
    const session = { csrf: randomBytes(SECRET_BYTES).toString('base64url'), authorization, openedAtMs: nowMs };
    const own = [...this.kept].filter(([, kept]) => kept.caller === caller).map(([place]) => place);
    for (const longestIdle of own.slice(0, Math.max(0, own.length + 1 - CALLER_SESSIONS_MAX))) this.kept.delete(longestIdle);
    this.kept.set(hashOfSecret(id), { session, caller, seenAtMs: nowMs });
    for (const longestIdle of this.kept.keys()) {
      if (this.kept.size <= SESSIONS_MAX) break;
      this.kept.delete(longestIdle);
    }
    return { id, session };
  }

  /** Undefined: it does not exist, or has ended. */
  find(id: string): Session | undefined {
    const place = hashOfSecret(id);
    const known = this.kept.get(place);
    if (known === undefined) return undefined;
    const nowMs = this.nowMs();
    this.kept.delete(place);
    if (nowMs - known.seenAtMs >= SESSION_IDLE_MS || nowMs - known.session.openedAtMs >= SESSION_LIFE_MS) return undefined;
    this.kept.set(place, { ...known, seenAtMs: nowMs });
    return known.session;
  }

  end(id: string): void {
    this.kept.delete(hashOfSecret(id));
  }

  /** Milliseconds until the session is too old. */
  restMs({ openedAtMs }: Session): number {
    return Math.max(0, openedAtMs + SESSION_LIFE_MS - this.nowMs());
  }
}

/** In constant time. */
export function isCsrfOf({ csrf }: Session, sent: string | undefined): boolean {
  if (sent === undefined) return false;
  return timingSafeEqual(createHash('sha256').update(csrf).digest(), createHash('sha256').update(sent).digest());
}
