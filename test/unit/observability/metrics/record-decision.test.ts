/** A decided request counts in the metrics of its rules, under the labels that each rule sets. */

import { Registry } from 'prom-client';
import { makeMetrics } from '../../../../src/server/observability/metrics/metrics';
import { makeRecordDecision } from '../../../../src/server/observability/metrics/record-decision';
import { RuleMetrics } from '../../../../src/server/observability/metrics/rule-metrics';
import { makeShouldRateLimit } from '../../../../src/should-rate-limit';
import { MemoryStore } from '../../../../src/state/store/memory/memory-store';
import { alone } from '../../../support/decisions/decide-one';
import { entriesOf, requestOf } from '../../../support/decisions/rules';
import { compileText } from '../../compile/compile-config';

const NOW_US = 1_800_000_000_000_000;

interface World {
  /** One request with these descriptors, each of entries `key=value`. */
  readonly ask: (
    descriptors: readonly (readonly string[])[],
    parts?: { readonly hits?: number; readonly domain?: string },
  ) => Promise<string>;
  /** Samples of the metric, without their value if it is 1. */
  readonly told: (metric: string) => Promise<string[]>;
}

function worldOf(descriptors: string, { shadow = false } = {}): World {
  const registry = new Registry();
  const metrics = makeMetrics({ registry, version: '1', store: 'memory' });
  const ruleMetrics = new RuleMetrics({ registry, seriesMax: 20, nearLimitRatio: 0.8, sanitizeDots: false });
  const ruleSet = compileText(`domain: d\ndescriptors:\n${descriptors}\n`);
  const decide = alone(
    makeShouldRateLimit({
      ruleSet: () => ruleSet,
      store: new MemoryStore({ nowUs: () => NOW_US, bucketsMax: 100 }),
      modes: { shadow, quota: false },
      keyPrefix: '',
      nowUs: () => NOW_US,
      record: makeRecordDecision({ metrics, ruleMetrics, globalShadow: shadow }),
    }),
  );
  return {
    ask: async (asked, parts = {}) =>
      (
        await decide(
          requestOf(
            asked.map((entries) => ({ entries: entriesOf(...entries) })),
            parts,
          ),
          {},
        )
      ).overallCode,
    told: async (metric) => {
      const text = await registry.metrics();
      const name = metric.startsWith('weir_') ? metric : `ratelimit_service_${metric}`;
      return text
        .split('\n')
        .flatMap((line) =>
          line.startsWith(`${name}{`) || line.startsWith(`${name} `) ? [line.slice(name.length).replace(/ 1$/, '').trim()] : [],
        );
    },
  };
}

const LIMIT = 'rate_limit: { unit: year, requests_per_unit: 1 }';

describe('the labels of a rule', () => {
  test.each([
    [
      'as configured: value, key, pattern',
      `  - { key: a, value: v, descriptors: [{ key: b, descriptors: [{ key: c, value: "p*", ${LIMIT} }] }] }`,
      ['a=v', 'b=x', 'c=pq'],
      ['a_v', 'b', 'c_p*'],
    ],
    [
      'detailed_metric shows every value',
      `  - { key: a, descriptors: [{ key: b, value: "p*", detailed_metric: true, ${LIMIT} }] }`,
      ['a=x', 'b=pq'],
      ['a_x', 'b_pq'],
    ],
    ['an empty value is shown by detailed_metric', `  - { key: a, detailed_metric: true, ${LIMIT} }`, ['a='], ['a_']],
    ['an empty value is none for value_to_metric', `  - { key: a, value_to_metric: true, ${LIMIT} }`, ['a='], ['a']],
    [
      'an empty value is none beside a shared level',
      `  - { key: b, value: "p*", share_threshold: true, descriptors: [{ key: a, detailed_metric: true, ${LIMIT} }] }`,
      ['b=pq', 'a='],
      ['b_p*', 'a'],
    ],
    [
      'value_to_metric shows its own',
      `  - { key: a, descriptors: [{ key: b, value_to_metric: true, descriptors: [{ key: c, ${LIMIT} }] }] }`,
      ['a=x', 'b=y', 'c=z'],
      ['a', 'b_y', 'c'],
    ],
    ['and in place of a pattern', `  - { key: a, value: "p*", value_to_metric: true, ${LIMIT} }`, ['a=pq'], ['a_pq']],
    [
      'share_threshold keeps the pattern',
      `  - { key: a, value: "p*", share_threshold: true, detailed_metric: true, ${LIMIT} }`,
      ['a=pq'],
      ['a_p*'],
    ],
    [
      'also beside value_to_metric',
      `  - { key: a, value: "p*", share_threshold: true, value_to_metric: true, ${LIMIT} }`,
      ['a=pq'],
      ['a_p*'],
    ],
  ])('the labels are right: %s', async (_name, config, entries, labels) => {
    const { ask, told } = worldOf(config);
    await ask([entries]);
    expect(await told('rate_limit_total_hits')).toEqual([`{domain="d",${labels.map((label, i) => `key${i + 1}="${label}"`).join(',')}}`]);
  });

  test('request values take at most half of METRIC_SERIES_MAX', async () => {
    const { ask, told } = worldOf(`  - { key: a, detailed_metric: true, ${LIMIT} }\n  - { key: b, ${LIMIT} }`);
    for (let i = 0; i < 30; i += 1) await ask([[`a=${i}`]]);
    await ask([['b=x']]);
    const series = await told('rate_limit_total_hits');
    expect(series).toHaveLength(12);
    expect(series).toEqual(
      expect.arrayContaining(['{domain="d",key1="a_9"}', '{domain="d",key1="b"}', '{domain="other",key1="other"} 20']),
    );
  });
});

