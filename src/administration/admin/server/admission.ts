/** Admits requests before their bodies are read: checks the host, the credentials or the session, and the CSRF token of writes. */

import type { FastifyRequest } from 'fastify';
import { isLoopback } from '../../../configuration/settings/admin-choice';
import type { Authenticator } from '../auth/authenticator';
import type { SessionCookie } from '../auth/session-cookie';
import { isCsrfOf, Sessions, type Session } from '../auth/sessions';
import { AdminProblem } from '../problem';
import type { Caller } from '../role';
import type { SessionDesk } from '../route/route';

export interface AdmissionOptions {
  readonly needsAuth: boolean;
  readonly authenticator: Pick<Authenticator, 'authenticate' | 'recheck'>;
  readonly cookie: SessionCookie;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

interface Admitted {
  readonly caller: Caller;
  readonly session?: { readonly id: string; readonly session: Session };
}

export class Admission {
  private readonly admitted = new WeakMap<FastifyRequest, Admitted>();
  private readonly sessions: Sessions;

  constructor(private readonly options: AdmissionOptions) {
    this.sessions = new Sessions(options.nowMs);
  }

  /** Without credentials, a web page whose name resolves to this machine could use the browser of an operator. */
  checkHost({ hostname }: FastifyRequest): void {
    if (!this.options.needsAuth && !isLoopback(hostname))
      throw new AdminProblem('misdirected', 'ADMIN_AUTH is off, so only requests to a loopback host are answered');
  }

  /** Rejects with AdminProblem unless the credentials are valid. */
  async admit(request: FastifyRequest): Promise<void> {
    this.checkHost(request);
    const { authenticator, cookie, needsAuth } = this.options;
    const { authorization } = request.headers;
    const id = needsAuth && authorization === undefined ? cookie.read(request.headers.cookie) : undefined;
    this.admitted.set(
      request,
      id === undefined
        ? { caller: await authenticator.authenticate({ authorization, address: request.socket.remoteAddress ?? '' }) }
        : await this.bySession(id, request),
    );
    // A proxy for single sign-on adds the token to each request of a browser, also to those that pages of other sites cause.
    if (request.method !== 'GET') checkSite(request);
  }

  callerOf(request: FastifyRequest): Caller {
    return this.of(request).caller;
  }

  deskOf(request: FastifyRequest): SessionDesk {
    const { session: own, caller } = this.of(request);
    const { authorization } = request.headers;
    const { needsAuth: needsSignIn } = this.options;
    const shown = (session: Session) => ({ csrf: session.csrf, restMs: this.sessions.restMs(session) });
    return {
      needsSignIn,
      current: own && shown(own.session),
      open: () => {
        if (!needsSignIn || authorization === undefined) return undefined;
        const { id, session } = this.sessions.open(authorization, caller.name);
        return { id, ...shown(session) };
      },
      end: () => {
        if (own !== undefined) this.sessions.end(own.id);
      },
    };
  }

  private of(request: FastifyRequest): Admitted {
    const admitted = this.admitted.get(request);
    if (admitted === undefined) throw new Error('a request passed without authentication');
    return admitted;
  }

  private async bySession(id: string, request: FastifyRequest): Promise<Admitted> {
    const session = this.sessions.find(id);
    const caller = session && (await this.options.authenticator.recheck(session.authorization));
    if (session === undefined || caller === undefined) {
      this.sessions.end(id);
      throw new AdminProblem('unauthenticated', 'the session has ended; sign in again');
    }
    checkSource(request, session);
    return { caller, session: { id, session } };
  }
}

/** A page of another site must neither read nor write with the cookie. SameSite=Strict says so too, but not between ports of a host. */
function checkSource(request: FastifyRequest, session: Session): void {
  checkSite(request);
  if (request.method === 'GET') return;
  const { 'x-weir-csrf': sent } = request.headers;
  if (!isCsrfOf(session, typeof sent === 'string' ? sent : undefined))
    throw new AdminProblem('forbidden', 'a write by a session needs the header X-Weir-CSRF; GET /v1/session has its value');
}

/** Browsers say which site caused a request. Other clients do not send the header. */
function checkSite({ headers: { 'sec-fetch-site': site } }: FastifyRequest): void {
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    throw new AdminProblem('forbidden', 'the request comes from a page of another site; only pages of this server may send it');
}
