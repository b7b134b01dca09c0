/** The variables of the dashboards: data source, installation, domain, rule and instance, and where the runbook is. */

import type { VariableModel } from '@grafana/grafana-foundation-sdk/dashboard';
import { METRICS } from '../../../src/server/observability/metrics/metrics';
import { LIMIT_METRICS } from '../../../src/server/observability/metrics/rule-limit-metric';
import { DATA_SOURCE } from './panels';
import type { PlainJson } from './plain-json';
import { series } from './promql';

/** The range that Grafana chooses for a rate: several scrapes, and at least one step of the graph. */
export const RATE_RANGE = '$__rate_interval';

/** What queries compare labels with. */
export const DOMAIN = '~$domain';
export const RULE_NAME = '~$rule';

/** The installations and instances that the reader chose. */
export const CHOSEN = { cluster: '~$cluster', namespace: '~$namespace', job: '~$job', instance: '~$instance' } as const;

export const INSTALLATIONS = { cluster: CHOSEN.cluster, namespace: CHOSEN.namespace, job: CHOSEN.job } as const;

type Variable = PlainJson<VariableModel>;

const DATA_SOURCE_VARIABLE: Variable = { type: 'datasource', name: 'datasource', label: 'Data source', query: 'prometheus' };

const TARGETS: readonly Variable[] = [
  labelValues({ name: 'cluster', label: 'Cluster', of: series(METRICS.buildInfo), key: 'cluster' }),
  labelValues({ name: 'namespace', label: 'Namespace', of: series(METRICS.buildInfo, { cluster: CHOSEN.cluster }), key: 'namespace' }),
  labelValues({
    name: 'job',
    label: 'Job',
    of: series(METRICS.buildInfo, { cluster: CHOSEN.cluster, namespace: CHOSEN.namespace }),
    key: 'job',
  }),
  labelValues({ name: 'instance', label: 'Instance', of: series(METRICS.buildInfo, INSTALLATIONS), key: 'instance' }),
];

/** `runbook`: where docs/runbook.md is published. */
export function serviceVariables(runbook: string): readonly Variable[] {
  return [DATA_SOURCE_VARIABLE, ...TARGETS, runbookVariable(runbook)];
}

export function ruleVariables(runbook: string): readonly Variable[] {
  return [
    DATA_SOURCE_VARIABLE,
    ...TARGETS,
    labelValues({ name: 'domain', label: 'Domain', of: series(LIMIT_METRICS.limit, INSTALLATIONS), key: 'domain' }),
    labelValues({ name: 'rule', label: 'Rule', of: series(LIMIT_METRICS.limit, { ...INSTALLATIONS, domain: DOMAIN }), key: 'key1' }),
    runbookVariable(runbook),
  ];
}

/** A constant, so that the dashboards need no other change where the runbook is published. */
function runbookVariable(runbook: string): Variable {
  return { type: 'constant', name: 'runbook', label: 'Runbook', query: runbook, hide: 2, skipUrlSync: true };
}

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
