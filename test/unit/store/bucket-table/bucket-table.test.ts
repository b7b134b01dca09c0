/** The bucket table equals a Map with an exact order of use, and grows and shrinks a few buckets at a time. */

import { RANKS, rankToForget } from '../../../../src/domain/bucket/forget-rank';
import type { BucketState } from '../../../../src/domain/algorithm/algorithms';
import { BucketTable } from '../../../../src/state/store/memory/bucket-table/bucket-table';
import { halfSipHash, type WordsHash } from '../../../../src/state/store/memory/bucket-table/half-sip-hash';
import { expectSame } from '../../../support/random/expect-same';
import { randomFrom, seededInFull, type Random } from '../../../support/random/random';

const SINCE_US = 1_800_000_000_000_000;
const SECOND_US = 1_000_000;
const RANDOM_STEPS = 30_000;

/** With it every key is in one chain, or in one of three. */
const sameForAll: WordsHash = () => -1;
const oneOfThree: WordsHash = (words, bytes) => ((words[(bytes >>> 2) - 1] ?? 0) % 3) - 1;
const goodHash = halfSipHash({ first: 1, second: 2 });

describe.each([
  ['a good hash', goodHash, 2_000],
  ['three hashes', oneOfThree, 200],
  ['one hash', sameForAll, 60],
] as const)('random use, %s', (_name, hash, keys) => {
  test('the table equals a Map that moves used entries to its end and has ranks', () => {
    const random = randomFrom(seededInFull(RANDOM_STEPS));
    const table = new BucketTable({ sinceUs: SINCE_US, hash });
    const model = new Model();
    const names = Array.from({ length: keys }, (_, i) => keyOf(i, random));
    let nowUs = SINCE_US;
    // It fills, empties, and fills again.
    for (let step = 0; step < RANDOM_STEPS; step += 1) {
      const isFilling = Math.floor(step / (RANDOM_STEPS / 6)) % 2 === 0;
      const key = names[random(names.length)]!;
      const choice = random(100);
      if (choice < (isFilling ? 60 : 20)) {
        const state = stateOf(random, nowUs);
        const expiresAtUs = random(4) === 0 ? undefined : nowUs + random(100 * SECOND_US);
        const rank = random(4) === 0 ? undefined : random(RANKS);
        table.set(key, state, expiresAtUs, rank);
        model.set(key, state, expiresAtUs, rank);
      } else if (choice < 75) {
        expectSame(table.use(key), model.use(key));
      } else if (choice < 80) {
        // A group: its keys are used, and then some of them are set or deleted, in the same order.
        const takes = Array.from({ length: 1 + random(random(10) === 0 ? 40 : 6) }, () => ({ bucketKey: names[random(names.length)]! }));
        table.beginGroup(takes);
        const group = new Set(takes.map(({ bucketKey }) => bucketKey));
        for (const each of group) expectSame(table.use(each), model.use(each));
        for (const each of group) {
          const change = random(isFilling ? 4 : 8);
          if (change === 0) continue;
          const state = stateOf(random, nowUs);
          if (change < 4) table.set(each, state, nowUs + SECOND_US, 0);
          else table.delete(each);
          if (change < 4) model.set(each, state, nowUs + SECOND_US, 0);
          else model.states.delete(each);
        }
      } else if (choice < 97) {
        table.delete(key);
        model.states.delete(key);
      } else if (choice < 99) {
        if (table.size === 0) continue;
        const max = random(table.size);
        expectSame(table.forgetOne(max), model.forgetOne(max));
      } else {
        nowUs += random(20 * SECOND_US);
        // Twice round, as it may begin in the middle.
        table.dropExpired({ nowUs, steps: 2 * table.size + 2 });
        model.dropExpired(nowUs);
      }
      if (table.size !== model.states.size)
        throw new Error(`step ${step}: the table has ${table.size} buckets, the model ${model.states.size}`);
    }
    for (const [key, { state }] of [...model.states]) expect(table.use(key)).toEqual(state);
  });
});

