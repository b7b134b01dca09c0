/** Each lint rule finds its mistake at its place, and is silent about similar valid text. */

import { compileConfig, examineConfig, type CompileOptions } from './compile-config';
import type { ConfigWarning } from '../../../src/configuration/problems/config-error';
import { HITS_AT_ONCE_MIN } from '../../../src/configuration/compile/lint/long-window-alone';
import { WARNING_RULES, type WarningRule } from '../../../src/configuration/problems/warning-rules';

function warningsOf(text: string, options: Partial<CompileOptions> = {}): readonly ConfigWarning[] {
  const { list } = examineConfig({ files: [{ name: 'c.yaml', text }], defaultAlgorithm: 'token_bucket', generation: 1, ...options });
  expect(list.found().kept).toEqual([]);
  return list.warned().kept;
}

/** Of one rule, as `line:column path: message`. */
function linesOf(rule: WarningRule, text: string, options: Partial<CompileOptions> = {}): string[] {
  return warningsOf(text, options)
    .filter((warning) => warning.rule === rule)
    .map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`);
}

/** A file whose descriptors begin on line 3, one a line. */
function file(...descriptors: readonly string[]): string {
  return `domain: d\ndescriptors:\n${descriptors.map((fields) => `  - { ${fields} }\n`).join('')}`;
}

const LIMIT = 'rate_limit: { unit: hour, requests_per_unit: 5 }';

const FOUND: readonly { rule: WarningRule; what: string; text: string; options?: Partial<CompileOptions>; line: string }[] = [
  {
    rule: 'regular-expression',
    what: 'a value with anchors',
    text: file(`key: path, value: "^/api/.*$", ${LIMIT}`),
    line: '3:5 descriptors[0].value: "^/api/.*$" looks like a regular expression, but is compared literally; only a * stands for other text (any, or none): write "/api/*"',
  },
  {
    rule: 'regular-expression',
    what: 'a value that is anchored at neither end',
    text: file(`key: path, value: '\\.php.*', ${LIMIT}`),
    line: '3:5 descriptors[0].value: "\\\\.php.*" looks like a regular expression, but is compared literally; only a * stands for other text (any, or none): write "*.php*"',
  },
  {
    rule: 'regular-expression',
    what: 'a value that no wildcard says',
    text: file(`key: path, value: "/v[0-9]+/(a|b)", ${LIMIT}`),
    line: '3:5 descriptors[0].value: "/v[0-9]+/(a|b)" looks like a regular expression, but is compared literally; only a * stands for other text (any, or none): list the values, or match the prefix or suffix that they share',
  },
  {
    rule: 'address-range',
    what: 'an address range without match: cidr',
    text: file(`key: ip, value: 10.0.0.0/8, ${LIMIT}`),
    line: '3:5 descriptors[0].value: "10.0.0.0/8" looks like an address range, but is compared literally; add match: cidr',
  },
  {
    rule: 'no-effect',
    what: 'a knob without effect',
    text: file('key: k, rate_limit: { unit: hour, requests_per_unit: 5, time_zone: UTC }'),
    line: '3:74 descriptors[0].rate_limit.time_zone: has no effect without calendar: true',
  },
  {
    rule: 'no-effect',
    what: "the name of an xDS resource in Envoy Gateway's dump of one",
    text: 'name: listener\ndomain: d\ndescriptors: []\n',
    line: '1:1 name: has no effect at the root of a file, where Envoy Gateway writes the name of an xDS resource; remove it',
  },
  {
    rule: 'control-characters',
    what: 'a name that would begin another header',
    text: file('key: k, rate_limit: { unit: hour, requests_per_unit: 1, name: "a\\nb" }'),
    line: '3:69 descriptors[0].rate_limit.name: "a\\nb" holds control characters, which are invalid in headers; Weir replaces each with ?',
  },
  {
    rule: 'missing-requests-per-unit',
    what: 'a limit without a number',
    text: file('key: k, rate_limit: { unit: hour }'),
    line: '3:27 descriptors[0].rate_limit.requests_per_unit: is missing, which counts as 0: every hit is over the limit; give it a number',
  },
  {
    rule: 'unreachable-descriptor',
    what: 'a key alone behind a star, wherever it stands',
    text: file(`key: k, ${LIMIT}`, `key: k, value: "*", ${LIMIT}`),
    line: '3:5 descriptors[0]: key "k" alone is never matched: value "*" on line 4 matches every value; remove one of them',
  },
  {
    rule: 'unreachable-descriptor',
    what: 'a key alone behind a key with a star',
    text: file(`key: "k*", ${LIMIT}`, `key: kk, ${LIMIT}`),
    line: '4:5 descriptors[1]: key "kk" alone is never matched: key "k*" on line 3 matches every value; remove one of them',
  },
  {
    rule: 'unreachable-descriptor',
    what: 'a wildcard behind a broader one',
    text: file(`key: k, value: "foo*", ${LIMIT}`, `key: k, value: "foob*r", ${LIMIT}`),
    line: '4:5 descriptors[1]: key "k" with value "foob*r" is never matched: value "foo*" on line 3, declared before it, matches all that it would; declare it first, or remove it',
  },
  {
    rule: 'unknown-replaces',
    what: 'a name that no limit has, nearly',
    text: file(
      'key: k, rate_limit: { unlimited: true, replaces: [{ name: basik }] }',
      `key: l, rate_limit: { unit: hour, requests_per_unit: 1, name: basic }`,
    ),
    line: '3:65 descriptors[0].rate_limit.replaces[0].name: no limit of the domain has the name "basik"; did you mean "basic"?',
  },
  {
    rule: 'unknown-replaces',
    what: 'a name like nothing',
    text: file('key: k, rate_limit: { unlimited: true, replaces: [{ name: other }] }'),
    line: '3:65 descriptors[0].rate_limit.replaces[0].name: no limit of the domain has the name "other"; name a limit, or remove it',
  },
  {
    rule: 'cost-never-fits',
    what: 'a token bucket that holds nothing',
    text: file('key: k, rate_limit: { unit: hour, requests_per_unit: 5, burst: 0 }'),
    line: '3:70 descriptors[0].rate_limit.burst: holds 0 hits at once, so a request that costs 1 never passes; set burst to 1 or more',
  },
  {
    rule: 'cost-never-fits',
    what: 'a leaky bucket, under a cost of 5',
    text: file('key: k, rate_limit: { unit: hour, requests_per_unit: 50, algorithm: leaky_bucket }'),
    options: { cost: 5 },
    line: '3:27 descriptors[0].rate_limit.burst: holds 1 hits at once, so a request that costs 5 never passes; set burst to 4 or more',
  },
  {
    rule: 'cost-never-fits',
    what: 'a window that a reserve leaves too little of, under a cost of 5',
    text: 'domain: d\ndescriptors:\n  - { key: k, rate_limit: { unit: day, requests_per_unit: 6 }, reserve: { entry: p, for: { a: 50%, b: 20% } } }\n',
    options: { cost: 5 },
    line: '3:59 descriptors[0].rate_limit.requests_per_unit: leaves 3 hits to requests without a class, so one that costs 5 never passes; reserve a smaller part',
  },
  {
    rule: 'cost-never-fits',
    what: 'a small window, under a cost of 5',
    text: file('key: k, rate_limit: { unit: hour, requests_per_unit: 4, algorithm: fixed_window }'),
    options: { cost: 5 },
    line: '3:60 descriptors[0].rate_limit.requests_per_unit: holds 4 hits at once, so a request that costs 5 never passes; set requests_per_unit to 5 or more',
  },
  {
    rule: 'long-window-alone',
    what: 'a day alone',
    text: file(`key: k, rate_limit: { unit: day, requests_per_unit: ${HITS_AT_ONCE_MIN}, algorithm: fixed_window }`),
    line: '3:27 descriptors[0].rate_limit: lets 100 hits pass at once, and then none for a long time; add a limit of a shorter window in rate_limits',
  },
  {
    rule: 'long-window-alone',
    what: 'a month beside a year',
    text: file('key: k, rate_limits: [{ unit: month, requests_per_unit: 500 }, { unit: year, requests_per_unit: 900 }]'),
    line: '3:29 descriptors[0].rate_limits[0]: lets 500 hits pass at once, and then none for a long time; set a smaller burst, or add a limit of a shorter window in rate_limits',
  },
  {
    rule: 'unbounded-metric',
    what: 'the value of a key alone',
    text: file(`key: k, value_to_metric: true, ${LIMIT}`),
    line: '3:5 descriptors[0].value_to_metric: creates a metric series for each value that callers send, up to half of METRIC_SERIES_MAX; further values count as other; configure the values that matter, or remove it',
  },
  {
    rule: 'unbounded-metric',
    what: 'every value of a path with an open one above',
    text: file(`key: k, descriptors: [{ key: l, value: v, detailed_metric: true, ${LIMIT} }]`),
    line: '3:29 descriptors[0].descriptors[0].detailed_metric: creates a metric series for each value that callers send, up to half of METRIC_SERIES_MAX; further values count as other; configure the values that matter, or remove it',
  },
];

test.each(FOUND)('$rule finds $what', ({ rule, text, options, line }) => {
  expect(linesOf(rule, text, options)).toEqual([line]);
  expect(warningsOf(text, options)).toHaveLength(1);
});

test('a rejected number is not reported as missing, too', () => {
  const text = file('key: k, rate_limit: { unit: hour, requests_per_unit: -1 }');
  const { list } = examineConfig({ files: [{ name: 'c.yaml', text }], defaultAlgorithm: 'token_bucket', generation: 1 });
  expect(list.found().kept).toHaveLength(1);
  expect(list.warned().kept).toEqual([]);
});

test('every rule has its case', () => {
  expect([...new Set(FOUND.map(({ rule }) => rule))].sort()).toEqual(
    // Only `weir check --tests` finds it.
    Object.keys(WARNING_RULES)
      .filter((rule) => rule !== 'untested-rule')
      .sort(),
  );
});

test.each<{ what: string; text: string; options?: Partial<CompileOptions> }>([
  { what: 'an exact value behind a star', text: file(`key: k, value: "*", ${LIMIT}`, `key: k, value: v, ${LIMIT}`) },
  { what: 'a wildcard before a broader one', text: file(`key: k, value: "foob*", ${LIMIT}`, `key: k, value: "foo*", ${LIMIT}`) },
  {
    what: 'wildcards that overlap',
    text: file(`key: k, value: "a*", ${LIMIT}`, `key: k, value: "*a", ${LIMIT}`, `key: k, value: "*b*", ${LIMIT}`, `key: k, ${LIMIT}`),
  },
  ...['x*', '*x', '*x*', ''].map((value) => ({
    what: `a key alone beside a value ${value}`,
    text: file(`key: k, value: "${value}", ${LIMIT}`, `key: "${value === '' ? 'l' : 'k'}", ${LIMIT}`),
  })),
  { what: 'a star of another key', text: file(`key: k, value: "*", ${LIMIT}`, `key: kk, ${LIMIT}`) },
  { what: 'a key with a star and a value', text: file(`key: "k*", value: v, ${LIMIT}`, `key: kk, ${LIMIT}`) },
  { what: 'a star on another level', text: file(`key: k, value: "*", descriptors: [{ key: k, ${LIMIT} }]`) },
  {
    what: 'a name further down',
    text: file(
      `key: k, rate_limit: { unlimited: true, replaces: [{ name: deep }] }`,
      'key: l, descriptors: [{ key: m, rate_limit: { unlimited: true, name: deep } }]',
    ),
  },
  { what: 'a limit of 0, which says so openly', text: file('key: k, rate_limit: { unit: hour, requests_per_unit: 0 }') },
  {
    what: 'a cost that just fits',
    text: file('key: k, rate_limit: { unit: hour, requests_per_unit: 50, algorithm: leaky_bucket, burst: 4 }'),
    options: { cost: 5 },
  },
  {
    what: 'a day beside an hour',
    text: file('key: k, rate_limits: [{ unit: day, requests_per_unit: 5000 }, { unit: hour, requests_per_unit: 500 }]'),
  },
  { what: 'a day with a small burst', text: file('key: k, rate_limit: { unit: day, requests_per_unit: 5000, burst: 10 }') },
  { what: 'a small day', text: file(`key: k, rate_limit: { unit: day, requests_per_unit: ${HITS_AT_ONCE_MIN - 1} }`) },
  { what: 'metrics of a shared pattern', text: file(`key: k, value: "a*", share_threshold: true, detailed_metric: true, ${LIMIT}`) },
  { what: 'metrics of configured values', text: file(`key: k, value: a, detailed_metric: true, ${LIMIT}`) },
])('lint is silent about $what', ({ text, options }) => {
  expect(warningsOf(text, options)).toEqual([]);
});

test('a name in another domain does not count', () => {
  const [named, naming] = [
    file('key: k, rate_limit: { unlimited: true, name: of-d }'),
    file('key: k, rate_limit: { unlimited: true, name: of-e, replaces: [{ name: of-d }] }'),
  ];
  const files = [
    { name: 'd.yaml', text: named },
    { name: 'e.yaml', text: naming.replace('domain: d', 'domain: e') },
  ];
  expect(compileConfig({ files, defaultAlgorithm: 'token_bucket', generation: 1 }).warnings).toEqual([
    'e.yaml:3:77: descriptors[0].rate_limit.replaces[0].name: no limit of the domain has the name "of-d"; did you mean "of-e"?',
  ]);
});

test('lint of a level of thousands of wildcards costs at most a request to each', () => {
  const wildcards = Array.from({ length: 5000 }, (_, index) => `key: k, value: "${index}-*", ${LIMIT}`);
  expect(linesOf('unreachable-descriptor', file(...wildcards, `key: k, value: "17-1*", ${LIMIT}`))).toEqual([
    expect.stringMatching(/^5003:5 descriptors\[5000\]: key "k" with value "17-1\*" is never matched: value "17-\*" on line 20, /),
  ]);
});
