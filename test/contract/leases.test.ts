/** On both stores, under random schedules and faults, instances with leases admit no more than the limit in any window, and account for every charged hit. */

import type { BucketLimit, Group, Take } from '../../src/domain/bucket/take';
import { LeaseStore, type LeaseEvent } from '../../src/state/resilience/lease-store';
import { MemoryStore } from '../../src/state/store/memory/memory-store';
import type { AdjustOutcome, GroupOutcome, Store } from '../../src/state/store/port/store';
import { StoreError } from '../../src/state/store/port/store-error';
import { groupOf, take } from '../support/decisions/groups';
import { emptied, type ClockedRedis } from '../support/redis/redis-store';
import { redisOfFile } from '../support/redis/redis-of-file';
import { figure } from '../support/docs/figure';
import { casesOf } from '../support/random/form';
import { randomFrom, seeded, type Random } from '../support/random/random';

const STEPS = 1_500;
const INSTANCES = 3;
const START_US = 1_800_000_000_000_000;
const WINDOW_US = 10_000_000;
/** Nothing is on its way if nothing was sent for this number of turns. */
const QUIET_TURNS = 5;
/** As far as leases allow for. */
const DRIFT = 1 / 12;

function limitOf(capacity: number): BucketLimit {
  return { algorithm: 'fixed_window', windowUs: WINDOW_US, requestsPerUnit: capacity, capacity };
}

/** Not leased: it denies groups that have already taken a hit from a lease. */
const TIGHT: BucketLimit = { algorithm: 'token_bucket', windowUs: 1_000_000, requestsPerUnit: 5, capacity: 5 };

/** A message to Redis, or its reply, on its way. */
interface Message {
  readonly run: () => Promise<void>;
  readonly fail: () => void;
}

interface Instance {
  readonly store: LeaseStore;
  readonly hits: Record<LeaseEvent, number>;
  /** How fast its clock is. */
  readonly rate: number;
}

interface ClockedStore extends Pick<ClockedRedis, 'setNow'> {
  readonly store: Store;
}

class History {
  nowUs: number;
  messages: Message[] = [];
  instances: Instance[] = [];
  /** Hits of crashed instances that nobody used. */
  crashed = 0;
  /** Admitted hits, by key and window. */
  readonly admitted = new Map<string, number>();
  /** When Redis decided a take, by Redis's clock. */
  private readonly decidedAt = new Map<Take, number>();
  leased = 0;
  asked = 0;

  constructor(
    private readonly redis: ClockedStore,
    readonly random: Random,
    private readonly limit: BucketLimit,
  ) {
    this.nowUs = START_US + random(WINDOW_US);
    for (let i = 0; i < INSTANCES; i += 1) this.instances.push(this.start());
  }

  start(): Instance {
    const hits = { charged: 0, used: 0, givenBack: 0, lost: 0 };
    const rate = 1 + ((this.random(1_001) - 500) / 500) * (DRIFT / 2);
    const store = new LeaseStore(this.connect(), {
      lastKnown: { record: () => undefined },
      leases: 'auto',
      instances: () => INSTANCES,
      nowMs: () => ((this.nowUs - START_US) / 1_000) * rate,
      onHits: (event, count) => (hits[event] += count),
    });
    return { store, hits, rate };
  }

  /** A network that delays, reorders and loses. */
  private connect(): Store {
    const { store } = this.redis;
    return {
      take: (groups) => this.send<readonly GroupOutcome[]>(() => this.decide(groups)),
      adjust: (adjustments) => this.send<readonly AdjustOutcome[]>(() => store.adjust(adjustments)),
      close: () => Promise.resolve(),
    };
  }

  private decide(groups: readonly Group[]): Promise<readonly GroupOutcome[]> {
    for (const { takes } of groups) for (const each of takes) this.decidedAt.set(each, this.nowUs);
    return this.redis.store.take(groups);
  }

