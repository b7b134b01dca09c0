/** `weir settings` prints values and their origin, without secrets. */

import { checkReferenceSettings } from '../../../src/configuration/settings/check-reference-settings';
import { REFERENCE_SETTINGS } from '../../../src/configuration/settings/table/reference-settings';
import { problemsOfStart } from '../../../src/program/app/start/read-start';
import { SECRET, settingsInForce } from '../../../src/configuration/settings/settings-in-force';
import type { SettingRow } from '../../../src/configuration/settings/table/setting-row';
import { SETTINGS_TABLE } from '../../../src/configuration/settings/table/settings-table';

const ROWS: readonly SettingRow[] = Object.values(SETTINGS_TABLE);

test('an empty environment has every setting with its default, and no problem', async () => {
  const { settings, ...rest } = settingsInForce({});
  expect(settings).toEqual(ROWS.map(({ name, group, default: value }) => ({ name, group, value, source: 'default' })));
  expect(rest).toEqual({ reference: [], unknown: [] });
  expect(await problemsOfStart({})).toEqual([]);
});

test('a value of the environment wins, and an empty one counts as unset', () => {
  const { settings } = settingsInForce({ GRPC_PORT: '9090', PORT: '' });
  expect(settings.find(({ name }) => name === 'GRPC_PORT')).toMatchObject({ value: '9090', source: 'environment' });
  expect(settings.find(({ name }) => name === 'PORT')).toMatchObject({ value: '8080', source: 'default' });
});

test('no secret is shown, not even an invalid one', () => {
  const secrets = ROWS.filter(({ secret }) => secret).map(({ name }) => name);
  expect(secrets).toContain('REDIS_AUTH');
  const shown = settingsInForce(Object.fromEntries(secrets.map((name) => [name, 'hunter2'])));
  expect(JSON.stringify(shown)).not.toContain('hunter2');
  for (const name of secrets) expect(shown.settings.find((each) => each.name === name)?.value).toBe(SECRET);
});

test('invalid values, and names that stop the start, are problems', async () => {
  const [refused] = REFERENCE_SETTINGS.filter((setting) => setting.refused && !setting.name.endsWith('*'));
  const problems = await problemsOfStart({ PORT: 'x', [refused!.name]: 'anything' });
  expect(problems.map(({ name }) => name)).toEqual(['PORT', refused!.name]);
});

test('conflicting settings and missing files are problems as for the server', async () => {
  const names = async (env: Readonly<Record<string, string>>) => (await problemsOfStart(env)).map(({ name }) => name);
  expect(await names({ RUNTIME_ROOT: '/data' })).toEqual(['BACKEND_TYPE']);
  expect(await names({ USE_STATSD: 'true', USE_DOG_STATSD: 'true' })).toEqual(['USE_STATSD']);
  expect(await names({ USE_DOG_STATSD: 'true', USE_DOG_STATSD_MOGRIFIERS: 'A', DOG_STATSD_MOGRIFIER_A_NAME: 'a' })).toEqual([
    'DOG_STATSD_MOGRIFIER_A_PATTERN',
  ]);
  expect(await names({ WORKERS: '2' })).toEqual(['WORKERS']);
  expect(await names({ GRPC_SERVER_USE_TLS: 'true', GRPC_SERVER_TLS_CERT: 'nowhere.pem', GRPC_SERVER_TLS_KEY: 'nowhere.key' })).toContain(
    'GRPC_SERVER_TLS_CERT',
  );
  expect(await names({ RUNTIME_ROOT: '/data', REDIS_URL: 'redis:6379', REDIS_SOCKET_TYPE: 'tcp' })).toEqual([]);
});

test('variables of the reference without effect are shown as at the start', () => {
  const env = { LOCAL_CACHE_SIZE_IN_BYTES: '7', REDIS_POOL_SIZE: '20' };
  const { reference } = settingsInForce(env);
  expect(reference.map(({ name, instead }) => `${name} has no effect here. ${instead}`)).toEqual(checkReferenceSettings(env));
});

test.each([
  ['REDIS_OP_TIMOUT', 'REDIS_OP_TIMEOUT'],
  ['GRPC_PROT', 'GRPC_PORT'],
  ['redis_op_timeouts', 'REDIS_OP_TIMEOUT'],
])('the unknown %s is reported with its correction %s', (name, meant) => {
  expect(settingsInForce({ [name]: '5ms' }).unknown).toEqual([{ name, meant }]);
});

test.each([
  'PATH',
  'HOME',
  'HOSTNAME',
  'PWD',
  'LANG',
  'SHLVL',
  'TERM',
  'NODE_ENV',
  'REDIS_PORT',
  'REDIS_PORT_6379_TCP',
  'REDIS_SERVICE_HOST',
  'REDIS_SERVICE_PORT',
  'KUBERNETES_PORT',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
])('%s is not a mistake', (name) => {
  expect(settingsInForce({ [name]: 'anything' }).unknown).toEqual([]);
});
