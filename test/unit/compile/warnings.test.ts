/** A field without effect causes a warning with its line. */

import { readFileSync } from 'node:fs';
import { compileConfig, type CompileOptions } from './compile-config';
import { WARNINGS_MAX } from '../../../src/configuration/problems/problem-list';

function warningsOf(text: string, options: Partial<CompileOptions> = {}): readonly string[] {
  return compileConfig({ files: [{ name: 'c.yaml', text }], defaultAlgorithm: 'fixed_window', generation: 1, ...options }).warnings;
}

/** A file of one descriptor with this limit, on line 4. */
function limit(fields: string): string {
  return `domain: d\ndescriptors:\n  - key: k\n    rate_limit: { ${fields} }\n`;
}

const EXAMPLE = readFileSync('deploy/example/payments.yaml', 'utf8');
const LIMIT = 'c.yaml:4';
const COUNTING = 'requests_per_unit: 1, unit_multiplier: 2, burst: 3, algorithm: token_bucket, calendar: true, time_zone: UTC';

const CASES: readonly { what: string; text: string; options?: Partial<CompileOptions>; lines: readonly string[] }[] = [
  {
    what: 'burst under the default algorithm',
    text: limit('unit: day, requests_per_unit: 5, burst: 9'),
    lines: [`${LIMIT}:59: descriptors[0].rate_limit.burst: has no effect under fixed_window; it is for token_bucket and leaky_bucket`],
  },
  {
    what: 'burst under an algorithm of its own',
    text: limit('unit: day, requests_per_unit: 5, algorithm: sliding_window_log, burst: 9'),
    options: { defaultAlgorithm: 'token_bucket' },
    lines: [
      `${LIMIT}:90: descriptors[0].rate_limit.burst: has no effect under sliding_window_log; it is for token_bucket and leaky_bucket`,
    ],
  },
  {
    what: 'calendar under another algorithm than fixed_window',
    text: limit('unit: month, requests_per_unit: 5, algorithm: token_bucket, calendar: true'),
    lines: [`${LIMIT}:89: descriptors[0].rate_limit.calendar: has no effect under token_bucket; it is for fixed_window`],
  },
  {
    what: 'calendar with a unit that is the same in all of them',
    text: limit('unit: hour, requests_per_unit: 5, calendar: true, time_zone: Europe/Berlin'),
    lines: [`${LIMIT}:63: descriptors[0].rate_limit.calendar: has no effect, because every calendar has the same hours; remove it`],
  },
  {
    what: 'calendar with such a unit, where it chose the algorithm',
    text: limit('unit: second, requests_per_unit: 5, calendar: true'),
    options: { defaultAlgorithm: 'token_bucket' },
    lines: [
      `${LIMIT}:65: descriptors[0].rate_limit.calendar: only makes the limit a fixed_window, because every calendar has the same seconds; write algorithm: fixed_window`,
    ],
  },
  {
    what: 'leases under another algorithm than fixed_window',
    text: limit('unit: day, requests_per_unit: 5, algorithm: token_bucket, leases: auto'),
    lines: [`${LIMIT}:85: descriptors[0].rate_limit.leases: has no effect; it is for fixed_window with a window of at least 10 seconds`],
  },
  {
    what: 'leases with a short window',
    text: limit('unit: second, unit_multiplier: 9, requests_per_unit: 5, leases: auto'),
    lines: [`${LIMIT}:83: descriptors[0].rate_limit.leases: has no effect; it is for fixed_window with a window of at least 10 seconds`],
  },
  {
    what: 'time_zone without calendar',
    text: limit('unit: day, requests_per_unit: 5, time_zone: Europe/Berlin'),
    lines: [`${LIMIT}:63: descriptors[0].rate_limit.time_zone: has no effect without calendar: true`],
  },
  {
    what: 'time_zone with calendar: false',
    text: limit('unit: day, requests_per_unit: 5, calendar: false, time_zone: UTC'),
    lines: [`${LIMIT}:80: descriptors[0].rate_limit.time_zone: has no effect without calendar: true`],
  },
  {
    what: 'USE_CALENDAR_MONTH_RATE_LIMIT with a month of another algorithm',
    text: limit('unit: month, requests_per_unit: 5, algorithm: sliding_window_counter'),
    options: { calendarMonth: true },
    lines: [
      `${LIMIT}:25: descriptors[0].rate_limit.unit: is 30 days under sliding_window_counter; USE_CALENDAR_MONTH_RATE_LIMIT is for fixed_window alone`,
    ],
  },
  {
    what: 'modes without a limit',
    text: 'domain: d\ndescriptors:\n  - key: k\n    shadow_mode: true\n    quota_mode: true\n    descriptors: [{ key: l, rate_limit: { unlimited: true } }]\n',
    lines: [
      'c.yaml:4:18: descriptors[0].shadow_mode: has no effect on a descriptor without a limit; remove it, or set it where the limit is',
      'c.yaml:5:17: descriptors[0].quota_mode: has no effect on a descriptor without a limit; remove it, or set it where the limit is',
    ],
  },
  {
    what: 'a missing requests_per_unit',
    text: limit('unit: day'),
    lines: [
      `${LIMIT}:17: descriptors[0].rate_limit.requests_per_unit: is missing, which counts as 0: every hit is over the limit; give it a number`,
    ],
  },
  {
    what: 'all that counts beside unlimited',
    text: limit(`unlimited: true, ${COUNTING}, failure_mode: open, response_headers: ietf`),
    lines: [
      [55, 'requests_per_unit'],
      [75, 'unit_multiplier'],
      [85, 'burst'],
      [99, 'algorithm'],
      [123, 'calendar'],
      [140, 'time_zone'],
      [159, 'failure_mode'],
      [183, 'response_headers'],
    ].map(([column, field]) => `${LIMIT}:${column}: descriptors[0].rate_limit.${field}: has no effect beside unlimited: true; remove it`),
  },
  {
    what: 'a name with characters that headers cannot carry',
    text: limit('unit: day, requests_per_unit: 5, name: "a\\r\\n\\0b"'),
    lines: [
      `${LIMIT}:58: descriptors[0].rate_limit.name: "a\\r\\n\\u0000b" holds control characters, which are invalid in headers; Weir replaces each with ?`,
    ],
  },
  {
    what: 'a hash_tag that no descriptor has as its key',
    text: 'domain: d\nhash_tag: tenat\ndescriptors:\n  - { key: k, descriptors: [{ key: tenant }] }\n',
    lines: [
      'c.yaml:2:11: hash_tag: has no effect because no descriptor has the key "tenat"; name the key whose values spread the buckets, or remove it',
    ],
  },
  {
    what: 'a key alone behind a wildcard for every value',
    text: 'domain: d\ndescriptors:\n  - { key: k }\n  - { key: k, value: "*" }\n',
    lines: ['c.yaml:3:5: descriptors[0]: key "k" alone is never matched: value "*" on line 4 matches every value; remove one of them'],
  },
];

