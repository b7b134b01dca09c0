/** The dashboards of Grafana, as the JSON that it imports. */

import type { AnnotationQuery, Dashboard as GrafanaDashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { CONFIG_METRICS, METRICS } from '../metrics/metrics';
import { DATA_SOURCE, placed } from './panels';
import type { PlainJson } from './plain-json';
import { maxBy, series } from './promql';
import { RULE_SECTIONS } from './rules-dashboard';
import { SERVICE_SECTIONS } from './service-dashboard';
import { INSTANCES, RULE_VARIABLES, SERVICE_VARIABLES } from './variables';

// eslint-disable-next-line @typescript-eslint/no-deprecated -- Grafana before 12 imports only this form, and newer ones do too
export type Dashboard = PlainJson<Omit<GrafanaDashboard, 'panels'>> & { readonly panels: ReturnType<typeof placed> };

/** Of Grafana 10.4, the oldest version that is maintained; newer ones convert it. */
const SCHEMA_VERSION = 39;

const CHOSEN = { instance: INSTANCES } as const;

/** Lines in every graph: each configuration, and the times at which one was rejected. */
const ANNOTATIONS: readonly PlainJson<AnnotationQuery>[] = [
  {
    name: 'Configurations',
    datasource: DATA_SOURCE,
    enable: true,
    iconColor: 'blue',
    expr: `${maxBy('instance', `changes(${series(METRICS.configGeneration, CHOSEN)}[1m])`)} > 0`,
    step: '60s',
    titleFormat: 'New configuration',
    textFormat: '{{instance}}',
  },
  {
    name: 'Rejected configurations',
    datasource: DATA_SOURCE,
    enable: true,
    iconColor: 'red',
    expr: `${maxBy('instance', series(CONFIG_METRICS.configLastLoadGood, CHOSEN))} == 0`,
    step: '60s',
    titleFormat: 'Configuration rejected',
    textFormat: '{{instance}}',
  },
];

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

/** By file name. */
export function makeDashboards(): Readonly<Record<'weir-rules.json' | 'weir-service.json', Dashboard>> {
  return {
    'weir-rules.json': {
      ...COMMON,
      uid: 'weir-rules',
      title: 'Weir: rules and callers',
      description: 'What callers use of their limits, what is denied, and to whom.',
      templating: { list: RULE_VARIABLES },
      panels: placed(RULE_SECTIONS),
    },
    'weir-service.json': {
      ...COMMON,
      uid: 'weir-service',
      title: 'Weir: service',
      description: 'How fast Weir decides, what happens without Redis, and how its instances differ.',
      templating: { list: SERVICE_VARIABLES },
      panels: placed(SERVICE_SECTIONS),
    },
  };
}

/** The text of each file. */
export function renderDashboards(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(makeDashboards()).map(([name, dashboard]) => [name, `${JSON.stringify(dashboard, undefined, 2)}\n`]),
  );
}
