/** Panels of Grafana dashboards, and their places. The types are Grafana's own. */

import type { Panel as GrafanaPanel, RowPanel } from '@grafana/grafana-foundation-sdk/dashboard';
import type { Dataquery } from '@grafana/grafana-foundation-sdk/prometheus';
import type { Options as StatOptions } from '@grafana/grafana-foundation-sdk/stat';
import type { Options as TableOptions } from '@grafana/grafana-foundation-sdk/table';
import type { FieldConfig as GraphConfig, Options as GraphOptions } from '@grafana/grafana-foundation-sdk/timeseries';
import type { PlainJson } from './plain-json';
import { RUNBOOK_VARIABLE, sectionOf } from './runbook-link';

/** How Grafana shows a number. */
type Unit = 'none' | 'short' | 'percentunit' | 's' | 'ops' | 'bytes' | 'bool' | 'reqps';

export interface Query {
  readonly expression: string;
  /** The name of each series, with labels as `{{domain}}`. */
  readonly legend: string;
}

export interface PanelSpec {
  readonly kind: 'graph' | 'stat' | 'table';
  readonly title: string;
  readonly description: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
  /** Above it the panel is red: where its alert begins. */
  readonly redFrom?: number;
  /** The alerts that look at the same; the panel links to their sections of the runbook. */
  readonly alerts?: readonly string[];
}

export interface Section {
  readonly title: string;
  readonly panels: readonly PanelSpec[];
}

type Panel = PlainJson<Omit<GrafanaPanel, 'targets'>> & { readonly targets: readonly PlainJson<Dataquery>[] };

type PlacedPanel = Panel | PlainJson<RowPanel>;

/** The data source that the reader of the dashboard chooses. */
export const DATA_SOURCE = { type: 'prometheus', uid: '${datasource}' } as const;

const COLUMNS = 24;
const PANELS_PER_LINE = 2;
const PANEL_HEIGHT = 8;
const PANEL_WIDTH = COLUMNS / PANELS_PER_LINE;

const GRAPH_OPTIONS = {
  legend: { displayMode: 'table', placement: 'bottom', showLegend: true, calcs: ['lastNotNull', 'max'] },
  tooltip: { mode: 'multi', sort: 'desc' },
} as const satisfies PlainJson<GraphOptions>;

const GRAPH_CONFIG = {
  drawStyle: 'line',
  lineWidth: 1,
  fillOpacity: 10,
  showPoints: 'never',
  spanNulls: true,
} as const satisfies PlainJson<GraphConfig>;

const STAT_OPTIONS = {
  graphMode: 'area',
  colorMode: 'value',
  justifyMode: 'auto',
  textMode: 'auto',
  wideLayout: true,
  showPercentChange: false,
  percentChangeColorMode: 'standard',
  orientation: 'auto',
  reduceOptions: { values: false, calcs: ['lastNotNull'] },
} as const satisfies PlainJson<StatOptions>;

const TABLE_OPTIONS = {
  frameIndex: 0,
  showHeader: true,
  sortBy: [{ displayName: 'Value', desc: true }],
} as const satisfies PlainJson<TableOptions>;

/** Places the sections below each other, with two panels in each line. */
export function placed(sections: readonly Section[]): readonly PlacedPanel[] {
  const made: PlacedPanel[] = [];
  let y = 0;
  for (const { title, panels } of sections) {
    made.push({ type: 'row', id: made.length + 1, title, collapsed: false, panels: [], gridPos: { x: 0, y, w: COLUMNS, h: 1 } });
    y += 1;
    for (const [i, spec] of panels.entries()) {
      const x = (i % PANELS_PER_LINE) * PANEL_WIDTH;
      made.push({ ...toPanel(spec), id: made.length + 1, gridPos: { x, y, w: PANEL_WIDTH, h: PANEL_HEIGHT } });
      if (i % PANELS_PER_LINE === PANELS_PER_LINE - 1 || i === panels.length - 1) y += PANEL_HEIGHT;
    }
  }
  return made;
}

function toPanel({ kind, title, description, unit, queries, redFrom, alerts = [] }: PanelSpec): Panel {
  const common = {
    title,
    description,
    datasource: DATA_SOURCE,
    targets: queries.map((query, i) => toTarget(query, { i, kind })),
    links: alerts.map((alert) => ({
      title: `Runbook: ${alert}`,
      type: 'link' as const,
      url: `${RUNBOOK_VARIABLE}#${sectionOf(alert)}`,
      icon: 'doc',
      tooltip: '',
      tags: [],
      asDropdown: false,
      targetBlank: true,
      includeVars: false,
      keepTime: false,
    })),
  };
  const defaults = { unit, ...(redFrom !== undefined && { thresholds: redAbove(redFrom) }) };
  switch (kind) {
    case 'graph':
      return {
        ...common,
        type: 'timeseries',
        options: GRAPH_OPTIONS,
        fieldConfig: {
          defaults: { ...defaults, custom: redFrom === undefined ? GRAPH_CONFIG : { ...GRAPH_CONFIG, thresholdsStyle: { mode: 'line' } } },
          overrides: [],
        },
      };
    case 'stat':
      return { ...common, type: 'stat', options: STAT_OPTIONS, fieldConfig: { defaults, overrides: [] } };
    case 'table':
      return {
        ...common,
        type: 'table',
        options: TABLE_OPTIONS,
        fieldConfig: { defaults, overrides: [] },
        transformations: [{ id: 'organize', options: { excludeByName: { Time: true } } }],
      };
  }
}

function redAbove(value: number): { mode: 'absolute'; steps: { value: number | null; color: string }[] } {
  return {
    mode: 'absolute',
    steps: [
      { value: null, color: 'green' },
      { value, color: 'red' },
    ],
  };
}

function toTarget(
  { expression, legend }: Query,
  { i, kind }: { readonly i: number; readonly kind: PanelSpec['kind'] },
): PlainJson<Dataquery> {
  const isTable = kind === 'table';
  return {
    refId: String.fromCharCode('A'.charCodeAt(0) + i),
    datasource: DATA_SOURCE,
    expr: expression,
    legendFormat: legend,
    instant: isTable,
    range: !isTable,
    format: isTable ? 'table' : 'time_series',
  };
}
