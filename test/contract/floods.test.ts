/** A flood of fresh keys evicts no used-up limit from the embedded store or from mode `local`. */

import type { BucketAlgorithm } from '../../src/domain/algorithm/algorithms';
import type { BucketLimit, Group, GroupVerdict, Take } from '../../src/domain/bucket/take';
import { FallbackStore } from '../../src/state/resilience/fallback';
import { UsageSnapshot } from '../../src/state/resilience/usage-snapshot';
import { MemoryStore } from '../../src/state/store/memory/memory-store';
import type { Store } from '../../src/state/store/port/store';
import { isLong } from '../support/random/form';
import { BUCKET_ALGORITHMS, groupOf, take } from '../support/decisions/groups';
import { decided } from '../support/decisions/outcomes';
import { SwitchedStore } from '../support/redis/switched-store';

const START_US = 1_800_000_000_000_000;
const SECOND_US = 1_000_000;
const DAY_US = 86_400 * SECOND_US;

/** Calls of one turn, as a connection brings them. */
const AT_ONCE = 50;

/** So much time passes from one of these to the next: 100,000 keys in a second. */
const STEP_US = 500;

function limitOf(requestsPerUnit: number, windowUs: number, algorithm: BucketAlgorithm = 'token_bucket'): BucketLimit {
  return { algorithm, windowUs, requestsPerUnit, capacity: requestsPerUnit };
}

const FIVE_AN_HOUR = limitOf(5, 3_600 * SECOND_US);
const FIVE_A_DAY = limitOf(5, DAY_US);
const HUNDRED_A_MINUTE = limitOf(100, 60 * SECOND_US);
const ONE_A_DAY = limitOf(1, DAY_US);
const ONE_A_SECOND = limitOf(1, SECOND_US);

class Flood {
  nowUs = START_US;
  private fresh = 0;

  constructor(private readonly store: () => Pick<Store, 'take'>) {}

  async ask(key: string, parts: Partial<Take>): Promise<GroupVerdict> {
    const [outcome] = await this.store().take([groupOf([take(key, parts)])]);
    return decided(outcome);
  }

  /** Asks a number of single hits, and returns how many pass. */
  async admittedOf(key: string, limit: BucketLimit, calls = 10): Promise<number> {
    let admitted = 0;
    for (let i = 0; i < calls; i += 1) if (!(await this.ask(key, { limit })).overLimit) admitted += 1;
    return admitted;
  }

  /** Asks once for each of a number of new keys. */
  async pour(keys: number, limit: BucketLimit): Promise<void> {
    for (let poured = 0; poured < keys; poured += AT_ONCE) {
      await this.store().take(Array.from({ length: AT_ONCE }, () => this.freshGroup(limit)));
      this.nowUs += STEP_US;
    }
  }

  /** By naming fields: what is spread is slow, and these are many. */
  private freshGroup(limit: BucketLimit): Group {
    this.fresh += 1;
    return {
      takes: [{ bucketKey: `1{d}fresh|client=${this.fresh}`, limit, hits: 1, mode: 'enforced', descriptor: 0 }],
      quotaAlwaysFits: false,
      shadow: false,
    };
  }
}

describe('the embedded store', () => {
  const BUCKETS = isLong ? 1_000_000 : 10_000;

  function open(): { readonly flood: Flood; readonly store: MemoryStore } {
    const flood: Flood = new Flood(() => store);
    const store = new MemoryStore({ nowUs: () => flood.nowUs, bucketsMax: BUCKETS });
    return { flood, store };
  }

  test.each<[string, BucketLimit]>([
    ['of the same limit', FIVE_AN_HOUR],
    ['of a limit of a minute', HUNDRED_A_MINUTE],
    ['of a limit of a second, each used up by its first hit', ONE_A_SECOND],
  ])('a used-up limit stays used up after floods of 1.5 times its capacity in fresh keys, twice, %s', async (_name, limit) => {
    const { flood, store } = open();
    expect(await flood.admittedOf('login', FIVE_AN_HOUR)).toBe(5);
    for (let round = 0; round < 2; round += 1) {
      await flood.pour(1.5 * BUCKETS, limit);
      expect(store.size).toBeLessThanOrEqual(BUCKETS);
      const refilled = Math.floor((flood.nowUs - START_US) / (FIVE_AN_HOUR.windowUs / 5));
      expect(5 + refilled - (await flood.admittedOf('login', FIVE_AN_HOUR))).toBe(5);
    }
  });

  test.each(BUCKET_ALGORITHMS)('each algorithm keeps a used-up limit through a flood (%s)', async (algorithm) => {
    const { flood } = open();
    const limit = limitOf(5, DAY_US, algorithm);
    expect(await flood.admittedOf('login', limit)).toBe(5);
    await flood.pour(1.5 * BUCKETS, HUNDRED_A_MINUTE);
    expect(await flood.admittedOf('login', limit)).toBe(0);
  });
});

