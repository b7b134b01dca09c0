/** No variable of envoyproxy/ratelimit is ignored silently. */

import { checkReferenceSettings } from '../../../src/configuration/settings/check-reference-settings';
import { REFERENCE_SETTINGS } from '../../../src/configuration/settings/table/reference-settings';
import type { Environment } from '../../../src/configuration/settings/table/settings';
import { SettingsError } from '../../../src/configuration/settings/table/settings-error';
import { SETTINGS_TABLE } from '../../../src/configuration/settings/table/settings-table';
import { REFERENCE_NAMES } from './reference-names';

const SUPPORTED: readonly string[] = Object.values(SETTINGS_TABLE).map(({ name }) => name);

/** What is told or refused, as one text. */
function saidOf(env: Environment): string {
  try {
    return checkReferenceSettings(env).join('\n');
  } catch (error) {
    if (error instanceof SettingsError) return error.message;
    throw error;
  }
}

test('variables that are unset, or set to what Weir does anyway, are not reported', () => {
  const fine = REFERENCE_SETTINGS.flatMap(({ name, fine: values }) => values.map((value) => ({ [name]: value.toUpperCase() })));
  for (const env of [{}, { MEMCACHE_SRV: '' }, ...fine]) expect(checkReferenceSettings(env)).toEqual([]);
});

test('variables without effect are logged', () => {
  expect(checkReferenceSettings({ LOCAL_CACHE_SIZE_IN_BYTES: '1048576', REDIS_POOL_SIZE: '20' })).toEqual([
    'REDIS_POOL_SIZE has no effect here. One connection carries all calls.',
    'LOCAL_CACHE_SIZE_IN_BYTES has no effect here. DENY_CACHE_MAX sets the size of the deny cache.',
  ]);
});

test('variables that ask for other behaviour stop the start, all at once', () => {
  const env = { MEMCACHE_HOST_PORT: 'm:1', MEMCACHE_SRV: '_m._tcp.n', LOCAL_CACHE_SIZE_IN_BYTES: '1' };
  expect(() => checkReferenceSettings(env)).toThrow(
    'MEMCACHE_HOST_PORT: Weir does not support memcached, because its counts are not exact; use redis or memory.\n' +
      'MEMCACHE_SRV: Weir does not support memcached, because its counts are not exact; use redis or memory.',
  );
});

test('no variable is both supported and not', () => {
  expect(REFERENCE_SETTINGS.filter(({ name }) => SUPPORTED.includes(name))).toEqual([]);
  // Families too: a supported variable is never told to have no effect.
  expect(SUPPORTED.filter((name) => saidOf({ [name]: 'anything' }) !== '')).toEqual([]);
});

test('no variable of the reference is ignored silently', () => {
  const silent = REFERENCE_NAMES.filter(
    (name) => !SUPPORTED.includes(name) && !new RegExp(`^${name}\\b`).test(saidOf({ [name]: 'anything' })),
  );
  expect(silent).toEqual([]);
});

test('the list of the reference has each name once, and every name that is logged or rejected', () => {
  expect(new Set(REFERENCE_NAMES).size).toBe(REFERENCE_NAMES.length);
  const listed = (name: string) =>
    REFERENCE_NAMES.some((each) => (name.endsWith('*') ? each.startsWith(name.slice(0, -1)) : each === name));
  expect(REFERENCE_SETTINGS.filter(({ name }) => !listed(name))).toEqual([]);
  expect(new Set(REFERENCE_SETTINGS.map(({ name }) => name)).size).toBe(REFERENCE_SETTINGS.length);
});

test('a family of variables is logged one by one, by name, without those in use', () => {
  const env = { DOG_STATSD_MOGRIFIER_B_NAME: 'b', DOG_STATSD_MOGRIFIER_A_NAME: 'a', DOG_STATSD_MOGRIFIER_C_NAME: '' };
  const told = (name: string) => `${name} has no effect here. It needs USE_DOG_STATSD=true and its name in USE_DOG_STATSD_MOGRIFIERS.`;
  expect(checkReferenceSettings(env)).toEqual([told('DOG_STATSD_MOGRIFIER_A_NAME'), told('DOG_STATSD_MOGRIFIER_B_NAME')]);
  expect(checkReferenceSettings({ ...env, USE_DOG_STATSD: 'true', USE_DOG_STATSD_MOGRIFIERS: 'a' })).toEqual([
    told('DOG_STATSD_MOGRIFIER_B_NAME'),
  ]);
  expect(checkReferenceSettings({ ...env, USE_DOG_STATSD: 'false', USE_DOG_STATSD_MOGRIFIERS: 'a' })).toHaveLength(2);
});
