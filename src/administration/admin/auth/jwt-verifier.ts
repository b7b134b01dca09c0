/** Checks JWTs against an issuer, an audience and a set of public keys. */

import { createHash } from 'node:crypto';
import type { JSONWebKeySet, JWTPayload } from 'jose' with { 'resolution-mode': 'import' };
import type { JwtChoice } from '../../../configuration/settings/admin-choice';
import { RECORD_BOUNDS } from '../../../state/control/control-record';
import { highestRole, type Caller } from '../role';
import { JWT_NAMES } from './token-list';

/** Only public-key signatures: with HMAC, everyone who can check a token can make one. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

/** Difference between the clocks of the issuer and of this machine, in seconds. */
const CLOCK_TOLERANCE_S = 5;

/** Longest `sub`, in UTF-16 units. */
const SUBJECT_MAX = 256;

/** Letters of a longer subject's SHA-256, which keeps two apart that begin alike. */
const HASH_LETTERS = 16;

/** The claims of a JWT with the role `tenant`. */
const DOMAIN_CLAIM = 'weir_domain';
const TENANT_CLAIM = 'weir_tenant';

export type VerifyJwt = (token: string) => Promise<Caller | undefined>;

export interface JwtVerifierOptions extends Pick<JwtChoice, 'issuer' | 'audience' | 'roleClaim'> {
  /** The keys in use. */
  readonly keys: () => JSONWebKeySet;
}

/** Imports jose, and resolves to a function that resolves to the caller, or to undefined for an invalid token. */
export async function makeJwtVerifier({ issuer, audience, roleClaim, keys }: JwtVerifierOptions): Promise<VerifyJwt> {
  const { createLocalJWKSet, jwtVerify } = await import('jose');
  let used: JSONWebKeySet | undefined;
  let getKey: ReturnType<typeof createLocalJWKSet> | undefined;
  return async (token) => {
    const current = keys();
    if (getKey === undefined || current !== used) getKey = createLocalJWKSet(current);
    used = current;
    try {
      const { payload } = await jwtVerify(token, getKey, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_S,
        requiredClaims: ['exp', 'sub'],
      });
      return callerOf(payload, roleClaim);
    } catch {
      // jose throws for every invalid token, and a reason would help an attacker only.
      return undefined;
    }
  };
}

function callerOf(payload: JWTPayload, roleClaim: string): Caller | undefined {
  const claim = payload[roleClaim];
  const role = highestRole(Array.isArray(claim) ? claim : [claim]);
  const { sub } = payload;
  if (role === undefined || sub === undefined || sub === '' || sub.length > SUBJECT_MAX) return undefined;
  if (role !== 'tenant') return { name: nameOf(sub), role };
  const { [DOMAIN_CLAIM]: domain, [TENANT_CLAIM]: tenant } = payload;
  if (typeof domain !== 'string' || typeof tenant !== 'string' || domain === '' || tenant === '') return undefined;
  return { name: nameOf(sub), role, tenant: { domain, tenant } };
}

/**
 * The name in the audit log: no token has it, and no other subject.
 *
 * @throws URIError if the subject has half of a surrogate pair
 */
function nameOf(subject: string): string {
  // Only a shortened name has a ~ that is not escaped.
  const name = `${JWT_NAMES}${encodeURI(subject).replaceAll('~', '%7E')}`;
  if (name.length <= RECORD_BOUNDS.authorBytes) return name;
  const hash = createHash('sha256').update(subject).digest('base64url').slice(0, HASH_LETTERS);
  return `${name.slice(0, RECORD_BOUNDS.authorBytes - 1 - HASH_LETTERS)}~${hash}`;
}

/** @throws Error if the text is not a set of public keys */
export function parseJwks(text: string): JSONWebKeySet {
  const set: unknown = JSON.parse(text);
  if (!isKeySet(set)) throw new Error('it is not a JSON Web Key Set with at least one key');
  if (set.keys.some((key) => 'd' in key || 'k' in key)) throw new Error('it has a private or secret key; use public keys only');
  return set;
}

function isKeySet(value: unknown): value is JSONWebKeySet {
  if (typeof value !== 'object' || value === null || !('keys' in value) || !Array.isArray(value.keys)) return false;
  return value.keys.length > 0 && value.keys.every((key) => typeof key === 'object' && key !== null && 'kty' in key);
}
