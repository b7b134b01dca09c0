/** Hits are shown as amounts to the last digit, whatever their size. */

import fc from 'fast-check';
import { amountText, DIVISORS, hitsText } from '../../../src/lib/text/amount';
import { seeded } from '../../support/random/random';

test.each([
  [4_250_000, 1_000_000, '4.25 USD'],
  [5_000_000, 1_000_000, '5 USD'],
  [1, 1_000_000, '0.000001 USD'],
  [-30, 100, '-0.3 USD'],
  [0, 100, '0 USD'],
  [12, 1, '12 USD'],
  [Number.MAX_SAFE_INTEGER, 1_000_000, '9007199254.740991 USD'],
  [Number.MAX_SAFE_INTEGER, 10 ** 12, '9007.199254740991 USD'],
])('%i hits divided by %i are %s', (hits, divide, text) => {
  expect(amountText(hits, { unit: 'USD', divide })).toBe(text);
});

test('without a form hits are a number', () => {
  expect(hitsText(12, undefined)).toBe('12');
});

test('every amount is its hits again', () => {
  const hits = fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER });
  fc.assert(
    fc.property(hits, fc.constantFrom(...DIVISORS), (count, divide) => {
      const [amount = ''] = amountText(count, { unit: 'x', divide }).split(' ');
      const [whole = '', fraction = ''] = amount.replace('-', '').split('.');
      const again = BigInt(whole) * BigInt(divide) + BigInt(fraction.padEnd(String(divide).length - 1, '0') || '0');
      expect(amount.startsWith('-') ? -again : again).toBe(BigInt(count));
    }),
    seeded(1_000),
  );
});
