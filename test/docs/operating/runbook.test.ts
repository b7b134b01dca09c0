/** Dashboards and alerts equal what the generator makes, and each alert has its section of the runbook. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { renderPrometheusRule, renderRules, ruleGroups } from '../../../scripts/generate/monitoring/alert-rules';
import { makeDashboards, renderDashboards } from '../../../scripts/generate/monitoring/dashboards';
import { sectionOf } from '../../../scripts/generate/monitoring/runbook-link';
import {
  CONFIG_METRICS,
  CONTROL_METRICS,
  DECISION_LOG_METRICS,
  EVENT_METRICS,
  METRICS,
  GUARD_METRICS,
  PENALTY_METRICS,
  WORKER_METRICS,
  XDS_METRICS,
  type MetricRow,
} from '../../../src/server/observability/metrics/metrics';
import { CERTIFICATE_METRIC } from '../../../src/server/observability/metrics/certificate-expiry';
import { LIMIT_METRICS } from '../../../src/server/observability/metrics/rule-limit-metric';
import { DOMAIN_METRICS, RULE_METRICS } from '../../../src/server/observability/metrics/rule-metrics';
import { TOP_KEY_METRIC } from '../../../src/server/observability/metrics/top-key-metric';

const RULES = ruleGroups().groups.flatMap(({ rules }) => rules);

const ROWS: readonly MetricRow[] = [
  METRICS,
  CONFIG_METRICS,
  XDS_METRICS,
  CONTROL_METRICS,
  DECISION_LOG_METRICS,
  EVENT_METRICS,
  PENALTY_METRICS,
  GUARD_METRICS,
  WORKER_METRICS,
  LIMIT_METRICS,
  DOMAIN_METRICS,
  RULE_METRICS,
  { TOP_KEY_METRIC, CERTIFICATE_METRIC },
].flatMap((table) => Object.values<MetricRow>(table));

/** By heading. */
const SECTIONS = new Map(
  readFileSync('docs/runbook.md', 'utf8')
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')), section] as const),
);

/** Labels of what Prometheus scrapes, and of histograms and alerts. */
const ADDED_LABELS = ['cluster', 'namespace', 'job', 'instance', 'le'];

function expectUpToDate(file: string, text: string): void {
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
  throw new Error(`${file} is out of date; run node scripts/generate/monitoring.mjs`);
}

const DASHBOARDS = path.join('deploy', 'helm', 'weir', 'files', 'dashboards');

test('the files under deploy/ are what the generator makes', () => {
  expectUpToDate('deploy/helm/weir/files/alerts.yaml', renderRules());
  expectUpToDate('deploy/prometheus/prometheus-rule.yaml', renderPrometheusRule());
  const dashboards = Object.entries(renderDashboards());
  for (const [name, text] of dashboards) expectUpToDate(path.join(DASHBOARDS, name), text);
  expect(readdirSync(DASHBOARDS).sort()).toEqual(dashboards.map(([name]) => name).sort());
});

test('the rules file and the PrometheusRule are YAML with all alerts', () => {
  expect(parse(renderRules())).toEqual(ruleGroups());
  const { spec } = parse(renderPrometheusRule()) as { readonly spec: unknown };
  expect(spec).toEqual(ruleGroups());
});

test('each alert links to its section of the runbook, and each section has its alert', () => {
  expect([...SECTIONS.keys()]).toEqual(RULES.map(({ alert }) => alert));
  for (const { alert, annotations } of RULES) expect(annotations.runbook_url).toBe(`docs/runbook.md#${sectionOf(alert)}`);
});

test.each([...SECTIONS])('the section of %s has the meaning, what callers notice, what to do and a command', (_alert, section) => {
  expect(section).toMatch(/^- \*\*Meaning\.\*\* /m);
  expect(section).toMatch(/^- \*\*Callers\*\* /m);
  expect(section).toMatch(/^- \*\*Do\*\*/m);
  expect(section).toMatch(/^```sh\n.+\n```$/m);
});

test('each link of a panel goes to a section of the runbook, and an option changes where that is', () => {
  for (const { panels, templating } of Object.values(makeDashboards({ runbook: 'https://runbooks.example/weir' }))) {
    const urls = panels.flatMap((panel) => ('links' in panel ? (panel.links ?? []).map(({ url = '' }) => url) : []));
    expect(urls.length).toBeGreaterThan(2);
    for (const url of urls) expect(RULES.map(({ alert }) => `\${runbook}#${sectionOf(alert)}`)).toContain(url);
    expect(templating.list).toContainEqual(expect.objectContaining({ name: 'runbook', query: 'https://runbooks.example/weir' }));
  }
});

test('each query of a dashboard can be limited to an installation', () => {
  const alone = Object.values(makeDashboards()).flatMap(({ panels }) =>
    panels.flatMap((panel) => ('targets' in panel ? panel.targets.map(({ expr }) => expr) : [])),
  );
  for (const expression of alone) {
    const selectors = Array.from(expression.matchAll(/\b(?:weir|ratelimit_service|process|nodejs)_\w+(?:\{[^}]*\})?/g), ([text]) => text);
    // The window of a limit is divided into the limit, whose labels are compared.
    for (const selector of selectors.filter((text) => !text.startsWith('weir_rule_limit_window_seconds'))) {
      expect(selector).toMatch(/cluster=~"\$cluster", namespace=~"\$namespace", job=~"\$job", instance=~"\$instance"/);
    }
  }
});

function expressions(): string[] {
  const dashboards = Object.values(makeDashboards());
  return [
    ...RULES.map(({ expr }) => expr),
    ...dashboards.flatMap(({ panels }) => panels.flatMap((panel) => ('targets' in panel ? panel.targets.map(({ expr }) => expr) : []))),
    ...dashboards.flatMap(({ annotations }) => (annotations.list ?? []).map(({ expr = '' }) => expr)),
    ...dashboards.flatMap(({ templating }) => (templating.list ?? []).map(({ definition = '' }) => definition)),
  ];
}

test('each query names metrics of the tables, with labels that they have', () => {
  const selected = expressions().flatMap((expression) =>
    Array.from(expression.matchAll(/\b((?:weir|ratelimit_service)_\w+)(?:\{([^}]*)\})?/g), ([, name = '', matchers = '']) => ({
      name: name.replace(/_(?:bucket|count)$/, ''),
      labels: Array.from(matchers.matchAll(/(\w+)(?:=~?|!~|!=)"/g), ([, label = '']) => label),
    })),
  );
  expect(selected.length).toBeGreaterThan(80);
  for (const { name, labels } of selected) {
    const known = ROWS.find((row) => row.name === name)?.labels ?? [];
    expect({ name, unknown: labels.filter((label) => ![...known, ...ADDED_LABELS].includes(label)) }).toEqual({ name, unknown: [] });
    expect(ROWS.map((row) => row.name)).toContain(name);
  }
});
