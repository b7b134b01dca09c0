/** The tokens of ADMIN_TOKENS_FILE: a name, a role and a hash for each, and for the role `tenant` its domain and tenant. */

import { createHash, timingSafeEqual } from 'node:crypto';
import { isRole, ROLES, type Caller } from '../role';

/** Most tokens in a file: each try is compared with all of them. */
const TOKENS_MAX = 1_000;

/** The names of JWT callers begin so. */
export const JWT_NAMES = 'jwt:';

const NAME = /^[!-~]{1,64}$/;
const SHA256 = /^[0-9a-f]{64}$/i;

interface Token extends Caller {
  readonly hash: Buffer;
}

export class TokenListError extends Error {
  override readonly name = 'TokenListError';
}

export class TokenList {
  private constructor(private readonly tokens: readonly Token[]) {}

  /**
   * Reads lines of the form `NAME ROLE SHA256`, or `NAME tenant SHA256 DOMAIN TENANT`. Empty lines, and those that begin with #, are skipped.
   *
   * @throws TokenListError which names the line, but never its hash
   */
  static read(text: string): TokenList {
    const tokens: Token[] = [];
    for (const [index, line] of text.split(/\r?\n/).entries()) {
      const trimmed = line.trim();
      if (trimmed === '' || trimmed.startsWith('#')) continue;
      const token = readToken(trimmed.split(/\s+/), `line ${index + 1}`);
      if (tokens.some(({ name }) => name === token.name))
        throw new TokenListError(`line ${index + 1}: the name is taken by an earlier line`);
      tokens.push(token);
      if (tokens.length > TOKENS_MAX) throw new TokenListError(`it has more than ${TOKENS_MAX} tokens`);
    }
    return new TokenList(tokens);
  }

  get size(): number {
    return this.tokens.length;
  }

  /** The caller with this token. Compares with every hash, in constant time. */
  find(token: string): Caller | undefined {
    const hash = createHash('sha256').update(token).digest();
    let found: Caller | undefined;
    for (const each of this.tokens) if (timingSafeEqual(each.hash, hash)) found = callerOf(each);
    return found;
  }
}

function callerOf({ name, role, tenant }: Token): Caller {
  return tenant === undefined ? { name, role } : { name, role, tenant };
}

function readToken([name = '', role, hash = '', domain, tenant, ...rest]: readonly string[], place: string): Token {
  if (!NAME.test(name)) throw new TokenListError(`${place}: the name must have 1 to 64 printable characters`);
  if (name.startsWith(JWT_NAMES)) throw new TokenListError(`${place}: the name must not begin with ${JWT_NAMES}, as those of JWTs do`);
  if (!isRole(role)) throw new TokenListError(`${place}: the role must be ${ROLES.join(', ')}`);
  const isForTenant = role === 'tenant';
  if (!SHA256.test(hash) || rest.length > 0 || (domain !== undefined && !isForTenant))
    throw new TokenListError(`${place}: the third word must be the SHA-256 of the token, in 64 hexadecimal digits`);
  const token = { name, role, hash: Buffer.from(hash, 'hex') };
  if (!isForTenant) return token;
  if (domain === undefined || tenant === undefined)
    throw new TokenListError(`${place}: the role tenant needs a domain and a tenant after the SHA-256`);
  return { ...token, tenant: { domain, tenant } };
}
