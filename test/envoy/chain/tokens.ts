/** Tokens of callers, as the login service of deploy/envoy/envoy.yaml would sign them, and the keys that the tested Envoy verifies them with. */
import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import type { Replacements } from '../../support/servers/envoy';

export interface Claims {
  readonly sub?: string;
  readonly team?: string;
  readonly plan?: string;
  readonly merchant?: string;
  readonly iss?: string;
  readonly aud?: string;
  /** Seconds since 1970; absent: in an hour. */
  readonly exp?: number;
}

const ISSUER = 'https://login.example.com';
const AUDIENCE = 'payments';
const LIFE_S = 3600;

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** The coordinates of the published key, and of the one that signs here. */
export const KEYS: Replacements = keysWith(publicKey);

export function tokenOf(claims: Claims, key: KeyObject = privateKey): string {
  const payload = { iss: ISSUER, aud: AUDIENCE, exp: Math.floor(Date.now() / 1000) + LIFE_S, ...claims };
  const signed = `${encode({ alg: 'ES256', typ: 'JWT' })}.${encode(payload)}`;
  return `${signed}.${sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

/** The header of a caller with such a token. */
export function bearer(claims: Claims): { readonly authorization: string } {
  return { authorization: `Bearer ${tokenOf(claims)}` };
}

/** Of nobody: `alg` is `none`. */
export function unsignedToken(claims: Claims): string {
  return `${encode({ alg: 'none', typ: 'JWT' })}.${encode({ iss: ISSUER, aud: AUDIENCE, exp: Math.floor(Date.now() / 1000) + LIFE_S, ...claims })}.`;
}

export function otherKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

function keysWith(key: KeyObject): Replacements {
  const { x, y } = key.export({ format: 'jwk' });
  return {
    '"x":"mZDkOrFbUSNewa5KKu-LcIddPL9DhyOpLQHxj4WdQ5U"': `"x":"${x ?? ''}"`,
    '"y":"2pWJH5l1pbORObhXK93GisgFRfo8H57BobCY-ryR5Sw"': `"y":"${y ?? ''}"`,
  };
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
