/** Counters are reported by their increase, and times with their distribution. */

import { Registry } from 'prom-client';
import { atOnce } from '../../../../src/lib/slices';
import { LatencyHistogram } from '../../../../src/server/observability/metrics/latency-histogram';
import { makeMetrics, METRICS, type Metrics } from '../../../../src/server/observability/metrics/metrics';
import { readMetrics } from '../../../../src/server/observability/metrics/metrics-snapshot';
import { RuleMetrics, type DescriptorRecord } from '../../../../src/server/observability/metrics/rule-metrics';
import { StatsdDifferences, TIMES_MAX, type StatsdLine } from '../../../../src/server/observability/statsd/statsd-differences';
import { toStats } from '../../../../src/server/observability/statsd/statsd-names';

const RECORD: DescriptorRecord = {
  domain: 'mongo_cps',
  path: ['database_users'],
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

describe('statsd gets', () => {
  let registry: Registry;
  let metrics: Metrics;
  let rules: RuleMetrics;
  let differences: StatsdDifferences;

  beforeEach(() => {
    registry = new Registry();
    metrics = makeMetrics({ registry, version: '1', store: 'memory' });
    rules = new RuleMetrics({ registry, seriesMax: 10, nearLimitRatio: 0.8, sanitizeDots: false });
    differences = new StatsdDifferences();
  });

  async function told(): Promise<StatsdLine[]> {
    return differences.take(atOnce(toStats(await readMetrics(registry))));
  }

  async function countersTold(): Promise<string[]> {
    return (await told())
      .filter(({ kind }) => kind === 'counter')
      .map(({ name, value }) => `${name} ${value}`)
      .sort();
  }

  test("the reference's names of a rule, with its levels joined by dots", async () => {
    rules.record({ ...RECORD, path: ['database_users', 'host_10.0.0.1', 'a:b|c d.e'], fits: false, hits: 2, denied: true });
    const rule = 'ratelimit.service.rate_limit.mongo_cps.database_users.host_10_0_0_1.a_b_c_d.e';
    expect(await countersTold()).toEqual([`${rule}.over_limit 2`, `${rule}.total_hits 2`]);
  });

  test("the reference's names of the service", async () => {
    rules.recordUnknownDomain('nowhere');
    metrics.shouldRateLimitError.inc({ err_type: 'service_error' });
    metrics.globalShadowMode.inc();
    metrics.responseTime.with({ grpc_method: 'ShouldRateLimit' }).observe(0.001);
    const lines = await told();
    expect(
      lines
        .filter(({ kind }) => kind === 'counter')
        .map(({ name }) => name)
        .sort(),
    ).toEqual([
      'ratelimit.service.call.should_rate_limit.service_error',
      'ratelimit.service.global_shadow_mode',
      'ratelimit.service.rate_limit.nowhere.domain_not_found',
      'ratelimit_server.ShouldRateLimit.total_requests',
    ]);
    expect(lines.filter(({ kind }) => kind === 'time')).toEqual([
      { kind: 'time', name: 'ratelimit_server.ShouldRateLimit.response_time', value: 0.75 },
      { kind: 'time', name: 'weir.decision.grpc', value: 0.75 },
    ]);
  });

  test("Weir's own metrics by their names, gauges as they are, and no Node metrics", async () => {
    metrics.storeErrors.inc({ store: 'redis', reason: 'timeout' }, 3);
    metrics.grpcConnections.set(7);
    const lines = await told();
    expect(lines).toContainEqual({ kind: 'counter', name: 'weir.store_errors.redis.timeout', value: 3 });
    expect(lines).toContainEqual({ kind: 'gauge', name: 'weir.grpc_connections', value: 7 });
    expect(lines.filter(({ name }) => !/^(?:ratelimit|weir)/.test(name))).toEqual([]);
  });

  test('the increase of a counter since the last flush, and nothing of an unchanged one', async () => {
    rules.record(RECORD);
    expect(await countersTold()).toHaveLength(2);
    expect(await countersTold()).toEqual([]);
    rules.record({ ...RECORD, hits: 4, fits: false, denied: true });
    const rule = 'ratelimit.service.rate_limit.mongo_cps.database_users';
    expect(await countersTold()).toEqual([`${rule}.over_limit 4`, `${rule}.total_hits 4`]);
  });

  test('the increase of a counter that restarted from zero', () => {
    const stat = (value: number) => [{ kind: 'counter', name: 'n', value } as const];
    expect(differences.take(stat(5))).toEqual([{ kind: 'counter', name: 'n', value: 5 }]);
    expect(differences.take(stat(3))).toEqual([{ kind: 'counter', name: 'n', value: 3 }]);
  });

  test(`a sample of ${TIMES_MAX} of many times, distributed as all are`, () => {
    const times = new LatencyHistogram<'grpc_method'>(new Registry(), METRICS.responseTime);
    const series = times.with({ grpc_method: 'M' });
    for (let i = 0; i < 10_000; i += 1) series.observe(i < 9_500 ? 0.0002 : 0.2);
    const reading = [
      {
        name: METRICS.responseTime.name,
        help: '',
        type: 'histogram',
        values: series.values(METRICS.responseTime.name, { grpc_method: 'M' }) as never,
      },
    ];
    const values = differences.take(atOnce(toStats(reading))).map(({ value }) => value);
    expect(values).toHaveLength(TIMES_MAX);
    expect(values.filter((ms) => ms > 0.1 && ms <= 0.25)).toHaveLength(95);
    expect(values.filter((ms) => ms > 100 && ms <= 250)).toHaveLength(5);
    // Those of the next flush alone.
    series.observe(0.002);
    reading[0]!.values = series.values(METRICS.responseTime.name, { grpc_method: 'M' }) as never;
    expect(differences.take(atOnce(toStats(reading))).map(({ value }) => value)).toEqual([1.75]);
  });
});
