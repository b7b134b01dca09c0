/** Writes the alerts as a rules file of Prometheus, and as a PrometheusRule of its operator. */

import { DEFAULT_ALERT_OPTIONS, makeAlerts, type Alert, type AlertOptions } from './alerts';
import { RUNBOOK, sectionOf } from './runbook-link';
import { REAL_TIME, type TimeScale } from './time-scale';

export interface RulesOptions {
  /** Where the runbook is; its sections follow as fragments. */
  readonly runbook?: string;
  readonly time?: TimeScale;
  readonly alerts?: AlertOptions;
}

export interface AlertingRule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

export interface RuleGroups {
  readonly groups: readonly { readonly name: string; readonly rules: readonly AlertingRule[] }[];
}

const HEAD =
  '# Written by scripts/generate/monitoring.mjs from scripts/generate/monitoring/alerts.ts; docs/runbook.md explains each alert.\n';

export function ruleGroups({ runbook = RUNBOOK, time = REAL_TIME, alerts = DEFAULT_ALERT_OPTIONS }: RulesOptions = {}): RuleGroups {
  return { groups: [{ name: 'weir', rules: makeAlerts(alerts).map((alert) => toRule(alert, { runbook, time })) }] };
}

/** The text of the rules file. */
export function renderRules(options: RulesOptions = {}): string {
  return `${HEAD}${renderGroups(ruleGroups(options)).join('\n')}\n`;
}

/** The text of the manifest. */
export function renderPrometheusRule(options: RulesOptions = {}): string {
  const groups = renderGroups(ruleGroups(options)).map((line) => `  ${line}`);
  return `${HEAD}apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: weir
  labels: {app.kubernetes.io/name: weir}
spec:
${groups.join('\n')}
`;
}

function toRule(
  { name, expression, hold, severity, summary }: Alert,
  { runbook, time }: Required<Pick<RulesOptions, 'runbook' | 'time'>>,
): AlertingRule {
  return {
    alert: name,
    expr: expression(time),
    for: time.hold(hold),
    labels: { severity },
    annotations: { summary, runbook_url: `${runbook}#${sectionOf(name)}` },
  };
}

function renderGroups({ groups }: RuleGroups): readonly string[] {
  return ['groups:', ...groups.flatMap(({ name, rules }) => [`  - name: ${name}`, '    rules:', ...rules.flatMap(renderRule)])];
}

/** A block holds the expression, so that its quotes stay as they are. A string of JSON is one of YAML. */
function renderRule({ alert, expr, for: hold, labels, annotations }: AlertingRule): readonly string[] {
  const map = (entries: Readonly<Record<string, string>>) =>
    Object.entries(entries).map(([name, text]) => `          ${name}: ${JSON.stringify(text)}`);
  return [
    `      - alert: ${alert}`,
    '        expr: |-',
    `          ${expr}`,
    `        for: ${hold}`,
    '        labels:',
    ...map(labels),
    '        annotations:',
    ...map(annotations),
  ];
}
