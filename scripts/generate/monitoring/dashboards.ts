/** The dashboards of Grafana, as the JSON that it imports. */

import type { AnnotationQuery, Dashboard as GrafanaDashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { CONFIG_METRICS, METRICS } from '../../../src/server/observability/metrics/metrics';
import { DEFAULT_ALERT_OPTIONS, type AlertOptions } from './alerts';
import { DATA_SOURCE, placed } from './panels';
import type { PlainJson } from './plain-json';
import { TARGET_METRICS } from './process-metrics';
import { maxBy, series } from './promql';
import { RULE_SECTIONS } from './rules-dashboard';
import { RUNBOOK } from './runbook-link';
import { serviceSections } from './service-dashboard';
import { CHOSEN, INSTALLATIONS, ruleVariables, serviceVariables } from './variables';

// oxlint-disable-next-line typescript/no-deprecated -- Grafana before 12 imports only this form, and newer ones do too
export type Dashboard = PlainJson<Omit<GrafanaDashboard, 'panels'>> & { readonly panels: ReturnType<typeof placed> };

/** Of Grafana 10.4, the oldest version that is maintained; newer ones convert it. */
const SCHEMA_VERSION = 39;

/** What lines are drawn by in every graph: firing alerts, new configurations, and rejected ones. */
const ANNOTATIONS: readonly PlainJson<AnnotationQuery>[] = [
  annotation({
    name: 'Alerts',
    color: 'orange',
    expression: maxBy(
      'alertname, instance',
      series(TARGET_METRICS.alerts, { alertname: '~Weir.+', alertstate: 'firing', ...INSTALLATIONS }),
    ),
    title: '{{alertname}}',
  }),
  annotation({
    name: 'Configurations',
    color: 'blue',
    expression: `${maxBy('instance', `changes(${series(METRICS.configGeneration, CHOSEN)}[1m])`)} > 0`,
    title: 'New configuration',
  }),
  annotation({
    name: 'Rejected configurations',
    color: 'red',
    expression: `${maxBy('instance', series(CONFIG_METRICS.configLastLoadGood, CHOSEN))} == 0`,
    title: 'Configuration rejected',
  }),
];

interface AnnotationSpec {
  readonly name: string;
  readonly color: string;
  readonly expression: string;
  readonly title: string;
}

function annotation({ name, color, expression, title }: AnnotationSpec): PlainJson<AnnotationQuery> {
  return {
    name,
    datasource: DATA_SOURCE,
    enable: true,
    iconColor: color,
    expr: expression,
    step: '60s',
    titleFormat: title,
    textFormat: '{{instance}}',
  };
}

const COMMON = {
  tags: ['weir'],
  timezone: 'browser',
  editable: true,
  // Shared crosshair.
  graphTooltip: 1,
  time: { from: 'now-1h', to: 'now' },
  refresh: '30s',
  schemaVersion: SCHEMA_VERSION,
  annotations: { list: ANNOTATIONS },
} as const;

export interface DashboardOptions {
  /** Where docs/runbook.md is published. */
  readonly runbook?: string;
  readonly alerts?: AlertOptions;
}

/** By file name. */
export function makeDashboards({ runbook = RUNBOOK, alerts = DEFAULT_ALERT_OPTIONS }: DashboardOptions = {}): Readonly<
  Record<'weir-rules.json' | 'weir-service.json', Dashboard>
> {
  return {
    'weir-rules.json': {
      ...COMMON,
      uid: 'weir-rules',
      title: 'Weir: rules and callers',
      description: 'What callers use of their limits, what is denied, and to whom.',
      templating: { list: ruleVariables(runbook) },
      panels: placed(RULE_SECTIONS),
    },
    'weir-service.json': {
      ...COMMON,
      uid: 'weir-service',
      title: 'Weir: service',
      description: 'How fast Weir decides, what happens without Redis, and how its instances differ.',
      templating: { list: serviceVariables(runbook) },
      panels: placed(serviceSections(alerts)),
    },
  };
}

/** The text of each file. */
export function renderDashboards(options: DashboardOptions = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(makeDashboards(options)).map(([name, dashboard]) => [name, `${JSON.stringify(dashboard, undefined, 2)}\n`]),
  );
}