test('the order of use is exact, and buckets are evicted in that order', () => {
  const random = randomFrom();
  const table = new BucketTable({ sinceUs: SINCE_US });
  const model = new Model();
  for (let i = 0; i < 20_000; i += 1) {
    const key = `k=${random(5_000)}`;
    if (random(2) === 0) model.set(key, tokens(i), SINCE_US);
    if (model.states.get(key)?.state.atUs === i) table.set(key, tokens(i), SINCE_US);
    else expectSame(table.use(key), model.use(key));
  }
  while (model.states.size > 0) {
    const [oldest] = model.states.keys();
    table.forgetOne(table.size - 1);
    model.forgetOne(model.states.size - 1);
    expect(table.size).toBe(model.states.size);
    // What went is the one: to ask for it leaves the order as it is.
    expect(table.use(oldest!)).toBeUndefined();
  }
});

describe('the lifetime of a bucket', () => {
  test('it is rounded up to a second, never down', () => {
    const table = new BucketTable({ sinceUs: SINCE_US + 1 });
    table.set('a', tokens(1), SINCE_US + 5 * SECOND_US);
    table.dropExpired({ nowUs: SINCE_US + 5 * SECOND_US - 1, steps: 1 });
    expect(table.size).toBe(1);
    table.dropExpired({ nowUs: SINCE_US + 6 * SECOND_US, steps: 1 });
    expect(table.size).toBe(0);
  });

  test('it may exceed 136 years, or begin before the table', () => {
    const table = new BucketTable({ sinceUs: SINCE_US });
    const farUs = SINCE_US + 2 ** 33 * SECOND_US;
    table.set('far', tokens(1), farUs);
    table.set('before', tokens(1), SINCE_US - SECOND_US);
    table.dropExpired({ nowUs: SINCE_US - 2 * SECOND_US, steps: 9 });
    expect(table.size).toBe(2);
    table.dropExpired({ nowUs: farUs, steps: 9 });
    expect([table.use('far'), table.use('before')]).toEqual([tokens(1), undefined]);
  });
});

test('states of every engine come back unchanged, also those that no record holds', () => {
  const states: BucketState[] = [
    { used: 1, rest: 0, atUs: 0 },
    { used: 2 ** 32, rest: 2 ** 52 - 1, atUs: Number.MAX_SAFE_INTEGER },
    { used: 2 ** 32 + 1, rest: 0, atUs: 1 },
    { used: 0, rest: 0, atUs: 1 },
    { used: 3, rest: -1, atUs: -5 },
    { index: 1_800_000_000, used: 7 },
    { index: -259_200_000_000, used: 7 },
    { index: 1_800_000_000, current: 0, previous: 2 ** 32 - 1, elapsedUs: 0 },
    { before: 1, records: [{ atUs: 2, total: 3 }], nowUs: 4 },
    { before: 0, records: [], nowUs: 4 },
  ];
  const table = new BucketTable({ sinceUs: SINCE_US });
  for (const [i, state] of states.entries()) table.set(`own-${i}`, state, SINCE_US);
  for (const [i, state] of states.entries()) expect(table.use(`own-${i}`)).toEqual(state);
  // Each in the place of each other.
  for (const first of states) {
    for (const second of states) {
      table.set('same', first, SINCE_US);
      table.set('same', second);
      expect(table.use('same')).toEqual(second);
    }
  }
});

test('a state kept outside of the table goes with its bucket, or when another replaces it', () => {
  const table = new BucketTable({ sinceUs: SINCE_US });
  const log: BucketState = { before: 0, records: [{ atUs: 1, total: 1 }], nowUs: 1 };
  for (const key of ['a', 'b', 'c', 'd']) table.set(key, log, SINCE_US + SECOND_US);
  expect(table.overflowCount).toBe(4);
  table.delete('a');
  table.forgetOne(2);
  table.set('c', tokens(1));
  expect(table.overflowCount).toBe(1);
  table.set('d', log);
  expect(table.overflowCount).toBe(1);
  table.dropExpired({ nowUs: SINCE_US + SECOND_US, steps: 4 });
  expect([table.size, table.overflowCount]).toEqual([0, 0]);
});

