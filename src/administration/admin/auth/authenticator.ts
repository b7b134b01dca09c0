/** Authenticates the callers of the admin API by tokens and JWTs, and limits failed tries. */

import type { AdminChoice } from '../../../configuration/settings/admin-choice';
import { AdminProblem } from '../problem';
import type { Caller } from '../role';
import { readKeys, readTokens } from './credential-files';
import { FailedTries } from './failed-tries';
import { makeJwtVerifier, type VerifyJwt } from './jwt-verifier';
import { ProvenCredentials } from './proven-credentials';
import type { TokenList } from './token-list';
import type { WatchedFile } from './watched-file';

/** Longest value of the header Authorization. */
const AUTHORIZATION_MAX = 8_192;

const BEARER = /^Bearer +([!-~]+) *$/i;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

export interface AuthenticatorOptions extends Pick<AdminChoice, 'needsAuth' | 'tokensFile' | 'jwt' | 'failedTriesMax'> {
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
  /** Called for each request without valid credentials. */
  readonly onFailedTry?: () => void;
  readonly onFileChange: (sentence: string) => void;
  readonly onFileProblem: (sentence: string) => void;
}

export interface Credentials {
  /** The header, as received. */
  readonly authorization: string | undefined;
  /** The address of the connection; headers of proxies are not trusted. */
  readonly address: string;
}

/** Everyone on this machine, with ADMIN_AUTH=off. */
const ANYONE: Caller = { name: 'anyone', role: 'admin' };

export class Authenticator {
  private readonly failed: FailedTries;
  private readonly proven = new ProvenCredentials();

  private constructor(
    private readonly options: AuthenticatorOptions,
    private readonly tokens: WatchedFile<TokenList> | undefined,
    private readonly keys: { readonly close: () => void } | undefined,
    private readonly verifyJwt: VerifyJwt | undefined,
  ) {
    this.failed = new FailedTries({ triesMax: options.failedTriesMax, nowMs: options.nowMs });
  }

  /** Rejects with SettingsError if a file is unusable. */
  static async open(options: AuthenticatorOptions): Promise<Authenticator> {
    const { jwt, onFileChange: onChange, onFileProblem: onProblem } = options;
    const tokens = readTokens(options, { onChange, onProblem });
    const keys = readKeys(options, { onChange, onProblem });
    const verifyJwt = jwt && keys && (await makeJwtVerifier({ ...jwt, keys: () => keys.content }));
    tokens?.watch();
    keys?.watch();
    return new Authenticator(options, tokens, keys, verifyJwt);
  }

  /** Rejects with AdminProblem unless the credentials are valid. */
  async authenticate({ authorization, address }: Credentials): Promise<Caller> {
    if (!this.options.needsAuth) return ANYONE;
    // A guess beyond the limit is never judged. Credentials that were valid before are judged, so nobody locks out their owners.
    const token = tokenOf(authorization);
    const retryAfterS = this.failed.retryAfterS(address);
    if (retryAfterS !== undefined && (token === undefined || !this.proven.has(token))) {
      this.options.onFailedTry?.();
      throw new AdminProblem('too-many-failed-tries', `too many requests without valid credentials; try again in ${retryAfterS} s`, {
        retryAfterS,
      });
    }
    const caller = await this.callerOf(token);
    if (token !== undefined && caller !== undefined) this.proven.add(token);
    if (caller !== undefined) return caller;
    if (token !== undefined) this.proven.delete(token);
    // Without credentials nothing was guessed: a browser asks so before somebody signs in.
    if (authorization !== undefined) {
      this.failed.record(address);
      this.options.onFailedTry?.();
    }
    const detail =
      authorization === undefined
        ? 'send the header Authorization: Bearer TOKEN'
        : 'the token is not one of ADMIN_TOKENS_FILE, nor a JWT that is valid now, with a subject and a role';
    throw new AdminProblem('unauthenticated', detail);
  }

  /** The caller of credentials that were valid before; undefined: they are not valid any more. That does not count as a failed try. */
  async recheck(authorization: string): Promise<Caller | undefined> {
    return this.options.needsAuth ? this.callerOf(tokenOf(authorization)) : ANYONE;
  }

  close(): void {
    this.tokens?.close();
    this.keys?.close();
  }

  private async callerOf(token: string | undefined): Promise<Caller | undefined> {
    if (token === undefined) return undefined;
    return this.tokens?.content.find(token) ?? (JWT.test(token) ? await this.verifyJwt?.(token) : undefined);
  }
}

/** The bearer token of the header. Undefined: there is none, or the header is too long. */
function tokenOf(authorization = ''): string | undefined {
  return authorization.length > AUTHORIZATION_MAX ? undefined : BEARER.exec(authorization)?.[1];
}
