/** The variables of the dashboards: data source, domain, rule and instance. */

import type { VariableModel } from '@grafana/grafana-foundation-sdk/dashboard';
import { METRICS } from '../metrics/metrics';
import { LIMIT_METRICS } from '../metrics/rule-limit-metric';
import { DATA_SOURCE } from './panels';
import type { PlainJson } from './plain-json';
import { series } from './promql';

/** The range that Grafana chooses for a rate: several scrapes, and at least one step of the graph. */
export const RATE_RANGE = '$__rate_interval';

/** What queries compare labels with. */
export const DOMAIN = '~$domain';
export const RULE_NAME = '~$rule';
export const INSTANCES = '~$instance';

type Variable = PlainJson<VariableModel>;

const DATA_SOURCE_VARIABLE: Variable = { type: 'datasource', name: 'datasource', label: 'Data source', query: 'prometheus' };

const INSTANCE = labelValues({ name: 'instance', label: 'Instance', of: series(METRICS.buildInfo), key: 'instance' });

export const SERVICE_VARIABLES: readonly Variable[] = [DATA_SOURCE_VARIABLE, INSTANCE];

export const RULE_VARIABLES: readonly Variable[] = [
  DATA_SOURCE_VARIABLE,
  labelValues({ name: 'domain', label: 'Domain', of: series(LIMIT_METRICS.limit), key: 'domain' }),
  labelValues({ name: 'rule', label: 'Rule', of: series(LIMIT_METRICS.limit, { domain: DOMAIN }), key: 'key1' }),
  INSTANCE,
];

interface LabelValues {
  readonly name: string;
  readonly label: string;
  readonly of: string;
  readonly key: string;
}

/** The reader chooses one or several of all values of a label. */
function labelValues({ name, label, of, key }: LabelValues): Variable {
  const query = `label_values(${of}, ${key})`;
  return {
    type: 'query',
    name,
    label,
    datasource: DATA_SOURCE,
    definition: query,
    query: { query, refId: name },
    // When the time range changes.
    refresh: 2,
    // Alphabetical.
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
  };
}
