/** Which variables of the environment are taken for a setting that was misspelled. */

import { misspelledSettings } from '../../../src/config/misspelled-settings';

test.each([
  ['FAILURE_MOD', 'FAILURE_MODE'],
  ['GRPCPORT', 'GRPC_PORT'],
  ['LOG_LEVLE', 'LOG_LEVEL'],
  ['REDIS_OP_TIMOUTS', 'REDIS_OP_TIMEOUT'],
  ['redis_ulr', 'REDIS_URL'],
  ['WORKER', 'WORKERS'],
])('%s is taken for %s', (name, meant) => {
  expect(misspelledSettings({ [name]: 'x' })).toEqual([{ name, meant }]);
});

test.each(['FAILURE_MODE', 'failure_mode', 'REDIS_POOL_SIZE', 'REDIS_HOST', 'REDIS_SERVICE_PORT', 'REDIS_PORT', 'HOSTNAME', 'HOME', 'PATH', 'PWD', 'LANG', 'DOG_STATSD_MOGRIFIER_X_PATTERN'])('%s is taken for none', (name) => {
  expect(misspelledSettings({ [name]: 'x' })).toEqual([]);
});

test('one without a value is taken for none', () => {
  expect(misspelledSettings({ FAILURE_MOD: '' })).toEqual([]);
});
