/** Signs events as Standard Webhooks 1.0 says: HMAC-SHA256 over id, time and body. */

import { createHmac } from 'node:crypto';

/** Before a secret in Base64, as other programs write it. */
const PREFIX = 'whsec_';

export interface SignedInput {
  readonly id: string;
  readonly timestampS: number;
  readonly body: string;
}

/** The bytes of a secret as it is written. */
export function secretBytes(secret: string): Buffer {
  return secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : Buffer.from(secret, 'utf8');
}

/** With several secrets, while receivers change from one to the next, one signature of each. */
export function signatureHeaders({ id, timestampS, body }: SignedInput, secrets: readonly Buffer[]): Record<string, string> {
  const signed = `${id}.${timestampS}.${body}`;
  const signatures = secrets.map((secret) => `v1,${createHmac('sha256', secret).update(signed, 'utf8').digest('base64')}`);
  return { 'webhook-id': id, 'webhook-timestamp': String(timestampS), 'webhook-signature': signatures.join(' ') };
}