test('a denied request counts in total_hits everywhere, over_limit where it did not fit, and within_limit nowhere', async () => {
  const { ask, told } = worldOf(`  - { key: a, ${LIMIT} }\n  - { key: b, rate_limit: { unit: year, requests_per_unit: 9 } }`);
  expect(await ask([['a=v'], ['b=v']])).toBe('OK');
  expect(await ask([['a=v'], ['b=v']])).toBe('OVER_LIMIT');
  expect(await told('rate_limit_total_hits')).toEqual(['{domain="d",key1="a"} 2', '{domain="d",key1="b"} 2']);
  expect(await told('rate_limit_over_limit')).toEqual(['{domain="d",key1="a"}']);
  expect(await told('rate_limit_within_limit')).toEqual(['{domain="d",key1="a"}', '{domain="d",key1="b"}']);
});

test('a refund counts as hits given back', async () => {
  const { ask, told } = worldOf(`  - { key: a, rate_limit: { unit: year, requests_per_unit: 9 } }`);
  await ask([['a=v']], { hits: 3 });
  await ask([['a=v']], { hits: -2 });
  expect(await told('rate_limit_total_negative_hits')).toEqual(['{domain="d",key1="a"} 2']);
  expect(await told('rate_limit_total_hits')).toEqual(['{domain="d",key1="a"} 3']);
});

test('a domain without rules counts under its name', async () => {
  const { ask, told } = worldOf(`  - { key: a, ${LIMIT} }`);
  await ask([['a=v']], { domain: 'x:y' });
  expect(await told('rate_limit_domain_not_found')).toEqual(['{domain="x_y"}']);
});

test('unmatched descriptors count by domain, and unlimited, replaced or declared ones do not', async () => {
  const rules = [`{ key: a, ${LIMIT} }`, '{ key: u, rate_limit: { unlimited: true } }', '{ key: deep, descriptors: [{ key: er }] }'];
  const replaced = [
    '{ key: r, rate_limit: { name: old, unit: year, requests_per_unit: 1 } }',
    '{ key: new, rate_limit: { unit: year, requests_per_unit: 9, replaces: [{ name: old }] } }',
  ];
  const { ask, told } = worldOf([...rules, ...replaced].map((rule) => `  - ${rule}`).join('\n'));
  await ask([['a=v'], ['u=v'], ['new=v'], ['r=v']]);
  expect(await told('weir_unmatched_descriptors_total')).toEqual([]);
  await ask([['a=v'], ['typo=v']]);
  await ask([['deep=v'], ['a=v', 'a=w']]);
  await ask([['deep=v', 'er=w']]);
  await ask([['a=v']], { domain: 'unknown' });
  expect(await told('weir_unmatched_descriptors_total')).toEqual(['{domain="d"} 3']);
});

describe('global_shadow_mode counts requests that would have been denied', () => {
  const RULES = `  - { key: a, ${LIMIT} }\n  - { key: s, shadow_mode: true, ${LIMIT} }\n  - { key: q, quota_mode: true, ${LIMIT} }\n  - { key: r, quota_mode: true, rate_limit: { unit: year, requests_per_unit: 9 } }`;

  test.each([
    ['by an enforced limit', [['a=v']], ['']],
    ['not by a shadow rule', [['s=v']], ['0']],
    ['by the only quota limit', [['q=v']], ['']],
    ['not by one quota limit of two', [['q=v'], ['r=v']], ['0']],
  ])('global_shadow_mode is right: %s', async (_name, descriptors, expected) => {
    const { ask, told } = worldOf(RULES, { shadow: true });
    expect(await ask(descriptors)).toBe('OK');
    expect(await told('global_shadow_mode')).toEqual(['0']);
    expect(await ask(descriptors)).toBe('OK');
    expect(await told('global_shadow_mode')).toEqual(expected);
  });
});
