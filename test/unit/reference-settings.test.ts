/** The reference's variables without a use here: told, or refused, never silently ignored. */

import { checkReferenceSettings, REFERENCE_SETTINGS } from '../../src/config/reference-settings';
import { SETTINGS_TABLE } from '../../src/config/settings-table';

test('nothing set, or set to what Weir does anyway: nothing is said', () => {
  const fine = REFERENCE_SETTINGS.flatMap(({ name, fine: values }) => values.map((value) => ({ [name]: value.toUpperCase() })));
  for (const env of [{}, { REDIS_TLS: '' }, ...fine]) expect(checkReferenceSettings(env)).toEqual([]);
});

test('what has no effect is told', () => {
  expect(checkReferenceSettings({ LOCAL_CACHE_SIZE_IN_BYTES: '1048576', REDIS_POOL_SIZE: '20' })).toEqual([
    'REDIS_POOL_SIZE has no effect here. One connection carries all calls.',
    'LOCAL_CACHE_SIZE_IN_BYTES has no effect here. Every request is decided in the store.',
  ]);
});

test('what would be something else than asked stops the start, all of it at once', () => {
  const env = { REDIS_TLS: 'true', REDIS_TYPE: 'CLUSTER', LOCAL_CACHE_SIZE_IN_BYTES: '1' };
  expect(() => checkReferenceSettings(env)).toThrow(
    'REDIS_TYPE: Sentinel and Cluster are not supported by this version; use SINGLE.\n' +
      'REDIS_TLS: Use a rediss:// URL in REDIS_URL.',
  );
});

test('no variable is both supported and not', () => {
  const supported: readonly string[] = Object.values(SETTINGS_TABLE).map(({ name }) => name);
  expect(REFERENCE_SETTINGS.filter(({ name }) => supported.includes(name))).toEqual([]);
});
