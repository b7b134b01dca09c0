/** The nearest keys have the largest shares, exactly. */

import { NearestKeys, SHARE_MAX } from '../../../src/state/top/nearest-keys';
import { randomFrom, seeded } from '../../support/random/random';

function feed(keys: NearestKeys, key: string, near: { readonly share: number; readonly hits: number }): void {
  if (keys.count(key, 0, near) < 0) keys.insert(key, near);
}

test('keeps the largest shares, exactly, and says what it could not keep', () => {
  const { numRuns, seed } = seeded(400);
  const random = randomFrom({ seed });
  for (let i = 0; i < numRuns; i += 1) {
    const capacity = 1 + random(20);
    const kept = new NearestKeys(capacity);
    const exact = new Map<string, number>();
    const spread = 1 + random(SHARE_MAX);
    let total = 0;
    for (let hit = random(300); hit > 0; hit -= 1) {
      const [key, share] = [String(random(60)), 1 + random(spread)];
      feed(kept, key, { share, hits: 2 });
      total += 2;
      exact.set(key, Math.max(exact.get(key) ?? 0, share));
    }
    const shares = [...exact.values()].sort((a, b) => b - a);
    expect(Array.from(kept.keys, (_, slot) => kept.shares[slot]!).sort((a, b) => b - a)).toEqual(shares.slice(0, capacity));
    for (const [slot, key] of kept.keys.entries()) expect(kept.shares[slot]).toBe(exact.get(key));
    expect(kept.total).toBe(total);
    const missing = [...exact].filter(([key]) => !kept.keys.includes(key)).map(([, share]) => share);
    expect(kept.unlisted).toBeGreaterThanOrEqual(Math.max(0, ...missing));
    expect(kept.unlisted).toBeLessThanOrEqual(shares[capacity - 1] ?? SHARE_MAX);
  }
});

test('a new period begins empty', () => {
  const keys = new NearestKeys(2);
  for (const [key, share] of [
    ['a', 900],
    ['b', 950],
    ['c', 1_000],
  ] as const)
    feed(keys, key, { share, hits: 1 });
  keys.clear();
  expect([keys.size, keys.total, keys.unlisted]).toEqual([0, 0, 0]);
  feed(keys, 'd', { share: 800, hits: 1 });
  expect(keys.keys).toEqual(['d']);
});