describe('the embedded store, when the flood uses limits up', () => {
  const BUCKETS = 1_600;
  const PART_OF_USED_UP = 600;
  const PART_OF_OTHERS = 200;

  function open() {
    const told = { usedUp: 0, partlyUsed: 0 };
    const flood: Flood = new Flood(() => store);
    const store: MemoryStore = new MemoryStore({
      nowUs: () => flood.nowUs,
      bucketsMax: BUCKETS,
      onForgotten: ({ usedUp }) => {
        told[usedUp ? 'usedUp' : 'partlyUsed'] += 1;
      },
    });
    return { flood, store, told };
  }

  test('used-up buckets fill the store up to the part reserved for others; each eviction is counted and reported', async () => {
    const { flood, store, told } = open();
    await flood.pour(BUCKETS, ONE_A_DAY);
    await flood.pour(2 * BUCKETS, HUNDRED_A_MINUTE);
    expect([store.usedUpEvictions, store.evictions]).toEqual([PART_OF_OTHERS, 2 * BUCKETS]);
    expect(told).toEqual({ usedUp: PART_OF_OTHERS, partlyUsed: 2 * BUCKETS - PART_OF_OTHERS });
  });

  test('the store evicts buckets that are full again before all others', async () => {
    const { flood, store } = open();
    await flood.pour(BUCKETS, ONE_A_SECOND);
    flood.nowUs += 10 * SECOND_US;
    await flood.pour(BUCKETS, HUNDRED_A_MINUTE);
    expect([store.size, store.evictions]).toEqual([BUCKETS, 0]);
  });

  test('a requested bucket stays until the documented number of others was used up since', async () => {
    const { flood } = open();
    expect(await flood.admittedOf('login', FIVE_AN_HOUR)).toBe(5);
    for (let round = 0; round < 4; round += 1) {
      await flood.pour(PART_OF_USED_UP - AT_ONCE, ONE_A_DAY);
      expect(await flood.admittedOf('login', FIVE_AN_HOUR)).toBe(0);
    }
    await flood.pour(BUCKETS, ONE_A_DAY);
    expect(await flood.admittedOf('login', FIVE_AN_HOUR)).toBe(5);
  });

  test('a caller that fills the store with used-up limits cannot retry another limit without end', async () => {
    const { flood } = open();
    await flood.pour(2 * BUCKETS, ONE_A_DAY);
    let admitted = 0;
    for (let round = 0; round < 100; round += 1) {
      admitted += await flood.admittedOf('login', FIVE_AN_HOUR, 1);
      await flood.pour(PART_OF_OTHERS - AT_ONCE, HUNDRED_A_MINUTE);
    }
    expect(admitted).toBe(5);
  });

  test('the store evicts a bucket below zero after all used-up ones', async () => {
    const { flood } = open();
    await flood.ask('tokens', { limit: FIVE_A_DAY, hits: 8, overdraftMax: 5 });
    await flood.pour(3 * BUCKETS, ONE_A_DAY);
    const { verdicts } = await flood.ask('tokens', { limit: FIVE_A_DAY });
    expect(verdicts).toMatchObject([{ fits: false, debt: 3 }]);
  });
});

describe('mode local, as Weir configures it', () => {
  const ACCOUNTS = 50_000;

  test('repeated floods of 120,000 fresh keys let no more pass than the share of a limit of 5 a day', async () => {
    const flood: Flood = new Flood(() => store);
    const nowMs = (): number => (flood.nowUs - START_US) / 1_000;
    const redis = new SwitchedStore(new MemoryStore({ nowUs: () => flood.nowUs, bucketsMax: 10 }));
    redis.failing = { reason: 'connection', mayHaveRun: false };
    const ignore = (): void => undefined;
    const store = new FallbackStore(redis, {
      failureMode: 'local',
      local: new MemoryStore({ nowUs: () => flood.nowUs, bucketsMax: 2 * ACCOUNTS }),
      lastKnown: new UsageSnapshot({ nowMs, bucketsMax: 65_536 }),
      accountsMax: ACCOUNTS,
      nowMs,
      nowUs: () => flood.nowUs,
      instances: () => 1,
      onFallback: ignore,
      onChargedBack: ignore,
      onLost: ignore,
    });
    let admitted = 0;
    for (let round = 0; round < (isLong ? 4 : 1); round += 1) {
      admitted += await flood.admittedOf('used-up', FIVE_A_DAY);
      await flood.pour(60_000, HUNDRED_A_MINUTE);
      await flood.pour(60_000, FIVE_A_DAY);
    }
    admitted += await flood.admittedOf('used-up', FIVE_A_DAY);
    expect(admitted).toBe(4);
  });
});
