/** The counters behind live figures and the rates of instances: decisions count whatever way they came. */

import { Registry } from 'prom-client';
import { countsPort } from '../../../src/administration/admin/live/read-counts';
import { publishFacts } from '../../../src/program/app/deciding/publish-facts';
import { Health } from '../../../src/server/observability/health';
import { makeMetrics } from '../../../src/server/observability/metrics/metrics';
import { readMetrics } from '../../../src/server/observability/metrics/metrics-snapshot';

function metricsWithDecisions() {
  const registry = new Registry();
  const metrics = makeMetrics({ registry, version: '1', store: 'memory', ofProcess: false });
  return { registry, metrics };
}

test('live figures add up the decisions of all ways, and their times', async () => {
  const { registry, metrics } = metricsWithDecisions();
  metrics.responseTime.with({ grpc_method: 'ShouldRateLimit' }).observe(0.0001);
  metrics.decisionTime.with({ via: 'json' }).observe(0.0001);
  metrics.decisionTime.with({ via: 'check' }).observe(4);
  const { decisions, decisionTimes } = await countsPort(() => readMetrics(registry)).counts({ fromRow: 0 });
  expect(decisions).toBe(3);
  expect(decisionTimes.counts[decisionTimes.bounds.indexOf(0.0001)]).toBe(2);
  expect(decisionTimes.counts[decisionTimes.bounds.indexOf(5)]).toBe(3);
  expect(decisionTimes.bounds.at(-1)).toBe(Infinity);
});

test('the decisions per second of an instance count those over HTTP', () => {
  const { metrics } = metricsWithDecisions();
  const { facts, stop } = publishFacts({
    opened: {},
    metrics,
    rules: { ruleSet: undefined, error: undefined },
    health: new Health(),
    version: '1',
    keyPrefix: '',
    control: undefined,
  });
  // So many that even a slow test shows a rate.
  for (let i = 0; i < 100_000; i += 1) metrics.decisionTime.with({ via: 'check' }).observe(0.001);
  expect(facts().load?.decisionsPerS).toBeGreaterThan(0);
  stop();
});
