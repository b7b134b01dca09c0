/** The numbers of the keys that were used last, beside a Map that is deleted from and set again. */

import { halfSipHash, randomSeed, type WordsHash } from '../../src/store/bucket-table/half-sip-hash';
import { NO_NUMBER, RecentKeys } from '../../src/store/recent-keys';
import { randomFrom, seeded } from '../support/random';

const STEPS = 20_000;

const goodHash = halfSipHash(randomSeed());
/** With it every key is in one chain. */
const sameForAll: WordsHash = () => -1;

test.each([
  ['the hashes it has', 100, undefined],
  ['hashes alike in their low half', 20, [sameForAll, goodHash]],
  ['hashes alike in their high half', 20, [goodHash, sameForAll]],
  ['room for one', 1, undefined],
] as const)('%s: a key keeps its number for as long as it is one of those used last', (_name, keysMax, hashes) => {
  const random = randomFrom(seeded(STEPS));
  const keys = new RecentKeys({ keysMax, ...(hashes && { hashes }) });
  const model = new Map<string, number>();
  for (let step = 0; step < STEPS; step += 1) {
    const key = `key=${random(3 * keysMax)}`;
    const choice = random(10);
    if (choice === 0) {
      keys.delete(key);
      model.delete(key);
    } else if (choice < 6) {
      const known = model.get(key);
      const number = keys.use(key);
      if (known !== undefined) expect(number).toBe(known);
      model.delete(key);
      if (model.size === keysMax) model.delete([...model.keys()][0]!);
      expect(number >= 1 && number <= keysMax && ![...model.values()].includes(number)).toBe(true);
      model.set(key, number);
    } else {
      expect(keys.find(key)).toBe(model.get(key) ?? NO_NUMBER);
    }
  }
});
