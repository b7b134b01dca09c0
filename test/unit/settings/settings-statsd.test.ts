/** Weir reports to statsd only if the environment enables it. */

import { readSettings, type Environment } from '../../../src/configuration/settings/table/settings';
import { chooseStatsd } from '../../../src/configuration/settings/statsd-choice';

function choose(env: Environment) {
  return chooseStatsd({ settings: readSettings(env), env });
}

const MOGRIFIED = { USE_DOG_STATSD: 'true', USE_DOG_STATSD_MOGRIFIERS: 'a' };

test('statsd is off unless a variable enables it or has its address', () => {
  for (const env of [
    {},
    { STATS_FLUSH_INTERVAL: '1s' },
    { USE_STATSD: 'false', STATSD_HOST: 'h' },
    { USE_STATSD: 'true', DISABLE_STATS: 'true' },
  ])
    expect(choose(env)).toBeUndefined();
  expect(choose({ USE_STATSD: 'true' })).toEqual({ protocol: 'tcp', host: 'localhost', port: 8125, knowsTags: false, mogrifiers: [] });
  for (const env of [{ STATSD_HOST: 'h' }, { STATSD_PORT: '1' }, { STATSD_PROTOCOL: 'udp' }]) expect(choose(env)).toBeDefined();
});

test('dogstatsd uses UDP, and replaces a statsd that only has an address', () => {
  expect(choose({ USE_DOG_STATSD: 'true', STATSD_HOST: 'h', STATSD_PORT: '9' })).toEqual({
    protocol: 'udp',
    host: 'h',
    port: 9,
    knowsTags: true,
    mogrifiers: [],
  });
  expect(() => choose({ USE_DOG_STATSD: 'true', USE_STATSD: 'true' })).toThrow(
    'USE_STATSD: USE_DOG_STATSD is set too, but Weir reports to one server only; remove one of the two',
  );
});

test('a mogrifier has a pattern and a name, and may have tags', () => {
  const env = { ...MOGRIFIED, DOG_STATSD_MOGRIFIER_A_PATTERN: 'p', DOG_STATSD_MOGRIFIER_A_NAME: 'n', DOG_STATSD_MOGRIFIER_A_TAGS: 'k:$1' };
  expect(choose(env)?.mogrifiers).toEqual([
    { variable: 'DOG_STATSD_MOGRIFIER_A_PATTERN', pattern: 'p', name: 'n', tags: new Map([['k', '$1']]) },
  ]);
});

test('missing, long or misspelled mogrifiers are listed at once', () => {
  expect(() => choose({ ...MOGRIFIED, DOG_STATSD_MOGRIFIER_A_TAGS: 'k' })).toThrow(
    'DOG_STATSD_MOGRIFIER_A_PATTERN: USE_DOG_STATSD_MOGRIFIERS names A, so it must be set\n' +
      'DOG_STATSD_MOGRIFIER_A_NAME: USE_DOG_STATSD_MOGRIFIERS names A, so it must be set\n' +
      'DOG_STATSD_MOGRIFIER_A_TAGS: "k" is not accepted; use up to 32 pairs',
  );
  const env = { ...MOGRIFIED, DOG_STATSD_MOGRIFIER_A_PATTERN: 'p'.repeat(1_025), DOG_STATSD_MOGRIFIER_A_NAME: 'n' };
  expect(() => choose(env)).toThrow('DOG_STATSD_MOGRIFIER_A_PATTERN: it has 1025 characters; use at most 1024');
});
