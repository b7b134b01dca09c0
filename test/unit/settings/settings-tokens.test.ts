/** Settings choose tokens of AWS IAM or Microsoft Entra ID in place of a password, each Redis by its own names. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { IDENTITY_PACKAGES } from '../../../src/configuration/settings/redis/redis-auth';
import { chooseStore, type StoreChoice } from '../../../src/configuration/settings/redis/store-choice';
import { readSettings, type Environment } from '../../../src/configuration/settings/table/settings';
import { writeText } from '../../support/config/temp-config';

const iam = {
  REDIS_URL: 'rediss://h',
  REDIS_AWS_IAM_AUTH: 'true',
  REDIS_AWS_IAM_CACHE_NAME: 'c',
  REDIS_AWS_IAM_USER_ID: 'u',
  AWS_REGION: 'eu-north-1',
};
const aws = { kind: 'aws', cacheName: 'c', userId: 'u', region: 'eu-north-1', service: 'elasticache', isServerless: false };
const renewMs = 3_600_000;
const SECRET = 'hunter2';

function choiceOf(env: Environment): Extract<StoreChoice, { kind: 'redis' }> {
  const choice = chooseStore(readSettings(env));
  if (choice.kind !== 'redis') throw new Error('it is in memory');
  return choice;
}

test.each<[Environment, object]>([
  [iam, { ...aws, renewMs }],
  [
    { ...iam, REDIS_AWS_IAM_REGION: 'us-east-1', REDIS_AWS_IAM_SERVICE: 'memorydb', REDIS_AUTH_RENEWAL: '10m' },
    { ...aws, region: 'us-east-1', service: 'memorydb', renewMs: 600_000 },
  ],
  [
    { ...iam, REDIS_AWS_IAM_SERVERLESS: 'true', REDIS_URL: 'h:1', REDIS_TYPE: 'cluster', REDIS_TLS: 'true' },
    { ...aws, isServerless: true, renewMs },
  ],
  [
    { REDIS_URL: 'n,h:1', REDIS_TYPE: 'sentinel', REDIS_TLS: 'true', REDIS_AZURE_ENTRA_AUTH: 'true' },
    { kind: 'entra', renewMs },
  ],
])('chosen by %j', (env, identity) => {
  expect(choiceOf(env).connection).toMatchObject({ identity });
  expect(choiceOf(env).warning).toBeUndefined();
});

test('the second Redis has its own, in the region of the first', () => {
  const env = {
    ...iam,
    REDIS_PERSECOND: 'true',
    REDIS_PERSECOND_URL: 'rediss://p',
    REDIS_PERSECOND_AWS_IAM_AUTH: 'true',
    REDIS_PERSECOND_AWS_IAM_CACHE_NAME: 'd',
    REDIS_PERSECOND_AWS_IAM_USER_ID: 'v',
    REDIS_PERSECOND_AWS_IAM_SERVERLESS: 'true',
  };
  expect(choiceOf(env).perSecond).toMatchObject({ identity: { ...aws, cacheName: 'd', userId: 'v', isServerless: true } });
  expect(choiceOf({ ...env, REDIS_PERSECOND_AWS_IAM_AUTH: 'false' }).perSecond).not.toHaveProperty('identity');
});

test.each(['h:1', 'redis://h'])('a warning without TLS to %s', (url) => {
  expect(choiceOf({ ...iam, REDIS_URL: url, REDIS_SOCKET_TYPE: 'tcp' }).warning).toMatch(
    /^Weir sends tokens to Redis at redis:\/\/h:.* without TLS/,
  );
  expect(choiceOf({ ...iam, REDIS_URL: '/a/socket' }).warning).toBeUndefined();
});

test.each<[Environment, string]>([
  [{ REDIS_AWS_IAM_USER_ID: '' }, 'REDIS_AWS_IAM_AUTH: it needs a cache and a user; set REDIS_AWS_IAM_CACHE_NAME and'],
  [{ REDIS_AWS_IAM_CACHE_NAME: '' }, 'REDIS_AWS_IAM_AUTH: it needs a cache and a user'],
  [{ AWS_REGION: '' }, 'REDIS_AWS_IAM_REGION: REDIS_AWS_IAM_AUTH is true, and it is not set; set it, or AWS_REGION'],
  [{ REDIS_AUTH: SECRET }, 'REDIS_AWS_IAM_AUTH: it is true, and REDIS_AUTH is set too; set one of the two'],
  [{ REDIS_AUTH_FILE: writeText('x') }, 'REDIS_AWS_IAM_AUTH: it is true, and REDIS_AUTH_FILE is set too; set one of the two'],
  [{ REDIS_AZURE_ENTRA_AUTH: 'true' }, 'REDIS_AWS_IAM_AUTH: it is true, and REDIS_AZURE_ENTRA_AUTH is set too'],
  [{ REDIS_AWS_IAM_CACHE_NAME: 'host.of.a.cache:6379' }, 'REDIS_AWS_IAM_CACHE_NAME'],
  [
    { REDIS_PERSECOND: 'true', REDIS_PERSECOND_URL: 'rediss://p', REDIS_PERSECOND_AWS_IAM_AUTH: 'true' },
    'REDIS_PERSECOND_AWS_IAM_AUTH: it needs a cache and a user; set REDIS_PERSECOND_AWS_IAM_CACHE_NAME and REDIS_PERSECOND_AWS_IAM_USER_ID',
  ],
])('refused for %j', (env, message) => {
  expect(() => choiceOf({ ...iam, ...env })).toThrow(message);
  expect(() => choiceOf({ ...iam, ...env })).not.toThrow(SECRET);
});

test('the packages that it names are those of package.json, and one that is missing is named', () => {
  const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { optionalDependencies: Record<string, string> };
  const named = Object.values(IDENTITY_PACKAGES).flat().toSorted();
  expect(named).toEqual(Object.entries(optionalDependencies).map(([name, version]) => `${name}@${version.split('.')[0]}`));
  const script = `
    const { Module } = require('node:module');
    const find = Module._resolveFilename;
    Module._resolveFilename = (name, ...rest) => {
      if (name.startsWith('@smithy/signature-v4')) throw new Error('absent');
      return find(name, ...rest);
    };
    require('./dist/main.js');`;
  const { stdout } = spawnSync(process.execPath, ['-e', script, 'weir', 'settings', '--changed'], { env: iam, encoding: 'utf8' });
  expect(stdout).toContain('REDIS_AWS_IAM_AUTH: it needs packages that are not installed; run npm install @smithy/signature-v4@5\n');
});
