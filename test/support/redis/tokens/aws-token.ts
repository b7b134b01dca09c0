/** Verifies tokens of AWS IAM as ElastiCache and MemoryDB do: signature version 4 of a presigned request, from AWS's documents. */

import { createHash, createHmac } from 'node:crypto';
import type { AuthVerdict } from '../fake-engine';

export interface AwsTokenOptions {
  readonly accessKeyId: string;
  readonly secret: string;
  readonly sessionToken?: string;
  readonly region: string;
  readonly service: string;
  /** In lower case. */
  readonly cacheName: string;
  readonly userId: string;
  readonly isServerless?: boolean;
  /** How long a connection may live after AUTH. AWS: 12 hours. */
  readonly forMs: number;
}

const VALID_S_MAX = 900;
const CLOCK_MS = 60_000;

/** The parameters that AWS documents, and no other. */
const PARAMETERS = [
  'Action',
  'User',
  'X-Amz-Algorithm',
  'X-Amz-Credential',
  'X-Amz-Date',
  'X-Amz-Expires',
  'X-Amz-Signature',
  'X-Amz-SignedHeaders',
];

export function awsAuth(options: AwsTokenOptions): (words: readonly string[]) => AuthVerdict {
  return ([, user = '', token = '']) => {
    const fault = user === options.userId ? faultOf(token, options) : 'another user';
    return fault === undefined ? { forMs: options.forMs } : { refusal: 'WRONGPASS invalid username-password pair or user is disabled.' };
  };
}

/** Undefined: the token is valid. */
export function faultOf(token: string, options: AwsTokenOptions): string | undefined {
  const { cacheName, userId, accessKeyId, region, service, sessionToken, isServerless = false } = options;
  const prefix = `${cacheName}/?`;
  if (!token.startsWith(prefix)) return 'another host or path';
  const query = new Map(
    token
      .slice(prefix.length)
      .split('&')
      .map((pair) => pair.split('=').map(decodeURIComponent) as [string, string]),
  );
  const expected = [
    ...PARAMETERS,
    ...(sessionToken === undefined ? [] : ['X-Amz-Security-Token']),
    ...(isServerless ? ['ResourceType'] : []),
  ];
  if ([...query.keys()].sort().join() !== expected.sort().join()) return `parameters ${[...query.keys()].sort().join()}`;
  const date = query.get('X-Amz-Date') ?? '';
  const scope = `${date.slice(0, 8)}/${region}/${service}/aws4_request`;
  const wanted: Readonly<Record<string, string>> = {
    Action: 'connect',
    User: userId,
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': `${accessKeyId}/${scope}`,
    'X-Amz-SignedHeaders': 'host',
    ...(sessionToken !== undefined && { 'X-Amz-Security-Token': sessionToken }),
    ...(isServerless && { ResourceType: 'ServerlessCache' }),
  };
  const wrong = Object.entries(wanted).find(([name, value]) => query.get(name) !== value);
  if (wrong !== undefined) return `${wrong[0]} is not ${wrong[1]}`;
  return faultOfTime(date, Number(query.get('X-Amz-Expires'))) ?? faultOfSignature(query, { ...options, date, scope });
}

function faultOfTime(date: string, validS: number): string | undefined {
  const beginMs = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  if (!(validS >= 1 && validS <= VALID_S_MAX)) return 'X-Amz-Expires';
  const nowMs = Date.now();
  return nowMs >= beginMs - CLOCK_MS && nowMs < beginMs + validS * 1_000 ? undefined : 'X-Amz-Date';
}

function faultOfSignature(
  query: ReadonlyMap<string, string>,
  { secret, region, service, cacheName, date, scope }: AwsTokenOptions & { readonly date: string; readonly scope: string },
): string | undefined {
  const canonicalQuery = [...query]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
  const request = ['GET', '/', canonicalQuery, `host:${cacheName}`, '', 'host', sha256('')].join('\n');
  const text = ['AWS4-HMAC-SHA256', date, scope, sha256(request)].join('\n');
  const key = [date.slice(0, 8), region, service, 'aws4_request'].reduce<Buffer>(hmac, Buffer.from(`AWS4${secret}`));
  return hmac(key, text).toString('hex') === query.get('X-Amz-Signature') ? undefined : 'X-Amz-Signature';
}

/** RFC 3986, as AWS writes it. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
