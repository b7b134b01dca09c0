/** Every link that the page Try writes, it reads again. */

import { charsMaxOf, HASH_CHARS_MAX, readHash, writeHash, type SettingName, type Settings } from '../../site/try/settings';

const names = Object.keys(readHash('').settings) as readonly SettingName[];

test('the longest text of all settings comes back, though a new line takes three characters in a link', () => {
  const settings = Object.fromEntries(names.map((name) => [name, '\n'.repeat(charsMaxOf(name))])) as Settings;
  const hash = writeHash(settings);
  expect(hash.length).toBeGreaterThan(18_000);
  expect(readHash(hash)).toEqual({ settings, problems: [] });
});

test('a longer link is refused', () => {
  const { problems } = readHash(`#arrivals=${'1'.repeat(HASH_CHARS_MAX)}`);
  expect(problems).toEqual([{ message: `The link has more than ${HASH_CHARS_MAX} characters, so its settings were not read.` }]);
});