test.each(CASES)('$what causes a warning', ({ text, options, lines }) => {
  expect(warningsOf(text, options)).toEqual(lines);
});

test.each<{ what: string; text: string; options?: Partial<CompileOptions> }>([
  { what: 'the example, as the reference would count it', text: EXAMPLE },
  { what: 'the example', text: EXAMPLE, options: { defaultAlgorithm: 'token_bucket' } },
  { what: 'a burst of its algorithms', text: limit('unit: day, requests_per_unit: 5, burst: 9, algorithm: leaky_bucket') },
  {
    what: 'a calendar',
    text: limit('unit: week, requests_per_unit: 5, calendar: true, time_zone: Europe/Berlin'),
    options: { defaultAlgorithm: 'token_bucket' },
  },
  { what: 'modes that are off', text: 'domain: d\ndescriptors: [{ key: k, shadow_mode: false, quota_mode: no }]\n' },
  { what: 'a mode beside unlimited', text: 'domain: d\ndescriptors: [{ key: k, quota_mode: true, rate_limit: { unlimited: true } }]\n' },
  { what: 'a hash_tag further down', text: 'domain: d\nhash_tag: tenant\ndescriptors:\n  - { key: k, descriptors: [{ key: tenant }] }\n' },
  { what: 'a hash_tag that a wildcard may take', text: 'domain: d\nhash_tag: tenant\ndescriptors: [{ key: "ten*" }]\n' },
  { what: 'leases that are off', text: limit('unit: second, requests_per_unit: 5, leases: off') },
  { what: 'leases of a minute', text: limit('unit: minute, requests_per_unit: 5, leases: auto') },
  { what: 'a limit of 0', text: limit('unit: day, requests_per_unit: 0') },
  {
    what: 'wildcards that leave something to the key alone',
    text: 'domain: d\ndescriptors:\n  - { key: k }\n  - { key: k, value: "a*" }\n  - { key: l, value: "*", descriptors: [{ key: k }] }\n',
  },
])('$what causes no warning', ({ text, options }) => {
  expect(warningsOf(text, options)).toEqual([]);
});

test('the first warnings are kept, and the rest is counted', () => {
  const limits = Array.from({ length: WARNINGS_MAX + 7 }, (_, i) => `  - { key: k${i}, rate_limit: { unit: day } }\n`);
  const warnings = warningsOf(`domain: d\ndescriptors:\n${limits.join('')}`);
  expect(warnings).toHaveLength(WARNINGS_MAX + 1);
  expect(warnings.at(-1)).toBe('and 7 more');
});

test('a time zone does not affect the months of USE_CALENDAR_MONTH_RATE_LIMIT, which are in UTC', () => {
  const text = limit('unit: month, requests_per_unit: 5, time_zone: Europe/Berlin');
  expect(warningsOf(text, { calendarMonth: true })).toEqual([
    'c.yaml:4:65: descriptors[0].rate_limit.time_zone: has no effect without calendar: true',
  ]);
});
