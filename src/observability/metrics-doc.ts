/** Writes `docs/metrics.md` from the tables of metrics. */

import { CONFIG_METRICS, METRICS, WORKER_METRICS, XDS_METRICS, type MetricRow } from './metrics';
import { RULE_METRICS } from './rule-metrics';

const HEAD = `# Metrics

Served for Prometheus at \`/metrics\` on DEBUG_PORT. This page is made from the tables in \`src/observability/\` by
\`node scripts/write-docs.mjs\` (after a build); a test compares the two. Node's own metrics (\`process_*\`, \`nodejs_*\`) are
prom-client's defaults.

With \`WORKERS\` over 1 they are those of all workers together: sums, but for gauges of what all see alike
(\`weir_instances\`, \`weir_breaker_open\`: the largest). Counters do not run backwards when a worker ends: what it had counted
when it was last asked stays.

## By rule

Labels: \`domain\`, and \`key1\` to \`key8\` for the levels of the rule, as envoyproxy/ratelimit names them: \`key_value\` where the
rule has a value, else \`key\`; deeper levels share the last label. They come from the configuration, never from a
request's values, and at most METRIC_SERIES_MAX rules have series of their own: the rest count as \`other\`. A
request override counts under its rule, or under its keys.

A denied request adds \`total_hits\` to every rule it matched, \`over_limit\` to those that its hits did not fit, and
\`within_limit\` to none, as nothing was taken. Peeks and refunds add nothing.
`;

const TABLE_HEAD = '| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n';

/** The whole page, ending with a newline. */
export function renderMetricsDoc(): string {
  const ruleRows = Object.values(RULE_METRICS).map((row) => renderRow({ ...row, labels: ['domain', 'key1', '…', 'key8'] }));
  const otherRows = Object.values({ ...METRICS, ...CONFIG_METRICS, ...XDS_METRICS, ...WORKER_METRICS }).map(renderRow);
  return `${HEAD}\n${TABLE_HEAD}${ruleRows.join('')}\n## Of the service\n\n${TABLE_HEAD}${otherRows.join('')}`;
}

function renderRow({ name, type, labels, help }: MetricRow): string {
  return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |\n`;
}
