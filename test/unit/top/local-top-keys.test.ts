/** Counts over windows of 1, 10 and 60 minutes are within their bounds, by rule and over all rules. */

import type { Counted } from '../../../src/state/top/count-decision';
import { OWN_RULES_MAX } from '../../../src/state/top/live-keys';
import { LocalTopKeys } from '../../../src/state/top/local-top-keys';
import type { TopMinutes, TopQuestion } from '../../../src/state/top/top-keys';
import { PERIOD_MS } from '../../../src/state/top/windows';
import { randomFrom, seeded } from '../../support/random/random';
import { decidedOf, LIMIT, ruleOf } from './traffic';
import { zipf } from './zipf';

const MERCHANT = ruleOf(['merchant']);
const ROUTE = ruleOf(['route_/pay', 'client']);

let nowMs: number;
let top: LocalTopKeys;

beforeEach(() => {
  nowMs = 1_000_000;
  top = newTop();
});

function newTop(capacity = 64): LocalTopKeys {
  return new LocalTopKeys({ capacity, nearLimitRatio: 0.8, nowMs: () => nowMs });
}

async function pass(periods: number): Promise<void> {
  for (let i = 0; i < periods; i += 1) {
    nowMs += PERIOD_MS;
    await top.endPeriod();
  }
}

function merchant(value: string, more: Partial<Parameters<typeof decidedOf>[0]> = {}): Counted {
  return decidedOf({ rule: MERCHANT, entries: [{ key: 'merchant', value }], ...more });
}

async function listed(question: TopQuestion, minutes: TopMinutes = 1): Promise<(readonly [string, number])[]> {
  const { items } = await top.top({ question, minutes, count: 10 });
  return items.map(({ entries, count, error }) => [entries, count - error]);
}

test('who asks most, who is denied most, who is nearest to the limit', async () => {
  for (let i = 0; i < 30; i += 1) top.record(merchant('busy', { remaining: 99 - i }));
  for (let i = 0; i < 20; i += 1) top.record(merchant('denied', { denied: i >= 5, remaining: i >= 5 ? 0 : 50 }));
  top.record(merchant('near', { remaining: 3, hits: 2 }));
  top.record(merchant('nearer', { remaining: 1 }));
  await pass(1);
  expect(await listed('asked')).toEqual([
    ['merchant=busy', 30],
    ['merchant=denied', 20],
    ['merchant=near', 2],
    ['merchant=nearer', 1],
  ]);
  expect(await listed('denied')).toEqual([['merchant=denied', 15]]);
  const near = await top.top({ question: 'near', minutes: 1, count: 10 });
  expect(near.items.map(({ entries, usedShare, count }) => [entries, usedShare, count])).toEqual([
    ['merchant=nearer', 0.99, 1],
    ['merchant=near', 0.97, 2],
  ]);
  expect(near.items[0]).toMatchObject({
    domain: 'shop',
    rule: 'merchant',
    remainingShare: 0.01,
    limit: { name: 'per-key', requestsPerUnit: LIMIT.requestsPerUnit, unit: 'minute', unitMultiplier: 1 },
  });
});

test('a request that recurs counts like any other', async () => {
  const again = merchant('a', { recurs: true });
  for (let i = 0; i < 10; i += 1) top.record(again);
  top.record(merchant('a'));
  await pass(1);
  for (let i = 0; i < 5; i += 1) top.record(again);
  await pass(1);
  expect(await listed('asked')).toEqual([['merchant=a', 16]]);
});

test('checks, refunds and descriptors without a limit count nothing', async () => {
  top.record(merchant('a', { hits: 0 }));
  top.record(merchant('b', { hits: -3 }));
  const { request, matched, decision } = merchant('c');
  top.record({ request, matched, decision: { ...decision, statuses: [{ code: 'OK', limitRemaining: 0, fits: true, denies: false }] } });
  await pass(1);
  expect(await listed('asked')).toEqual([]);
});

test('windows of 1, 10 and 60 minutes slide', async () => {
  for (let period = 0; period < 60 * 12; period += 1) {
    const minute = Math.floor(period / 12);
    top.record(merchant(minute < 30 ? 'early' : minute < 55 ? 'late' : 'now'));
    await pass(1);
  }
  expect(await listed('asked', 1)).toEqual([['merchant=now', 12]]);
  expect(await listed('asked', 10)).toEqual([
    ['merchant=late', 60],
    ['merchant=now', 60],
  ]);
  expect(await listed('asked', 60)).toEqual([
    ['merchant=early', 360],
    ['merchant=late', 300],
    ['merchant=now', 60],
  ]);
  const { coveredMs } = await top.top({ question: 'asked', minutes: 60, count: 1 });
  expect(coveredMs).toBe(3_600_000);
  await pass(30 * 12);
  expect(await listed('asked', 10)).toEqual([]);
  expect((await listed('asked', 60)).map(([entries]) => entries)).toEqual(['merchant=late', 'merchant=now']);
  await pass(36 * 12);
  expect(await listed('asked', 60)).toEqual([]);
});

