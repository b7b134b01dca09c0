/** Writes `docs/metrics.md` from the tables of metrics. */

import { CONFIG_METRICS, METRICS, REPORT_METRICS, WORKER_METRICS, XDS_METRICS, type MetricRow } from './metrics';
import { DOMAIN_METRICS, RULE_METRICS } from './rule-metrics';
import { TIMES_MAX } from './statsd-differences';
import { statsdTemplate } from './statsd-names';

const HEAD = `# Metrics

Served for Prometheus at \`/metrics\` on DEBUG_PORT. This page is made from the tables in \`src/observability/\` by
\`node scripts/write-docs.mjs\` (after a build); a test compares the two. Node's own metrics (\`process_*\`, \`nodejs_*\`) are
prom-client's defaults.

With \`WORKERS\` over 1 they are those of all workers together: sums, but for gauges of what all see alike
(\`weir_instances\`, \`weir_breaker_open\`: the largest). Counters do not run backwards when a worker ends: what it had counted
stays (of one that was killed: when it was last asked).

\`EXTRA_TAGS\` are labels of every metric, here and at \`PROMETHEUS_ADDR\`, where they are served too with \`USE_PROMETHEUS\`.

## In statsd

With \`USE_STATSD\` or \`USE_DOG_STATSD\` a server is told every \`STATS_FLUSH_INTERVAL\` what has been counted since the last time, and what
the gauges show, under the names in the last column: those of envoyproxy/ratelimit where it has one, the levels of a rule joined by dots. They are the differences of the same metrics, so a request
costs nothing more. Of Node's own metrics nothing is told.

- What a name of statsd can't have becomes \`_\`: \`:\` and \`|\`, spaces, all that is not ASCII.
- Of times, in milliseconds with fractions, at most ${TIMES_MAX} are told at once, spread as all were: their percentiles hold, their number does not
  (\`total_requests\` is that).
- A server that is away, or takes nothing for a second, costs nothing but the log line (one a minute): what is counted meanwhile is not told
  later, since it would be a rise that never was. \`weir_statsd_flushes_total\` counts both.
- With \`WORKERS\` over 1 the process that runs them tells what they have counted together.

## By rule

Labels: \`domain\`, and \`key1\` to \`key8\` for the levels of the rule, as envoyproxy/ratelimit names them: \`key_value\` where the
rule has a value, else \`key\`; deeper levels share the last label. They come from the configuration, but for what
\`detailed_metric\` and \`value_to_metric\` show of requests and the keys of a request override without a rule (with one, it counts under that). At most METRIC_SERIES_MAX have series
of their own, half of them with something that callers sent: the rest count as \`other\`. Rules that a reload took away keep theirs until Weir ends, and count among them. As envoyproxy/ratelimit does, \`_\` is written for \`:\` and \`|\`, and for the dots of an IPv4
address (of all with SANITIZE_DESCRIPTOR_METRIC_DOTS); a level has 256 characters at most.

A denied request adds \`total_hits\` to every rule it matched, \`over_limit\` to those that its hits did not fit, and
\`within_limit\` to none, as nothing was taken. Checks (0 hits) add nothing; refunds add to \`total_negative_hits\` alone. A usage report
([usage-limits.md](usage-limits.md)) counts as charged whatever the answer.
`;

const TABLE_HEAD = '| Metric | Type | Labels | Meaning | In statsd |\n|---|---|---|---|---|\n';

/** The whole page, ending with a newline. */
export function renderMetricsDoc(): string {
  const ruleRows = Object.values(RULE_METRICS).map((row) => renderRow({ ...row, labels: ['domain', 'key1', '…', 'key8'], statsd: statsdTemplate(row).replace(/(\{key1\}).*(\{key8\})/, '$1.….$2') }));
  const otherRows = Object.values({ ...METRICS, ...CONFIG_METRICS, ...XDS_METRICS, ...WORKER_METRICS, ...REPORT_METRICS }).map(renderRow);
  return `${HEAD}\n${TABLE_HEAD}${ruleRows.join('')}${Object.values(DOMAIN_METRICS).map(renderRow).join('')}\n## Of the service\n\n${TABLE_HEAD}${otherRows.join('')}`;
}

function renderRow(row: MetricRow): string {
  const { name, type, labels, help } = row;
  return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} | \`${statsdTemplate(row)}\` |\n`;
}
