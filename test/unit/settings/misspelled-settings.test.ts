/** A misspelled setting is reported with its correction, and variables of other programs are not. */

import { describeMisspelled, misspelledSettings } from '../../../src/configuration/settings/misspelled-settings';

test.each([
  ['FAILURE_MOD', 'FAILURE_MODE'],
  ['GRPCPORT', 'GRPC_PORT'],
  ['LOG_LEVLE', 'LOG_LEVEL'],
  ['REDIS_OP_TIMOUTS', 'REDIS_OP_TIMEOUT'],
  ['redis_ulr', 'REDIS_URL'],
  ['WORKER', 'WORKERS'],
])('%s is reported as a misspelled %s', (name, meant) => {
  expect(misspelledSettings({ [name]: 'x' })).toEqual([{ name, meant }]);
});

test.each([
  'FAILURE_MODE',
  'failure_mode',
  'REDIS_POOL_SIZE',
  'REDIS_SERVICE_PORT',
  'REDIS_PORT',
  'HOSTNAME',
  'HOME',
  'PATH',
  'PWD',
  'LANG',
  'DOG_STATSD_MOGRIFIER_X_PATTERN',
])('%s is not reported', (name) => {
  expect(misspelledSettings({ [name]: 'x' })).toEqual([]);
});

test.each([
  [{ REDIS_HOSTNAME: 'redis' }, 'REDIS_HOSTNAME is not a setting; set REDIS_URL=redis:6379'],
  [{ REDIS_HOSTNAME: 'redis', REDIS_PORT: '7000' }, 'REDIS_HOSTNAME is not a setting; set REDIS_URL=redis:7000'],
  [{ REDIS_HOSTNAME: 'redis', REDIS_PORT: 'tcp://10.0.0.1:6379' }, 'REDIS_HOSTNAME is not a setting; set REDIS_URL=redis:6379'],
  [{ REDIS_ADDR: 'redis:7000' }, 'REDIS_ADDR is not a setting; set REDIS_URL=redis:7000'],
  [{ REDIS_PASSWORD: 'hunter2' }, 'REDIS_PASSWORD is not a setting; did you mean REDIS_AUTH?'],
])('%j: another program has this variable', (env, sentence) => {
  expect(misspelledSettings(env).map(describeMisspelled)).toEqual([sentence]);
});

test('a similar name is not reported where the setting is set', () => {
  expect(misspelledSettings({ REDIS_HOSTNAME: 'redis', REDIS_URL: 'other:6379' })).toEqual([]);
  expect(misspelledSettings({ REDIS_HOSTNAME: 'redis', REDIS_HOST: 'other' })).toEqual([]);
});

test('a variable without a value is not reported', () => {
  expect(misspelledSettings({ FAILURE_MOD: '' })).toEqual([]);
});
