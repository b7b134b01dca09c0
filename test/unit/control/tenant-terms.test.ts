/** The stored terms of a tenant keep its plan always, and reason and author within a bound. */

import { NOTES_MAX, TenantTerms } from '../../../src/state/control/tenant-terms';

test('equal terms have one number, others have their own, and a plan is the same with each', () => {
  const terms = new TenantTerms();
  const plain = terms.acquire({ plan: 'gold' });
  const noted = terms.acquire({ plan: 'gold', reason: 'grün', author: 'ann' });
  expect(terms.acquire({ plan: 'gold', reason: 'grün', author: 'ann' })).toBe(noted);
  expect(noted).not.toBe(plain);
  expect([plain, noted].map((number) => terms.planOf(number))).toEqual(['gold', 'gold']);
  expect(terms.notesOf(plain)).toEqual({});
  expect(terms.notesOf(noted)).toEqual({ reason: 'grün', author: 'ann' });
  expect(terms.notesOf(terms.acquire({ plan: 'gold', author: 'bob' }))).toEqual({ author: 'bob' });
});

test('a text with the separator keeps the plan, and has no notes', () => {
  const terms = new TenantTerms();
  for (const plan of ['a\0b', 'a']) {
    const number = terms.acquire({ plan, reason: 'x\0y', author: 'ann' });
    expect([terms.planOf(number), terms.notesOf(number)]).toEqual([plan, {}]);
  }
});

test('beyond the bound further terms keep only the plan, until others are released', () => {
  const terms = new TenantTerms();
  const numbers = Array.from({ length: NOTES_MAX }, (_, i) => terms.acquire({ plan: 'p', reason: `r${i}` }));
  const late = terms.acquire({ plan: 'p', reason: 'late' });
  expect([terms.planOf(late), terms.notesOf(late)]).toEqual(['p', {}]);
  expect(terms.acquire({ plan: 'p', reason: 'r7' })).toBe(numbers[7]);
  terms.release(numbers[0]!);
  expect(terms.notesOf(terms.acquire({ plan: 'p', reason: 'late' }))).toEqual({ reason: 'late' });
  expect(terms.notesOf(numbers[7]!)).toEqual({ reason: 'r7' });
});
