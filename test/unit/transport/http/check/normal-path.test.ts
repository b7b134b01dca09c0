/** All spellings of a path become one, and no spelling of another path does. */

import fc from 'fast-check';
import { normalPath } from '../../../../../src/server/transport/http/check/normal-path';
import { seeded } from '../../../../support/random/random';

test.each([
  '/payment',
  '/payment/',
  '//payment',
  '/payment?client=1',
  '/payment#top',
  '/payment;jsessionid=1',
  '/payment;/',
  '/./payment',
  '/search/../payment',
  '/../../payment',
  '/search/%2e%2E/payment',
  '/search/..;x=1/payment',
  '/%70%61yment',
  '/payment/%2e',
  '\\payment',
  '/search\\..\\payment',
  'http://shop.example/payment',
  'http://shop.example//%70ayment?x',
])('%s is the path /payment', (target) => {
  expect(normalPath(target)).toBe('/payment');
});

test.each([
  ['/', '/'],
  ['//', '/'],
  ['/..', '/'],
  ['http://shop.example', '/'],
  ['http://shop.example?x=/a', '/'],
  ['/a/b.c/~d_e', '/a/b.c/~d_e'],
  ['/users/%40bob', '/users/@bob'],
  ['/caf%c3%a9', '/caf\xc3\xa9'],
  ['/Payment', '/Payment'],
  ['/...', '/...'],
  ['/a b', '/a b'],
  // What would separate something once decoded stays as it is.
  ['/groups%2fone', '/groups%2Fone'],
  ['/a%5cb', '/a%5Cb'],
  ['/a%3bb', '/a%3Bb'],
  ['/a%3fb', '/a%3Fb'],
  ['/a%00b', '/a%00b'],
  // Only one decoding: a server that decodes twice is not what this is for.
  ['/%252e%252e/a', '/%252e%252e/a'],
  ['/a%2', '/a%2'],
  ['/%zz', '/%zz'],
  ['/%%41%41', '/%25AA'],
])('%s is the path %s', (target, path) => {
  expect(normalPath(target)).toBe(path);
});

test.each(['', '*', 'payment', '?x=1', 'host:443'])('%p has no path', (target) => {
  expect(normalPath(target)).toBeUndefined();
});

test('a normal path stays as it is, whatever it was made of', () => {
  const piece = fc.constantFrom(
    '/',
    '//',
    'a',
    'B',
    '.',
    '..',
    '%2e',
    '%2F',
    '%41',
    ';x=1',
    '\\',
    '?',
    '#',
    '%',
    '%c3%a9',
    '\xff',
    ' ',
    '%25',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const path = normalPath(`/${pieces.join('')}`);
      expect(path).toMatch(/^\//);
      expect(normalPath(path!)).toBe(path);
    }),
    seeded(100),
  );
});