test('a pause of the process leaves nothing old in a window', async () => {
  top.record(merchant('a'));
  await pass(1);
  nowMs += 7_200_000;
  await pass(1);
  for (const minutes of [1, 10, 60] as const) expect(await listed('asked', minutes)).toEqual([]);
});

test('counts are within their bounds over periods and rules, by rule and over all', async () => {
  const { numRuns, seed } = seeded(24);
  const random = randomFrom({ seed });
  for (let run = 0; run < numRuns; run += 1) {
    nowMs = 0;
    const capacity = 64;
    top = newTop(capacity);
    const exact = new Map<string, number>();
    const totals = new Map<string, number>();
    const draw = zipf({ exponent: 0.5 + random(15) / 10, keys: 500, random });
    for (let period = 0; period < 14; period += 1) {
      for (let i = 0; i < 400; i += 1) {
        const rule = random(3) === 0 ? ROUTE : MERCHANT;
        const value = String(draw());
        const key = rule === ROUTE ? `route=/pay,client=${value}` : `merchant=${value}`;
        const hits = 1 + random(3);
        const entries =
          rule === ROUTE
            ? [
                { key: 'route', value: '/pay' },
                { key: 'client', value },
              ]
            : [{ key: 'merchant', value }];
        top.record(decidedOf({ rule, entries, hits }));
        exact.set(key, (exact.get(key) ?? 0) + hits);
        totals.set(rule.path.join('.'), (totals.get(rule.path.join('.')) ?? 0) + hits);
      }
      await pass(1);
    }
    for (const rule of [undefined, 'merchant', 'route_/pay.client']) {
      const query = { question: 'asked', minutes: 10, count: 100, ...(rule !== undefined && { rule }) } as const;
      const { items, unlistedMax, totalHits } = await top.top(query);
      expect(totalHits).toBe(rule === undefined ? [...totals.values()].reduce((a, b) => a + b) : totals.get(rule));
      for (const { entries, count, error, rule: own } of items) {
        const real = exact.get(entries)!;
        expect(count).toBeGreaterThanOrEqual(real);
        expect(count - error).toBeLessThanOrEqual(real);
        expect(error).toBeLessThanOrEqual(totals.get(own)! / capacity);
      }
      const known = new Set(items.map(({ entries }) => entries));
      const others = [...exact].filter(([key]) => !known.has(key) && (rule === undefined || key.startsWith(rule.slice(0, 5))));
      for (const [, real] of others) expect(real).toBeLessThanOrEqual(unlistedMax);
    }
  }
});

test('more rules than have counters of their own share them', async () => {
  const rules = Array.from({ length: 2 * OWN_RULES_MAX }, (_, i) => ruleOf([`rule${i}`]));
  for (let period = 0; period < 3; period += 1) {
    for (const [i, rule] of rules.entries()) {
      for (let hit = 0; hit <= i % 40; hit += 1) top.record(decidedOf({ rule, entries: [{ key: `rule${i}`, value: 'x' }] }));
    }
    await pass(1);
  }
  const { items, totalHits, unlistedMax } = await top.top({ question: 'asked', minutes: 1, count: 100 });
  const exact = rules.map((_, i) => 3 * ((i % 40) + 1));
  expect(totalHits).toBe(exact.reduce((a, b) => a + b));
  for (const { rule, count, error } of items) {
    const real = exact[Number(rule.slice(4))]!;
    expect(count).toBeGreaterThanOrEqual(real);
    expect(count - error).toBeLessThanOrEqual(real);
  }
  expect(unlistedMax).toBeGreaterThanOrEqual(3);
});

test('candidate_denied has the keys that a candidate would have denied, and only those', async () => {
  const tried = (value: string, fits: boolean, hits = 1): Counted => {
    const counted = merchant(value, { hits });
    return { ...counted, decision: { ...counted.decision, candidates: [{ descriptor: 0, limit: LIMIT, fits }] } };
  };
  top.record(tried('a', true, 50));
  for (let i = 0; i < 3; i += 1) top.record(tried('b', false, 4));
  top.record(tried('c', false));
  await pass(1);
  expect(await listed('candidate_denied')).toEqual([
    ['merchant=b', 12],
    ['merchant=c', 1],
  ]);
  expect(await listed('denied')).toEqual([]);
});
