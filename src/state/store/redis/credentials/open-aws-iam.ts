/** Signs tokens of AWS IAM for ElastiCache and MemoryDB, with the credentials that AWS's own chain of providers finds. */

import { createHash, createHmac } from 'node:crypto';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { SignatureV4 } from '@smithy/signature-v4';
import type { MintToken } from './keep-authenticated';

export interface AwsIamOptions {
  /** The name of the cache, of its replication group, or of the cluster. */
  readonly cacheName: string;
  readonly userId: string;
  readonly region: string;
  readonly service: 'elasticache' | 'memorydb';
  readonly isServerless: boolean;
  /** Time until an open connection gets another token, in milliseconds. */
  readonly renewMs: number;
}

/** The longest that AWS accepts, in seconds. A token is sent at once, so that only a difference of clocks needs it. */
const VALID_S = 900;

/** The log has a line for each failure; the warnings of the package are for programs. */
const SILENT = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };

/** Signing is a few hashes, so each connection gets a token of its own. */
export function openAwsIam({ cacheName, userId, region, service, isServerless, renewMs }: AwsIamOptions): MintToken {
  // It keeps temporary credentials until shortly before their end, and asks for them once for several callers.
  const credentials = defaultProvider({ logger: SILENT });
  const signer = new SignatureV4({ credentials, region, service, sha256: Sha256 });
  // AWS stores the name in lower case.
  const hostname = cacheName.toLowerCase();
  const query = { Action: 'connect', User: userId, ...(isServerless && { ResourceType: 'ServerlessCache' }) };
  return async () => {
    const request = { method: 'GET', protocol: 'https:', hostname, path: '/', headers: { host: hostname }, query };
    const signed = await signer.presign(request, { expiresIn: VALID_S });
    return { username: userId, password: `${hostname}/?${queryOf(signed.query ?? {})}`, renewAfterMs: renewMs };
  };
}

function queryOf(query: Readonly<Record<string, unknown>>): string {
  return Object.entries(query)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .join('&');
}

/** SHA-256 of Node in the form that the signer takes. */
class Sha256 {
  private parts: Uint8Array[] = [];

  constructor(private readonly secret?: string | ArrayBuffer | ArrayBufferView) {}

  update(part: Uint8Array): void {
    this.parts.push(part);
  }

  digest(): Promise<Uint8Array> {
    const { secret } = this;
    const hash = secret === undefined ? createHash('sha256') : createHmac('sha256', typeof secret === 'string' ? secret : bytesOf(secret));
    for (const part of this.parts) hash.update(part);
    return Promise.resolve(new Uint8Array(hash.digest()));
  }

  reset(): void {
    this.parts = [];
  }
}

function bytesOf(data: ArrayBuffer | ArrayBufferView): Uint8Array {
  return ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data);
}

function ignore(): void {
  // Nothing reads it.
}