  private send<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const lose = (mayHaveRun: boolean) => () => {
        reject(new StoreError('lost', 'timeout', { mayHaveRun }));
      };
      const run = async () => {
        await this.redis.setNow(Math.floor(this.nowUs));
        const answer = await call();
        this.messages.push({
          run: () => {
            resolve(answer);
            return Promise.resolve();
          },
          fail: lose(true),
        });
      };
      // The sender cannot know whether a lost message has run.
      this.messages.push({ run, fail: lose(this.random(2) === 0) });
    });
  }

  async ask(instance: Instance, keys: readonly string[]): Promise<void> {
    const takes = keys.map((key) => take(key, key === 'tight' ? { limit: TIGHT } : { limit: this.limit, hits: 1 + this.random(2) }));
    const group = groupOf(takes);
    const askedUs = this.nowUs;
    this.asked += 1;
    const [outcome] = await instance.store.take([group]).catch((error: unknown) => [error as StoreError]);
    if (outcome === undefined || !('verdicts' in outcome) || outcome.overLimit) return;
    if (outcome.leased === true) this.leased += 1;
    for (const each of group.takes) {
      const window = Math.floor((this.decidedAt.get(each) ?? askedUs) / WINDOW_US);
      const name = `${each.bucketKey} ${window}`;
      if (each.limit !== TIGHT) this.admitted.set(name, (this.admitted.get(name) ?? 0) + each.hits);
    }
  }

  async step(): Promise<void> {
    const { random, instances, messages } = this;
    const at = random(INSTANCES);
    const instance = instances[at]!;
    const what = random(1_000);
    if (what < 250) {
      const keys = [['a'], ['b'], ['a', 'b'], ['tight', 'a']][random(4)]!;
      void this.ask(instance, keys);
    } else if (what < 350) this.nowUs += random(100_000);
    else if (what < 985) {
      const [message] = messages.splice(random(Math.min(3, messages.length)), 1);
      if (random(100) === 0) message?.fail();
      else await message?.run();
    } else if (what < 997) void instance.store.sweep();
    else if (what < 999) {
      const { charged, used, givenBack, lost } = instance.hits;
      this.crashed += charged - used - givenBack - lost;
      this.instances[at] = this.start();
    } else instance.store.clear();
    await turn();
  }

  /** Everything arrives, and every instance drains. */
  async end(): Promise<void> {
    await this.deliver();
    const closing = this.instances.map(({ store }) => store.close());
    await this.deliver();
    await Promise.all(closing);
  }

  private async deliver(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; quiet = this.messages.length === 0 ? quiet + 1 : 0) {
      for (const message of this.messages.splice(0)) await message.run();
      await turn();
    }
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const redis = redisOfFile();

/** An empty store at each call. */
const STORES: Readonly<Record<string, () => Promise<ClockedStore>>> = {
  'the embedded store': () => {
    const clock = { nowUs: 0 };
    const setNow = (nowUs: number) => {
      clock.nowUs = nowUs;
      return Promise.resolve();
    };
    return Promise.resolve({ store: new MemoryStore({ nowUs: () => clock.nowUs, bucketsMax: 1_000 }), setNow });
  },
  Redis: () => emptied(redis),
};

test.each([
  ['the embedded store', 200],
  ['Redis', 40],
])('on %s no window admits more than its limit, and charged hits are used, given back or lost', async (name, histories) => {
  let leased = 0;
  let asked = 0;
  const random = randomFrom(seeded(histories));
  for (let run = 0; run < casesOf(histories); run += 1) {
    const limit = limitOf(40 + random(400));
    const history = new History(await STORES[name]!(), random, limit);
    for (let step = 0; step < STEPS; step += 1) await history.step();
    await history.end();
    for (const [window, hits] of history.admitted) expect([window, Math.max(hits, limit.capacity)]).toEqual([window, limit.capacity]);
    for (const { hits } of history.instances) expect(hits.charged).toBe(hits.used + hits.givenBack + hits.lost);
    expect(history.crashed).toBeGreaterThanOrEqual(0);
    leased += history.leased;
    asked += history.asked;
  }
  expect(leased).toBeGreaterThan(asked / 10);
  figure(`${leased} of ${asked} requests admitted from leases, none above a limit`);
});
