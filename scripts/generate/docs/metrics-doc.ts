/** Writes `docs/metrics.md` from the tables of metrics. */

import {
  CONFIG_METRICS,
  CONTROL_METRICS,
  METRICS,
  PENALTY_METRICS,
  REPORT_METRICS,
  TRACE_METRICS,
  WORKER_METRICS,
  XDS_METRICS,
  type MetricRow,
} from '../../../src/server/observability/metrics/metrics';
import { ADMIN_METRICS } from '../../../src/server/observability/metrics/admin-metrics';
import { CERTIFICATE_METRIC } from '../../../src/server/observability/metrics/certificate-expiry';
import { LIMIT_METRICS } from '../../../src/server/observability/metrics/rule-limit-metric';
import { DOMAIN_METRICS, RULE_METRICS } from '../../../src/server/observability/metrics/rule-metrics';
import { TOP_KEY_METRIC } from '../../../src/server/observability/metrics/top-key-metric';
import { TIMES_MAX } from '../../../src/server/observability/statsd/statsd-differences';
import { statsdTemplate } from '../../../src/server/observability/statsd/statsd-names';

const HEAD = `# Metrics

Prometheus metrics, served at \`/metrics\` on DEBUG_PORT and, with \`USE_PROMETHEUS\`, at \`PROMETHEUS_ADDR\`. The page also lists the statsd names.
It is generated from the tables in \`src/server/observability/\` by \`node scripts/generate/docs.mjs\`. Node's own metrics
(\`process_*\`, \`nodejs_*\`) are the defaults of prom-client. \`EXTRA_TAGS\` adds labels to every metric.

With \`WORKERS\` over 1, values are summed over all workers. Gauges that all workers see alike (\`weir_instances\`, \`weir_breaker_open\`) show the maximum.
Counters survive worker restarts; a killed worker may lose what it counted since the last scrape.

## In statsd

With \`USE_STATSD\` or \`USE_DOG_STATSD\`, Weir sends the same metrics every \`STATS_FLUSH_INTERVAL\`: differences of counters, current values of
gauges. The last column shows the names, those of envoyproxy/ratelimit where it has one; the levels of a rule are joined by dots. Node's own metrics are not sent.

- \`_\` replaces characters that statsd does not allow: \`:\`, \`|\`, spaces and everything outside ASCII.
- Times are in milliseconds with fractions. A flush carries at most ${TIMES_MAX} samples with the distribution of all, so percentiles are right but
  the number of samples is not; use \`total_requests\` for that.
- If the server is down or accepts nothing for one second, the data of that flush is dropped and \`weir_statsd_flushes_total{result="error"}\` rises. Weir does
  not send it later, because the server would see a burst that never happened.
- With \`WORKERS\` over 1, the parent process sends the totals of all workers.

## By rule

- **Labels**: \`domain\`, and \`key1\` to \`key8\` for the levels of the rule, named as in envoyproxy/ratelimit: \`key_value\` if the rule has a value, otherwise \`key\`. Deeper
  levels share the last label. A level is cut at 256 characters.
- **Values** come from the configuration. Request values appear only through \`detailed_metric\`, \`value_to_metric\` and overrides that match no rule.
- **Bound**: METRIC_SERIES_MAX rules have their own series, at most half of them with request values, whose labels have at most 256 KiB together; the rest count as \`other\`. Rules removed by a reload keep their series
  until Weir restarts.
- \`_\` replaces \`:\` and \`|\`, the dots of IPv4 addresses, and all dots with SANITIZE_DESCRIPTOR_METRIC_DOTS.
- **A denied request** adds \`total_hits\` to every rule it matched, \`over_limit\` to those that its hits did not fit, and \`within_limit\` to none. Checks (0 hits) count nothing;
  refunds count only as \`total_negative_hits\`. A usage report ([usage-limits.md](usage-limits.md)) always counts as charged.
`;

