/** The top keys of several processes are within their bounds when merged, and at most 64 KiB a window. */

import { StoreError } from '../../../src/state/store/port/store-error';
import type { Publication, TopExchange, TopPlace } from '../../../src/state/top/exchange';
import { FleetTopKeys } from '../../../src/state/top/fleet-top-keys';
import { LocalTopKeys } from '../../../src/state/top/local-top-keys';
import { PUBLISHED_CHARS_MAX } from '../../../src/state/top/published-summary';
import type { TopAnswer, TopKeys, TopQuery } from '../../../src/state/top/top-keys';
import { PERIOD_MS } from '../../../src/state/top/windows';
import { randomFrom, seeded } from '../../support/random/random';
import { decidedOf, ruleOf } from './traffic';
import { zipf } from './zipf';

const MERCHANT = ruleOf(['merchant']);
const ASKED: TopQuery = { question: 'asked', minutes: 1, count: 10 };

let nowMs: number;
let published: Map<string, Publication>;
let live: string[];

beforeEach(() => {
  nowMs = 1_000_000;
  published = new Map();
  live = [];
});

class SharedMap implements TopExchange {
  isAway = false;

  constructor(readonly name: string) {}

  instances(): Promise<readonly string[]> {
    return this.answer(live);
  }

  read({ instance, minutes }: TopPlace): Promise<string | undefined> {
    return this.answer(published.get(`${instance}:${minutes}`)?.text);
  }

  publish(publication: Publication): Promise<void> {
    if (!this.isAway) published.set(`${this.name}:${publication.minutes}`, publication);
    return this.answer(undefined);
  }

  private answer<T>(value: T): Promise<T> {
    return this.isAway ? Promise.reject(new StoreError('away', 'connection')) : Promise.resolve(value);
  }
}

interface Process {
  readonly exchange: SharedMap;
  readonly local: LocalTopKeys;
  readonly fleet: FleetTopKeys;
}

function startProcess(name: string, { capacity = 64 } = {}): Process {
  live.push(name);
  const exchange = new SharedMap(name);
  const local = new LocalTopKeys({ capacity, nearLimitRatio: 0.8, nowMs: () => nowMs });
  return { exchange, local, fleet: new FleetTopKeys({ local, exchange, nowMs: () => nowMs }) };
}

async function pass(processes: readonly Process[]): Promise<void> {
  nowMs += PERIOD_MS;
  for (const { local, fleet } of processes) {
    await local.endPeriod();
    await fleet.publish();
  }
}

function ask({ local }: Process, value: string, more: Partial<Parameters<typeof decidedOf>[0]> = {}): void {
  local.record(decidedOf({ rule: MERCHANT, entries: [{ key: 'merchant', value }], ...more }));
}

async function textsOf(keys: TopKeys, query: TopQuery): Promise<string[]> {
  return (await keys.top(query)).items.map(({ entries, count }) => `${entries} ${count}`);
}

test('every process answers for all of them', async () => {
  const processes = [startProcess('a'), startProcess('b'), startProcess('c')];
  processes.forEach((process, i) => {
    for (let hit = 0; hit <= i; hit += 1) ask(process, 'everywhere');
    ask(process, `only ${i}`, { hits: 10 * (i + 1), denied: i === 1, remaining: i === 2 ? 0 : 50 });
  });
  await pass(processes);
  for (const { fleet } of processes) {
    expect(await textsOf(fleet, ASKED)).toEqual([
      'merchant=only 2 30',
      'merchant=only 1 20',
      'merchant=only 0 10',
      'merchant=everywhere 6',
    ]);
    expect(await textsOf(fleet, { ...ASKED, question: 'denied' })).toEqual(['merchant=only 1 20']);
    const near = await fleet.top({ ...ASKED, question: 'near' });
    expect(near.items).toMatchObject([{ entries: 'merchant=only 2', usedShare: 1, remainingShare: 0 }]);
    expect(near).toMatchObject({ instances: 3, missing: 0, coveredMs: PERIOD_MS });
  }
});

