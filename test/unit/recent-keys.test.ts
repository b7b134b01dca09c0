/** The places of the keys that were used last, beside Maps that are deleted from and set again. */

import { halfSipHash, randomSeed, type WordsHash } from '../../src/store/bucket-table/half-sip-hash';
import { KeyWords } from '../../src/store/bucket-table/key-words';
import { NO_PLACE, RecentKeys } from '../../src/store/recent-keys';
import { randomFrom, seededInFull } from '../support/random';

const STEPS = 20_000;

const [lowHash, highHash] = [halfSipHash(randomSeed()), halfSipHash(randomSeed())];
const sameForAll: WordsHash = () => -1;
const words = new KeyWords();

test.each([
  ['sixteen sets', 128, 16, lowHash, highHash],
  ['hashes alike in their low half: one set of many', 128, 16, sameForAll, highHash],
  ['hashes alike in their high half', 64, 8, lowHash, sameForAll],
  ['one set', 5, 1, lowHash, highHash],
  ['room for one', 1, 1, lowHash, highHash],
])('%s: a key keeps its place for as long as it is one of those of its set used last', (_name, keysMax, sets, low, high) => {
  const random = randomFrom(seededInFull(STEPS));
  const keys = new RecentKeys({ keysMax, hashes: [low, high] });
  expect(keys.places).toBe(keysMax);
  const models = Array.from({ length: sets }, () => new Map<string, number>());
  const modelOf = (key: string): Map<string, number> => {
    words.read(key);
    return models[low(words.words, words.bytes) & (sets - 1)]!;
  };
  for (let step = 0; step < STEPS; step += 1) {
    const key = `key=${random(3 * keysMax)}`;
    const model = modelOf(key);
    const choice = random(10);
    if (choice === 0) {
      keys.delete(key);
      model.delete(key);
    } else if (choice < 6) {
      const known = model.get(key);
      const place = keys.use(key);
      // Compared by hand: `expect` for each of so many steps takes longer than the steps.
      if (known !== undefined && place !== known) throw new Error(`step ${step}: ${key} moved from place ${known} to ${place}`);
      model.delete(key);
      if (model.size === keysMax / sets) model.delete([...model.keys()][0]!);
      if (place < 0 || place >= keysMax || models.some((other) => [...other.values()].includes(place))) throw new Error(`step ${step}: ${key} got place ${place}, which is taken or is none`);
      model.set(key, place);
    } else {
      const [found, expected] = [keys.find(key), model.get(key) ?? NO_PLACE];
      if (found !== expected) throw new Error(`step ${step}: ${key} is at place ${found}, and should be at ${expected}`);
    }
  }
});

test('a number of keys that can be no sets is taken for the next that can', () => {
  expect([3, 8, 9, 50_000].map((keysMax) => new RecentKeys({ keysMax }).places)).toEqual([3, 8, 16, 65_536]);
});
