/** Writes `docs/metrics.md` from the tables of metrics. */

import {
  CONFIG_METRICS,
  CONTROL_METRICS,
  DECISION_LOG_METRICS,
  EVENT_METRICS,
  METRICS,
  FAIR_METRICS,
  GUARD_METRICS,
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

Prometheus metrics, served at \`/metrics\` on DEBUG_PORT and, with \`USE_PROMETHEUS\`, at \`PROMETHEUS_ADDR\`. Node's own metrics
(\`process_*\`, \`nodejs_*\`) are the defaults of prom-client. \`EXTRA_TAGS\` adds labels to every metric. \`node scripts/generate/docs.mjs\` writes this page.

With \`WORKERS\` over 1, values are summed over all workers. Gauges that all workers see alike (\`weir_instances\`, \`weir_breaker_open\`) show the maximum.
Counters survive worker restarts; a killed worker may lose what it counted since the last scrape.

## In statsd

With \`USE_STATSD\` or \`USE_DOG_STATSD\`, Weir sends the same metrics every \`STATS_FLUSH_INTERVAL\`: differences of counters, current values of
gauges; with \`WORKERS\` the parent sends the totals. Node's own metrics are not sent.

- \`weir_a_b_total{c}\` is \`weir.a_b.{c}\`: without \`_total\`, or \`_seconds\` of a histogram, and with the labels behind it. [Other names](#names-in-statsd) are those of envoyproxy/ratelimit. The levels of a rule are joined by dots.
- \`_\` replaces \`:\`, \`|\`, spaces and everything outside ASCII.
- Times are in milliseconds with fractions. A flush carries at most ${TIMES_MAX} samples with the distribution of all, so percentiles are right but
  the number of samples is not; use \`total_requests\` for that.
- If the server is down or accepts nothing for one second, the data of that flush is dropped, since a later burst would mislead, and \`weir_statsd_flushes_total{result="error"}\` rises.

## By rule

- **Labels** (\`{rule}\` in the tables): \`domain\`, and \`key1\` to \`key8\` for the levels of the rule: \`key_value\` if the rule has a value, otherwise \`key\`. Deeper
  levels share the last label. A level is cut at 256 characters.
- **Values** come from the configuration. Request values appear only through \`detailed_metric\`, \`value_to_metric\` and overrides that match no rule.
- **Bound**: METRIC_SERIES_MAX rules have their own series, at most half of them with request values, whose labels have at most 256 KiB together; the rest count as \`other\`. Rules removed by a reload keep their series
  until Weir restarts.
- \`_\` replaces \`:\` and \`|\`, the dots of IPv4 addresses, and all dots with SANITIZE_DESCRIPTOR_METRIC_DOTS.
- **A denied request** adds \`total_hits\` to every rule it matched, \`over_limit\` to those that its hits did not fit, and \`within_limit\` to none. Checks (0 hits) count nothing;
  refunds count only as \`total_negative_hits\`. A usage report ([usage-limits.md](usage-limits.md)) always counts as charged.
`;

const TOP_HEAD = `## Top keys

With \`METRIC_TOP_KEYS=n\` each process, so each worker, shows the n keys that ask most and the n keys that are denied most.

- A key that leaves the top loses its series, so it is a gauge: do not apply \`rate\`. It shows the last 10 minutes and up to one more.
- \`sum by (rule, key) (weir_top_key_hits{question="denied"})\` adds the processes up. The order of the whole fleet is that of [top keys](who-is-limited.md#top-keys).
- \`key\` is \`key=value,key=value\`; over 256 bytes it ends with a hash. It contains request values, so treat it like them.
- It is not sent to statsd, whose servers keep every name.
`;

const LIMIT_HEAD = `## Configured limits

One series for each limit of each rule.

- **Labels**: \`limit\` is the name of the limit, \`plan\` that of the plan, \`window\` the window in seconds, or a calendar window as \`1month@UTC\`. \`algorithm\` is \`in_flight\` for requests in flight.
- \`buckets\`: \`one\` if all requests under the rule share one bucket, \`many\` if each value has its own, \`pool\` for the limits of a plan's [pool](tenants.md#pools). Only with \`one\` do the hits of the rule compare with the limit:
  \`sum by (domain, key1) (rate(ratelimit_service_rate_limit_total_hits[5m])) / sum by (domain, key1) (weir_rule_limit{buckets="one"} / weir_rule_limit_window_seconds)\` for one instance.
- A reload removes the series of limits that it removes.
- Each instance shows the same configuration: take \`max\`, not \`sum\`, over instances. Control data (overrides, plans changed at run time) are not included.
- They are not sent to statsd.
`;

const TABLE_HEAD = '| metric | type | meaning |\n|---|---|---|\n';

/** Returns the whole page, which ends with a newline. */
export function renderMetricsDoc(): string {
  const ruleRows: readonly MetricRow[] = [...Object.values(RULE_METRICS), ...Object.values(DOMAIN_METRICS)];
  const otherRows: readonly MetricRow[] = Object.values({
    ...METRICS,
    ...CONFIG_METRICS,
    ...XDS_METRICS,
    ...CONTROL_METRICS,
    ...PENALTY_METRICS,
    ...FAIR_METRICS,
    ...GUARD_METRICS,
    ...ADMIN_METRICS,
    CERTIFICATE_METRIC,
    ...WORKER_METRICS,
    ...REPORT_METRICS,
    ...TRACE_METRICS,
    ...DECISION_LOG_METRICS,
    ...EVENT_METRICS,
  });
  return [
    HEAD,
    tableOf(ruleRows),
    TOP_HEAD,
    tableOf([TOP_KEY_METRIC]),
    LIMIT_HEAD,
    tableOf(Object.values(LIMIT_METRICS)),
    '## Service\n',
    tableOf(otherRows),
    '## Names in statsd\n',
    statsdTable([...ruleRows, ...otherRows]),
  ].join('\n');
}

function tableOf(rows: readonly MetricRow[]): string {
  return `${TABLE_HEAD}${rows.map(({ name, type, labels, help }) => `| \`${name}${labelsOf(labels)}\` | ${type} | ${help} |\n`).join('')}`;
}

/** `{rule, plan}`: the labels of a rule have one name. */
function labelsOf(labels: MetricRow['labels']): string {
  const isOfRule = labels.includes('key1');
  const others = labels.filter((label) => !isOfRule || !/^(?:domain|key\d)$/.test(label));
  const all = isOfRule ? ['rule', ...others] : others;
  return all.length === 0 ? '' : `{${all.join(', ')}}`;
}

/** The metrics whose name in statsd does not follow from their name. */
function statsdTable(rows: readonly MetricRow[]): string {
  const lines = rows
    .map((row) => ({ name: row.name, sent: withRule(statsdTemplate(row)), usual: withRule(usualTemplate(row)) }))
    .filter(({ sent, usual }) => sent !== usual)
    .map(({ name, sent }) => `| \`${name}\` | \`${sent}\` |\n`);
  return `| metric | in statsd |\n|---|---|\n${lines.join('')}`;
}

function usualTemplate({ name, type, labels }: MetricRow): string {
  const ending = type === 'counter' ? /_total$/ : type === 'histogram' ? /_seconds$/ : /$/;
  return [name.replace('weir_', 'weir.').replace(ending, ''), ...labels.map((label) => `{${label}}`)].join('.');
}

function withRule(template: string): string {
  return template.replace(/\{domain\}\.\{key1\}.*\{key8\}/, '{rule}');
}
