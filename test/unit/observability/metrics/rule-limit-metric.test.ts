/** Each limit of each rule is a gauge with its window, and a reload removes those that it removes. */

import { Registry } from 'prom-client';
import { PrometheusText } from '../../../../src/server/observability/metrics/prometheus-text';
import { readMetrics } from '../../../../src/server/observability/metrics/metrics-snapshot';
import { RuleLimitMetric } from '../../../../src/server/observability/metrics/rule-limit-metric';
import type { RuleSet } from '../../../../src/domain/rule/rule-set';
import { until } from '../../../support/clock/until';
import { compileText } from '../../compile/compile-config';

class Rules {
  private listener = (): void => undefined;

  constructor(public ruleSet: RuleSet | undefined) {}

  onLoad(listener: () => void): void {
    this.listener = listener;
  }

  load(text: string): void {
    this.ruleSet = compileText(text);
    this.listener();
  }
}

async function open(text: string | undefined, { seriesMax = 100 }: { readonly seriesMax?: number } = {}) {
  const registry = new Registry();
  const rules = new Rules(text === undefined ? undefined : compileText(text));
  const metric = new RuleLimitMetric({ registry, rules, seriesMax, sanitizeDots: false });
  /** The lines of one metric as Prometheus reads them, without its name. */
  const series = async (name: string): Promise<string[]> => {
    const body = Buffer.concat(await new PrometheusText({}).write(await readMetrics(registry))).toString();
    return body
      .split('\n')
      .flatMap((line) => (line.startsWith(`${name}{`) || line.startsWith(`${name} `) ? [line.slice(name.length)] : []));
  };
  await metric.refresh();
  return { rules, series };
}

const RULE = '\n    rate_limit: {unit: minute, requests_per_unit: ';

it('shows each limit of each rule with its window, a limit of 0 too', async () => {
  const { series } = await open(`domain: edge
descriptors:
  - key: path
    value: /pay
    rate_limits:
      - {name: burst, unit: second, requests_per_unit: 5, algorithm: token_bucket}
      - {unit: minute, unit_multiplier: 5, requests_per_unit: 0, algorithm: fixed_window}
`);
  expect(await series('weir_rule_limit')).toEqual([
    '{domain="edge",key1="path_/pay",limit="burst",algorithm="token_bucket",unit="second",window="1",buckets="one"} 5',
    '{domain="edge",key1="path_/pay",algorithm="fixed_window",unit="minute",window="300",buckets="one"} 0',
  ]);
  expect(await series('weir_rule_limit_window_seconds')).toEqual([expect.stringMatching(/ 1$/), expect.stringMatching(/ 300$/)]);
});

it.each([
  [
    'each level has a value',
    `  - key: a\n    value: x\n    descriptors:\n      - {key: b, value: y, rate_limit: {unit: day, requests_per_unit: 1}}`,
    'one',
  ],
  [
    'a level has only a key',
    `  - key: a\n    descriptors:\n      - {key: b, value: y, rate_limit: {unit: day, requests_per_unit: 1}}`,
    'many',
  ],
  ['a value has a star', `  - {key: a, value: x*, rate_limit: {unit: day, requests_per_unit: 1}}`, 'many'],
  [
    'the values of a star share the bucket',
    `  - {key: a, value: x*, share_threshold: true, rate_limit: {unit: day, requests_per_unit: 1}}`,
    'one',
  ],
  ['the id of a request in flight', `  - {key: a, value: x, descriptors: [{key: id, in_flight: {max: 3, hold: 10s, id: id}}]}`, 'one'],
])('says how many buckets a rule has: %s', async (_what, descriptors, buckets) => {
  const { series } = await open(`domain: d\ndescriptors:\n${descriptors}\n`);
  const [line, ...others] = await series('weir_rule_limit');
  expect(others).toEqual([]);
  expect(line).toContain(`buckets="${buckets}"`);
});

it('shows the limits of each plan, and those of its pool', async () => {
  const { series } = await open(`domain: d
plans:
  free: {rate_limits: [{unit: minute, requests_per_unit: 10}]}
  paid: {rate_limits: [{unit: minute, requests_per_unit: 100}], pool: [{unit: minute, requests_per_unit: 1000}]}
descriptors:
  - {key: customer, tenant: true, default_plan: free}
`);
  const shown = (await series('weir_rule_limit')).map((line) => line.replace(/.*(plan="[^"]*").*buckets=("[^"]*").* (\d+)$/, '$1 $2 $3'));
  expect(shown.sort()).toEqual(['plan="free" "many" 10', 'plan="paid" "many" 100', 'plan="paid" "pool" 1000']);
});

it('a reload removes the series of limits that it removes', async () => {
  const { rules, series } = await open(undefined);
  expect(await series('weir_rule_limit')).toEqual([]);
  rules.load(`domain: d\ndescriptors:\n  - key: a${RULE}1}\n  - key: b${RULE}2}\n`);
  await until(async () => (await series('weir_rule_limit')).length === 2);
  rules.load(`domain: d\ndescriptors:\n  - key: b${RULE}3}\n`);
  await until(async () => (await series('weir_rule_limit')).length === 1);
  expect(await series('weir_rule_limit')).toEqual([expect.stringMatching(/key1="b".* 3$/)]);
});

it('shows at most METRIC_SERIES_MAX limits, and counts the others', async () => {
  const { series } = await open(`domain: d\ndescriptors:\n  - key: a${RULE}1}\n  - key: b${RULE}2}\n  - key: c${RULE}3}\n`, {
    seriesMax: 2,
  });
  expect(await series('weir_rule_limit')).toHaveLength(2);
  expect(await series('weir_rule_limits_dropped')).toEqual([' 1']);
});

it('limits with the same text in metrics are one series, of the stricter limit', async () => {
  const { series } = await open(`domain: d\ndescriptors:\n  - key: a|b${RULE}7}\n  - key: a_b${RULE}2}\n`);
  expect(await series('weir_rule_limit')).toEqual([expect.stringMatching(/key1="a_b".* 2$/)]);
});