function expectWithin({ items, unlistedMax, totalHits }: TopAnswer, exact: ReadonlyMap<string, number>): void {
  expect(totalHits).toBe([...exact.values()].reduce((a, b) => a + b));
  for (const { entries, count, error } of items) {
    const real = exact.get(entries)!;
    expect(count).toBeGreaterThanOrEqual(real);
    expect(count - error).toBeLessThanOrEqual(real);
  }
  const known = new Set(items.map(({ entries }) => entries));
  for (const [key, real] of exact) if (!known.has(key)) expect(real).toBeLessThanOrEqual(unlistedMax);
}

test('merged counts are within their bounds, in every window', async () => {
  const { numRuns, seed } = seeded(8);
  const random = randomFrom({ seed });
  for (let run = 0; run < numRuns; run += 1) {
    live = [];
    const processes = ['a', 'b', 'c'].map((name) => startProcess(name));
    const draw = zipf({ exponent: 0.6 + random(12) / 10, keys: 1_000, random });
    const exact = new Map<string, number>();
    for (let period = 0; period < 12; period += 1) {
      for (let i = 0; i < 1_500; i += 1) {
        const value = String(draw());
        ask(processes[random(3)]!, value);
        exact.set(`merchant=${value}`, (exact.get(`merchant=${value}`) ?? 0) + 1);
      }
      await pass(processes);
    }
    for (const minutes of [1, 10, 60] as const) {
      for (const count of [10, 100]) expectWithin(await processes[0]!.fleet.top({ question: 'asked', minutes, count }), exact);
    }
  }
});

test('a process without a summary, or with a damaged one, is missing', async () => {
  const [a, b] = [startProcess('a'), startProcess('b')];
  live.push('new');
  ask(a, 'x');
  await pass([a, b]);
  expect(await a.fleet.top(ASKED)).toMatchObject({ instances: 2, missing: 1 });
  nowMs += 3_000;
  for (const text of ['', '{', '{"form":2}', '{"form":1,"limits":[],"questions":{}}', 'x'.repeat(PUBLISHED_CHARS_MAX + 1)]) {
    published.set('b:1', { minutes: 1, text, ttlMs: 1 });
    nowMs += 3_000;
    expect(await a.fleet.top(ASKED)).toMatchObject({ instances: 1, missing: 2 });
  }
});

test('while the store is away nothing is published, and a question fails; afterwards both work', async () => {
  const [a, b] = [startProcess('a'), startProcess('b')];
  a.exchange.isAway = true;
  ask(a, 'x');
  await expect(pass([a])).rejects.toThrow(StoreError);
  await expect(a.fleet.top(ASKED)).rejects.toThrow(StoreError);
  a.exchange.isAway = false;
  await pass([a, b]);
  expect(await textsOf(b.fleet, ASKED)).toEqual(['merchant=x 1']);
});

test('longer windows are published less often, and expire later', async () => {
  const a = startProcess('a');
  const times = new Map<string, number>();
  for (let period = 1; period <= 12; period += 1) {
    published.clear();
    ask(a, 'x');
    await pass([a]);
    for (const [place, { ttlMs }] of published) {
      times.set(place, (times.get(place) ?? 0) + 1);
      expect(ttlMs).toBe({ 'a:1': 20_000, 'a:10': 60_000, 'a:60': 240_000 }[place]);
    }
  }
  expect(Object.fromEntries(times)).toEqual({ 'a:1': 12, 'a:10': 5, 'a:60': 2 });
});

test('what is published has a bound, at any number of rules and any length of their keys', async () => {
  const a = startProcess('a', { capacity: 512 });
  for (let rule = 0; rule < 300; rule += 1) {
    const of = ruleOf([`${rule} ${'r'.repeat(300)}`]);
    for (let key = 0; key < 10; key += 1) {
      const entries = [{ key: of.path[0]!, value: `${key} ${'\u0001'.repeat(250)}` }];
      a.local.record(decidedOf({ domain: 'd'.repeat(300), rule: of, entries, denied: key % 2 === 0, remaining: 0 }));
    }
  }
  await pass([a]);
  for (const { text } of published.values()) expect(text.length).toBeLessThanOrEqual(PUBLISHED_CHARS_MAX);
  const reader = startProcess('reader');
  const answer = await reader.fleet.top({ ...ASKED, count: 100 });
  expect(answer).toMatchObject({ instances: 2, totalHits: 3_000 });
  expect(answer.unlistedMax).toBeGreaterThanOrEqual(1);
});
