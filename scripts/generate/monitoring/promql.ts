/** Parts of PromQL, written from the tables of metrics: a query cannot name a metric or a label that Weir does not have. */

import type { MetricRow } from '../../../src/server/observability/metrics/metrics';
import { RULE_LABELS } from '../../../src/server/observability/metrics/rule-labels';

/** Labels that Prometheus adds to what it scrapes. */
export type TargetLabel = 'cluster' | 'namespace' | 'job' | 'instance';

/** The labels that name one installation. A label that a Prometheus does not add is empty everywhere. */
export const INSTALLATION = 'cluster, namespace, job';

/** The labels that name one instance. */
export const INSTANCE = `${INSTALLATION}, instance`;

type LabelOf<Row extends MetricRow> = Row['labels'][number] | TargetLabel;

/** `=~"…"` for a text that begins with `~`, otherwise `="…"`; `!` before either negates it. */
export type Matchers<Label extends string> = Readonly<Partial<Record<Label, string>>>;

/** The labels that name one rule. */
export const RULE = RULE_LABELS.join(', ');

export function series<Row extends MetricRow>({ name }: Row, matchers?: Matchers<LabelOf<Row>>): string {
  return selector(name, matchers);
}

/** The buckets of a histogram. */
export function buckets<Row extends MetricRow & { readonly type: 'histogram' }>({ name }: Row, matchers?: Matchers<LabelOf<Row>>): string {
  return selector(`${name}_bucket`, matchers);
}

/** How many times a histogram has. */
export function counts<Row extends MetricRow & { readonly type: 'histogram' }>({ name }: Row, matchers?: Matchers<LabelOf<Row>>): string {
  return selector(`${name}_count`, matchers);
}

export function rate(selected: string, range: string): string {
  return `rate(${selected}[${range}])`;
}

export function increase(selected: string, range: string): string {
  return `increase(${selected}[${range}])`;
}

export interface QuantileOptions {
  readonly by: string;
  readonly range: string;
}

/** A quantile of the observations within the range, for each value of the labels `by`. */
export function quantile(q: number, selectedBuckets: string, { by, range }: QuantileOptions): string {
  return `histogram_quantile(${q}, ${sumBy(`${by}, le`, rate(selectedBuckets, range))})`;
}

export function sumBy(labels: string, expression: string): string {
  return `sum by (${labels}) (${expression})`;
}

export function maxBy(labels: string, expression: string): string {
  return `max by (${labels}) (${expression})`;
}

export function countBy(labels: string, expression: string): string {
  return `count by (${labels}) (${expression})`;
}

export function minBy(labels: string, expression: string): string {
  return `min by (${labels}) (${expression})`;
}

function selector(name: string, matchers: Readonly<Record<string, string | undefined>> = {}): string {
  const parts = Object.entries(matchers).flatMap(([label, text]) => (text === undefined ? [] : [`${label}${comparison(text)}`]));
  return parts.length === 0 ? name : `${name}{${parts.join(', ')}}`;
}

function comparison(text: string): string {
  const [, not = '', pattern = '', value = ''] = /^(!?)(~?)(.*)$/s.exec(text) ?? [];
  const operator = pattern === '~' ? `${not === '' ? '=' : '!'}~` : `${not}=`;
  return `${operator}"${value}"`;
}
