/** The usage snapshot keeps the recently used buckets in constant memory. */

import { HALF_USED, OVERDRAWN, SLIGHTLY_USED, USED_UP } from '../../../src/domain/bucket/forget-rank';
import { halfSipHash, randomSeed, type WordsHash } from '../../../src/state/store/memory/bucket-table/half-sip-hash';
import { KeyWords } from '../../../src/state/store/memory/bucket-table/key-words';
import { NO_PLACE, KeySlots } from '../../../src/state/store/memory/key-slots';
import { randomFrom, seededInFull } from '../../support/random/random';

const STEPS = 20_000;

/** Of no other rank, and for ever. */
const ALIKE = { rank: 0, until: Infinity, now: 0 };

const [lowHash, highHash] = [halfSipHash(randomSeed()), halfSipHash(randomSeed())];
const sameForAll: WordsHash = () => -1;
const words = new KeyWords();

test.each([
  ['sixteen sets', 128, 16, lowHash, highHash],
  ['hashes alike in their low half: one set of many', 128, 16, sameForAll, highHash],
  ['hashes alike in their high half', 64, 8, lowHash, sameForAll],
  ['one set', 5, 1, lowHash, highHash],
  ['room for one', 1, 1, lowHash, highHash],
])('%s: a key keeps its place while it is among the last used ones of its set', (_name, keysMax, sets, low, high) => {
  const random = randomFrom(seededInFull(STEPS));
  const keys = new KeySlots({ keysMax, hashes: [low, high] });
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
      const place = keys.use(key, ALIKE);
      // Compared by hand: `expect` for each of so many steps takes longer than the steps.
      if (known !== undefined && place !== known) throw new Error(`step ${step}: ${key} moved from place ${known} to ${place}`);
      model.delete(key);
      if (model.size === keysMax / sets) model.delete([...model.keys()][0]!);
      if (place < 0 || place >= keysMax || models.some((other) => [...other.values()].includes(place)))
        throw new Error(`step ${step}: ${key} got place ${place}, which is taken or is none`);
      model.set(key, place);
    } else {
      const [found, expected] = [keys.find(key), model.get(key) ?? NO_PLACE];
      if (found !== expected) throw new Error(`step ${step}: ${key} is at place ${found}, and should be at ${expected}`);
    }
  }
});

test('a number of keys that cannot form sets is rounded up', () => {
  expect([3, 8, 9, 50_000].map((keysMax) => new KeySlots({ keysMax }).places)).toEqual([3, 8, 16, 65_536]);
});

describe('a full set', () => {
  function full({ rank, until }: { readonly rank: number; readonly until: number }): KeySlots {
    const keys = new KeySlots({ keysMax: 8 });
    for (let i = 0; i < 8; i += 1) keys.use(`old=${i}`, { rank, until, now: 0 });
    return keys;
  }

  const keptOf = (keys: KeySlots): number[] => Array.from({ length: 8 }, (_, i) => i).filter((i) => keys.find(`old=${i}`) !== NO_PLACE);

  test('evicts the least valuable key first, whenever it was used', () => {
    const keys = full({ rank: USED_UP, until: 100 });
    for (const i of [6, 7]) keys.use(`old=${i}`, { rank: HALF_USED, until: 100, now: 1 });
    keys.use('new', { rank: USED_UP, until: 100, now: 1 });
    expect(keptOf(keys)).toEqual([0, 1, 2, 3, 4, 5, 7]);
  });

  test('keeps valuable keys from a large number of cheap ones', () => {
    const keys = full({ rank: SLIGHTLY_USED, until: 100 });
    for (let i = 0; i < 3; i += 1) keys.use(`used-up=${i}`, { rank: USED_UP, until: 100, now: 1 });
    for (let i = 0; i < 1_000; i += 1) keys.use(`fresh=${i}`, { rank: HALF_USED, until: 100, now: 1 });
    expect([0, 1, 2].map((i) => keys.find(`used-up=${i}`) !== NO_PLACE)).toEqual([true, true, true]);
  });

  test('keeps a part of the room for cheap keys', () => {
    const keys = full({ rank: USED_UP, until: 100 });
    expect(keys.use('new', { rank: SLIGHTLY_USED, until: 100, now: 1 })).not.toBe(NO_PLACE);
    expect(keptOf(keys)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  test('evicts worthless keys before all others', () => {
    const keys = full({ rank: OVERDRAWN, until: 100 });
    keys.use('old=3', { rank: OVERDRAWN, until: 5, now: 1 });
    keys.use('new', { rank: SLIGHTLY_USED, until: 100, now: 5 });
    expect(keptOf(keys)).toEqual([0, 1, 2, 4, 5, 6, 7]);
  });
});