describe('memory', () => {
  const BUCKETS = 300_000;

  test('it grows and shrinks with the buckets, a few at a time', () => {
    const table = new BucketTable({ sinceUs: SINCE_US });
    const emptyBytes = table.bytes;
    let movedMax = 0;
    const counting = (step: () => void): void => {
      const before = table.moved;
      step();
      movedMax = Math.max(movedMax, table.moved - before);
    };
    for (let i = 0; i < BUCKETS; i += 1)
      counting(() => {
        table.set(`1{d}tb60|client=${i}`, tokens(i), SINCE_US);
      });
    // 16 bytes of prefix are known once; a record is 36 bytes and up to 8 of the key, a slot 4.
    expect(table.bytes / BUCKETS).toBeLessThan(36 + 8 + 4 + 2);
    for (let i = 0; i < BUCKETS; i += 2)
      counting(() => {
        table.delete(`1{d}tb60|client=${i}`);
      });
    while (table.size > 0)
      counting(() => {
        table.dropExpired({ nowUs: SINCE_US, steps: 1 });
      });
    expect(table.bytes).toBeLessThan(emptyBytes + 600_000);
    // What is moved is a chain or two: as long as chance makes it, never as long as the table.
    expect(movedMax).toBeLessThan(30);
  });

  test('it stays constant in a flood of fresh keys', () => {
    const table = new BucketTable({ sinceUs: SINCE_US });
    let bytes = 0;
    for (let i = 0; i < BUCKETS; i += 1) {
      table.set(`1{d}tb60|client=${i}`, tokens(i), SINCE_US);
      if (table.size > 10_000) table.forgetOne(10_000);
      if (i === 20_000) bytes = table.bytes;
    }
    expect([table.size, table.bytes]).toEqual([10_000, bytes]);
  });
});

/** What the table is to do, as plainly as it can be said. */
class Model {
  readonly states = new Map<
    string,
    { readonly state: BucketState & { readonly atUs?: number }; readonly expires: number; readonly rank: number }
  >();

  use(key: string): BucketState | undefined {
    const kept = this.states.get(key);
    if (kept === undefined) return undefined;
    this.states.delete(key);
    this.states.set(key, kept);
    return kept.state;
  }

  set(key: string, state: BucketState, expiresAtUs?: number, newRank?: number): void {
    const known = this.states.get(key);
    const expires = expiresAtUs === undefined ? (known?.expires ?? 0) : Math.ceil((expiresAtUs - SINCE_US) / SECOND_US);
    this.states.delete(key);
    this.states.set(key, { state, expires, rank: newRank ?? known?.rank ?? 0 });
  }

  forgetOne(max: number): number {
    const kept = [...this.states];
    const sizes = Array.from({ length: RANKS }, (_, rank) => kept.filter(([, each]) => each.rank === rank).length);
    const rank = rankToForget(sizes, max);
    const [key] = kept.find(([, each]) => each.rank === rank)!;
    this.states.delete(key);
    return rank;
  }

  dropExpired(nowUs: number): void {
    for (const [key, { expires }] of [...this.states]) if (expires <= (nowUs - SINCE_US) / SECOND_US) this.states.delete(key);
  }
}

function tokens(atUs: number): BucketState {
  return { used: 1, rest: 2, atUs };
}

/** Of many lengths, with prefixes and without. */
function keyOf(i: number, random: Random): string {
  const value = `${i}-${'x'.repeat(random(40))}`;
  return [`1{d}tb60|client=${value}`, `1{d}fw1|a=${value}`, value, `${'y'.repeat(300)}${value}`][random(4)]!;
}

function stateOf(random: Random, nowUs: number): BucketState {
  const used = 1 + random(1000);
  switch (random(5)) {
    case 0:
      return { index: random(1000), used };
    case 1:
      return { index: random(1000), current: used, previous: random(1000), elapsedUs: 0 };
    case 2:
      return { before: 0, records: [{ atUs: nowUs, total: used }], nowUs };
    default:
      return { used, rest: random(1000), atUs: nowUs + random(1000) };
  }
}
