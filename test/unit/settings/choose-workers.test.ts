/** Several workers on the embedded store are rejected. */

import { chooseWorkers } from '../../../src/configuration/settings/choose-workers';
import { readSettings } from '../../../src/configuration/settings/table/settings';
import { SettingsError } from '../../../src/configuration/settings/table/settings-error';
import { chooseStore } from '../../../src/configuration/settings/redis/store-choice';

function workersOf(env: Readonly<Record<string, string>>): number {
  const settings = readSettings(env);
  return chooseWorkers({ settings, storeChoice: chooseStore(settings), cores: 6 });
}

const REDIS = { REDIS_URL: 'redis://h:1' };

test.each<[Readonly<Record<string, string>>, number]>([
  [{ ...REDIS }, 1],
  [{ ...REDIS, WORKERS: '3' }, 3],
  [{ ...REDIS, WORKERS: 'auto' }, 6],
  [{ ...REDIS, WORKERS: 'Auto' }, 6],
  // Counts in memory can't be shared.
  [{ WORKERS: 'auto' }, 1],
  [{ WORKERS: '1' }, 1],
])('%j: %d workers', (env, workers) => {
  expect(workersOf(env)).toBe(workers);
});

test('several workers on the embedded store are rejected', () => {
  expect(() => workersOf({ BACKEND_TYPE: 'memory', WORKERS: '2' })).toThrow(SettingsError);
  expect(() => workersOf({ WORKERS: '2' })).toThrow(/^WORKERS: it is 2, but the embedded store counts in each process separately/);
});

test.each(['0', '-1', '257', 'many', '1.5'])('WORKERS=%s is rejected', (WORKERS) => {
  expect(() => readSettings({ WORKERS })).toThrow('use a whole number from 1 to 256, or auto');
});
