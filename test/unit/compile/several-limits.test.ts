/** Several limits of a descriptor are all enforced in their order, with `replaces`, `calendar` and `time_zone`. */

import type { Rule } from '../../../src/domain/rule/rule';
import { findNode } from '../../../src/domain/rule/tree';
import { compileConfig, compileText, problemsOf } from './compile-config';

function ruleOf(fields: string, options = {}): Rule {
  const text = `domain: d\ndescriptors:\n  - key: k\n${fields.replace(/^/gm, '    ')}\n`;
  const ruleSet = compileConfig({ files: [{ name: 'c.yaml', text }], defaultAlgorithm: 'token_bucket', generation: 1, ...options });
  return findNode(ruleSet.domains.get('d')!.root, [{ key: 'k', value: 'v' }])!.rule!;
}

function problemsIn(fields: string): string[] {
  return problemsOf(`domain: d\ndescriptors:\n  - key: k\n${fields.replace(/^/gm, '    ')}\n`);
}

test('several limits are all enforced, in their order', () => {
  const rule = ruleOf(`rate_limits:
  - { unit: second, requests_per_unit: 10, burst: 20 }
  - { unit: minute, unit_multiplier: 5, requests_per_unit: 100, algorithm: sliding_window_log, name: five }
  - { unit: day, requests_per_unit: 250, replaces: [{ name: basic }] }`);
  expect(rule.limits.map(({ algorithm, windowUs, capacity, name }) => [algorithm, windowUs, capacity, name])).toEqual([
    ['token_bucket', 1_000_000, 20, ''],
    ['sliding_window_log', 300_000_000, 100, 'five'],
    ['token_bucket', 86_400_000_000, 250, ''],
  ]);
  expect(rule.replaces).toEqual(['basic']);
});

test('an unlimited rule has a name and replaces', () => {
  expect(ruleOf('rate_limit: { unlimited: true, name: vip, replaces: [{ name: a }, { name: b }] }')).toMatchObject({
    unlimited: true,
    name: 'vip',
    replaces: ['a', 'b'],
    limits: [],
  });
});

test.each([
  ['{ unit: month, requests_per_unit: 5, calendar: true }', { unit: 'month', unitMultiplier: 1, timeZone: 'UTC' }],
  [
    '{ unit: day, requests_per_unit: 5, calendar: true, time_zone: Europe/Berlin }',
    { unit: 'day', unitMultiplier: 1, timeZone: 'Europe/Berlin' },
  ],
  ['{ unit: month, unit_multiplier: 3, requests_per_unit: 5, calendar: true }', { unit: 'month', unitMultiplier: 3, timeZone: 'UTC' }],
])('%s is a fixed window of the calendar', (limit, calendar) => {
  expect(ruleOf(`rate_limit: ${limit}`).limits).toMatchObject([{ algorithm: 'fixed_window', calendar }]);
});

test.each([
  '{ unit: hour, requests_per_unit: 5, calendar: true }',
  '{ unit: month, requests_per_unit: 5, calendar: true, algorithm: sliding_window_counter }',
  '{ unit: month, requests_per_unit: 5, algorithm: fixed_window, time_zone: Europe/Berlin }',
])('%s has no calendar and ignores it', (limit) => {
  expect(ruleOf(`rate_limit: ${limit}`).limits[0]).not.toHaveProperty('calendar');
});

test('USE_CALENDAR_MONTH_RATE_LIMIT turns fixed windows of months, and no others, into calendar months in UTC', () => {
  const options = { calendarMonth: true, defaultAlgorithm: 'fixed_window' };
  const rule = ruleOf(
    `rate_limits:
  - { unit: month, requests_per_unit: 5, time_zone: Europe/Berlin }
  - { unit: day, requests_per_unit: 5 }
  - { unit: month, requests_per_unit: 5, algorithm: token_bucket }`,
    options,
  );
  expect(rule.limits.map(({ calendar }) => calendar?.timeZone)).toEqual(['UTC', undefined, undefined]);
});

test.each([
  [
    'two limits of one algorithm and one window',
    'rate_limits:\n  - { unit: minute, requests_per_unit: 5 }\n  - { unit: second, unit_multiplier: 60, requests_per_unit: 9 }',
    "c.yaml:6:9: descriptors[0].rate_limits[1]: uses fixed_window over the same window as the limit on line 5; keep the smaller one, or change one's algorithm or window",
  ],
  [
    'both forms',
    'rate_limit: { unit: day }\nrate_limits: [{ unit: second }]',
    'c.yaml:5:18: descriptors[0].rate_limits: conflicts with rate_limit; move that limit into the list',
  ],
  ['an empty list', 'rate_limits: []', 'c.yaml:4:18: descriptors[0].rate_limits: is empty; list at least one limit, or remove it'],
  [
    'unlimited in a list',
    'rate_limits: [{ unlimited: true }]',
    'c.yaml:4:18: descriptors[0].rate_limits: holds unlimited: true, which excludes other limits; use rate_limit',
  ],
  [
    'too many limits',
    `rate_limits: [${Array.from({ length: 17 }, (_, i) => `{ unit: second, unit_multiplier: ${i + 1} }`).join(', ')}]`,
    'c.yaml:4:18: descriptors[0].rate_limits: has 17 limits; use at most 16',
  ],
  [
    'a limit that replaces itself',
    'rate_limit: { unit: day, name: a, replaces: [{ name: a }] }',
    'c.yaml:4:58: descriptors[0].rate_limit.replaces[0].name: "a" is the limit\'s own name; name another limit, or remove it',
  ],
  [
    'an empty replaces entry',
    'rate_limit: { unit: day, replaces: [{ name: "" }] }',
    'c.yaml:4:49: descriptors[0].rate_limit.replaces[0].name: must not be empty',
  ],
  [
    'an unknown time zone',
    'rate_limit: { unit: day, calendar: true, time_zone: Mars/Olympus }',
    'c.yaml:4:57: descriptors[0].rate_limit.time_zone: unknown time zone "Mars/Olympus"; use an IANA name, such as Europe/Berlin',
  ],
  [
    'a log that is too long',
    'rate_limit: { unit: day, requests_per_unit: 10001, algorithm: sliding_window_log }',
    'c.yaml:4:49: descriptors[0].rate_limit.requests_per_unit: 10001 is over 10000, the most that sliding_window_log remembers; use sliding_window_counter',
  ],
])('%s is rejected', (_what, fields, line) => {
  expect(problemsIn(fields)).toEqual([line]);
});

test('one window in two calendars is two buckets', () => {
  expect(
    compileText(
      'domain: d\ndescriptors:\n  - key: k\n    rate_limits:\n      - { unit: day, requests_per_unit: 5 }\n      - { unit: day, requests_per_unit: 5, calendar: true }\n',
    ).domains.size,
  ).toBe(1);
});
