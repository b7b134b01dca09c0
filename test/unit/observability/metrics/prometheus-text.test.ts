/** `/metrics` is a consistent snapshot in prom-client's exact text. */

import { Counter, Gauge, Registry } from 'prom-client';
import { PrometheusText } from '../../../../src/server/observability/metrics/prometheus-text';
import { readMetrics } from '../../../../src/server/observability/metrics/metrics-snapshot';
import { RuleMetrics, type DescriptorRecord } from '../../../../src/server/observability/metrics/rule-metrics';

const RECORD: DescriptorRecord = {
  domain: 'd',
  path: ['k'],
  sent: false,
  hits: 1,
  fits: true,
  remaining: 9,
  capacity: 10,
  shadow: false,
  cached: false,
  denied: false,
  isReport: false,
  debt: 0,
  cut: 0,
};

const LABELS = { region: 'eu', key1: 'never shown' };

function makeRegistry(rules: number): { readonly registry: Registry; readonly metrics: RuleMetrics } {
  const registry = new Registry();
  new Gauge({ name: 'a_gauge', help: 'a "gauge"\nof \\ lines', labelNames: ['x'], registers: [registry] }).set({ x: 'a"b\\c\nd' }, 1.5);
  const metrics = new RuleMetrics({ registry, seriesMax: 10_000, nearLimitRatio: 0.8, sanitizeDots: false });
  for (let i = 0; i < rules; i += 1) metrics.record({ ...RECORD, path: [`k"\\\n${i}`, 'größe'], hits: i + 1 });
  metrics.recordUnmatched('d', 3);
  new Counter({ name: 'last_total', help: 'h', registers: [registry] }).inc(7);
  return { registry, metrics };
}

async function textOf(registry: Registry): Promise<string> {
  return Buffer.concat(await new PrometheusText(LABELS).write(await readMetrics(registry))).toString();
}

test.each([0, 1, 2_500])('the text equals that of prom-client with %d rules', async (rules) => {
  const { registry } = makeRegistry(rules);
  registry.setDefaultLabels(LABELS);
  expect(await textOf(registry)).toBe(await registry.metrics());
});

test("the text omits counts made while it is written, so a rule's hits and verdicts agree", async () => {
  const { registry, metrics } = makeRegistry(2_000);
  const paths = Array.from({ length: 2_000 }, (_, i) => [`r${i}`]);
  const counting = setInterval(() => {
    for (const path of paths) metrics.record({ ...RECORD, path });
  }, 1);
  try {
    for (let i = 0; i < 5; i += 1) {
      const sums = new Map<string, number>();
      for (const [, name, value] of (await textOf(registry)).matchAll(
        /^ratelimit_service_rate_limit_(total_hits|within_limit)\{.*\} (\d+)$/gm,
      )) {
        sums.set(name!, (sums.get(name!) ?? 0) + Number(value));
      }
      expect(sums.get('within_limit')).toBe(sums.get('total_hits'));
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
    }
  } finally {
    clearInterval(counting);
  }
});
