/** Reservation settings of a limit are read exactly, shown, and reported where they are invalid. */

import { describeRules } from '../../../src/configuration/source/describe-rules';
import { reservableMax } from '../../../src/domain/rule/limit';
import { matchRequest } from '../../../src/domain/rule/match';
import { entriesOf, requestOf } from '../../support/decisions/rules';
import { compileConfig, problemsOf } from './compile-config';

function file(limit: string): string {
  return `domain: d\ndescriptors:\n  - key: k\n    rate_limit: { unit: hour, requests_per_unit: 5${limit} }\n`;
}

function compile(text: string) {
  return compileConfig({ files: [{ name: 'c.yaml', text }], defaultAlgorithm: 'fixed_window', generation: 1 });
}

function limitOf(text: string, parts: Parameters<typeof requestOf>[0][number] = { entries: entriesOf('k=v') }) {
  const { matches } = matchRequest({ ruleSet: compile(text), request: requestOf([parts]), modes: { shadow: false, quota: false } });
  return matches[0]!.limits[0]!;
}

test.each([
  ['', undefined, 2],
  [', reservations: {}', { maxShare: 0.5, onLapse: 'release' }, 2],
  [', reservations: { max_share: 1, on_lapse: charge }', { maxShare: 1, onLapse: 'charge' }, 5],
  [', reservations: { max_share: .001 }', { maxShare: 0.001, onLapse: 'release' }, 1],
])('a limit with %p is read', (limit, terms, hits) => {
  const made = limitOf(file(limit));
  expect(made.reservations).toEqual(terms);
  expect(reservableMax(made)).toBe(hits);
});

test.each([
  [0.29, 100, 29],
  [0.0006, 100_000, 60],
  [0.299, 10, 2],
  [1, 4_294_967_295, 4_294_967_295],
])('a share of %p of %p is %p, although binary fractions are a little less or more', (maxShare, capacity, hits) => {
  expect(reservableMax({ capacity, reservations: { maxShare, onLapse: 'release' } })).toBe(hits);
});

test('a limit of 0 allows no reservation', () => {
  expect(reservableMax({ capacity: 0 })).toBe(0);
});

test('an override takes reservation settings from its rule', () => {
  const override = { requestsPerUnit: 9, unit: 'hour', unitMultiplier: 1 } as const;
  expect(limitOf(file(', reservations: { max_share: 1 }'), { entries: entriesOf('k=v'), override }).reservations).toEqual({
    maxShare: 1,
    onLapse: 'release',
  });
});

test('/rlconfig shows reservation settings', () => {
  expect(describeRules(compile(file(', reservations: { on_lapse: charge }')))).toEqual([
    expect.stringContaining('reservations: max_share 0.5 on_lapse charge'),
  ]);
});

test('an invalid reservation setting is reported at its place', () => {
  expect(problemsOf(file(', reservations: { max_share: 0, on_lapse: burn, hits: 3 }'))).toEqual([
    'c.yaml:4:99: descriptors[0].rate_limit.reservations.hits: unknown key in reservations; use max_share, on_lapse',
    'c.yaml:4:80: descriptors[0].rate_limit.reservations.max_share: "0" must be a number over 0 and at most 1, such as 0.5, unquoted',
    'c.yaml:4:93: descriptors[0].rate_limit.reservations.on_lapse: unknown way to lapse "burn"; use one of release, charge',
  ]);
  expect(problemsOf(file(', reservations: { max_share: 1.1 }'))).toHaveLength(1);
  expect(problemsOf(file(', reservations: half'))).toHaveLength(1);
});