const TOP_HEAD = `## Top keys

With \`METRIC_TOP_KEYS=n\` each process shows the n keys that ask most and the n keys that are denied most, at any number of keys. With \`WORKERS\` over 1 there are at most
n series for each question and worker.

- It is a gauge and not a counter, because a key that leaves the top would otherwise reset its series: do not apply \`rate\`. It shows the last 10 minutes and up to one more.
- \`sum by (rule, key) (weir_top_key_hits{question="denied"})\` adds the processes up; each shows its own top keys. The whole fleet's order is that of
  [top keys](who-is-limited.md#top-keys).
- \`key\` is \`key=value,key=value\`; over 256 bytes it ends with a hash. It contains request values, so treat it like them.
- It is not sent to statsd, whose servers keep every name.
`;

const LIMIT_HEAD = `## Configured limits

One series for each limit of each rule, with the labels of the rule: \`weir_rule_limit\` is its \`requests_per_unit\`, \`weir_rule_limit_window_seconds\` its window.

- **Labels**: \`limit\` is the name of the limit, \`plan\` that of the plan, \`window\` the window in seconds, or a calendar window as \`1month@UTC\`. \`algorithm\` is \`in_flight\` for requests in flight.
- \`buckets\`: \`one\` if all requests under the rule share one bucket, \`many\` if each value has its own. Only with \`one\` do the hits of the rule compare with the limit:
  \`sum by (domain, key1) (rate(ratelimit_service_rate_limit_total_hits[5m])) / sum by (domain, key1) (weir_rule_limit{buckets="one"} / weir_rule_limit_window_seconds)\` for one instance.
- **Bound**: METRIC_SERIES_MAX limits have series; \`weir_rule_limits_dropped\` counts the others. A reload removes the series of limits that it removes.
- Each instance shows the same configuration: take \`max\`, not \`sum\`, over instances. Control data (overrides, plans changed at run time) are not included.
- They are not sent to statsd.
`;

const TABLE_HEAD = '| Metric | Type | Labels | Meaning | In statsd |\n|---|---|---|---|---|\n';

/** Returns the whole page, which ends with a newline. */
export function renderMetricsDoc(): string {
  const ruleRows = Object.values(RULE_METRICS).map((row) =>
    renderRow({
      ...row,
      labels: shortened(row.labels),
      statsd: statsdTemplate(row).replace(/(\{key1\}).*(\{key8\})/, '$1.….$2'),
    }),
  );
  const limitRows = Object.values<MetricRow>(LIMIT_METRICS).map((row) => renderUnsent({ ...row, labels: shortened(row.labels) }));
  const otherRows = Object.values({
    ...METRICS,
    ...CONFIG_METRICS,
    ...XDS_METRICS,
    ...CONTROL_METRICS,
    ...PENALTY_METRICS,
    ...ADMIN_METRICS,
    CERTIFICATE_METRIC,
    ...WORKER_METRICS,
    ...REPORT_METRICS,
    ...TRACE_METRICS,
  }).map(renderRow);
  return `${HEAD}\n${TABLE_HEAD}${ruleRows.join('')}${Object.values(DOMAIN_METRICS).map(renderRow).join('')}\n${TOP_HEAD}\n${TABLE_HEAD}${renderUnsent(TOP_KEY_METRIC)}\n${LIMIT_HEAD}\n${TABLE_HEAD}${limitRows.join('')}\n## Service\n\n${TABLE_HEAD}${otherRows.join('')}`;
}

/** Leaves out the labels between the first and the last level. */
function shortened(labels: MetricRow['labels']): string[] {
  return labels.map((label) => (label === 'key2' ? '…' : label)).filter((label) => !/^key[3-7]$/.test(label));
}

function renderRow(row: MetricRow): string {
  return renderSent(row, `\`${statsdTemplate(row)}\``);
}

function renderUnsent(row: MetricRow): string {
  return renderSent(row, 'not sent');
}

function renderSent({ name, type, labels, help }: MetricRow, statsd: string): string {
  return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} | ${statsd} |\n`;
}
