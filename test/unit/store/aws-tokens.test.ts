/** Tokens of AWS IAM are those that AWS's documents define. */

import { openIdentity } from '../../../src/program/app/deciding/open-identity';
import type { RedisIdentity } from '../../../src/configuration/settings/redis/redis-auth';
import { faultOf, type AwsTokenOptions } from '../../support/redis/tokens/aws-token';

const HOUR_MS = 3_600_000;
const env = { ...process.env };

afterEach(() => {
  process.env = { ...env };
});

function onRenewal(): void {
  // No connection is open.
}

const account = { accessKeyId: 'AKIDEXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const identity = { kind: 'aws', cacheName: 'My-Cache', userId: 'weir', region: 'us-east-1', renewMs: HOUR_MS } as const;

beforeEach(() => {
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: account.accessKeyId, AWS_SECRET_ACCESS_KEY: account.secret });
});

async function tokenOf(given: Partial<RedisIdentity>): Promise<string> {
  const open = openIdentity({ ...identity, service: 'elasticache', isServerless: false, ...given });
  return (await open(onRenewal)).password;
}

const expected = { ...account, region: 'us-east-1', service: 'elasticache', cacheName: 'my-cache', userId: 'weir', forMs: 1 };

test.each<[Partial<RedisIdentity>, Partial<AwsTokenOptions>]>([
  [{}, {}],
  [{ isServerless: true }, { isServerless: true }],
  [
    { service: 'memorydb', region: 'eu-north-1' },
    { service: 'memorydb', region: 'eu-north-1' },
  ],
  [{ userId: "it's(a)*user&=?/+%" }, { userId: "it's(a)*user&=?/+%" }],
])('a token for %j is one that AWS accepts', async (given, options) => {
  expect(faultOf(await tokenOf(given), { ...expected, ...options })).toBeUndefined();
});

test('a token carries the session of temporary credentials', async () => {
  process.env.AWS_SESSION_TOKEN = 'a/session+token==';
  expect(faultOf(await tokenOf({}), { ...expected, sessionToken: 'a/session+token==' })).toBeUndefined();
});

test.each<[Partial<AwsTokenOptions>, string]>([
  [{ secret: 'another' }, 'X-Amz-Signature'],
  [{ region: 'eu-north-1' }, 'X-Amz-Credential'],
  [{ service: 'memorydb' }, 'X-Amz-Credential'],
  [{ userId: 'another' }, 'User'],
  [{ cacheName: 'another' }, 'another host'],
  [{ isServerless: true }, 'parameters'],
])('the check finds %j', async (options, fault) => {
  expect(faultOf(await tokenOf({}), { ...expected, ...options })).toContain(fault);
});
