/** The dashboard of rules: what callers use of their limits, what is denied, and to whom. */

import { CONTROL_METRICS, PENALTY_METRICS, type MetricRow } from '../../../src/server/observability/metrics/metrics';
import type { RuleLabel } from '../../../src/server/observability/metrics/rule-labels';
import { LIMIT_METRICS } from '../../../src/server/observability/metrics/rule-limit-metric';
import { DOMAIN_METRICS, RULE_METRICS } from '../../../src/server/observability/metrics/rule-metrics';
import { TOP_KEY_METRIC } from '../../../src/server/observability/metrics/top-key-metric';
import { USED_SHARE } from './alerts';
import type { Section } from './panels';
import { maxBy, rate, RULE, series, sumBy, type Matchers, type TargetLabel } from './promql';
import { limitPerSecond, usedInBand, WINDOW_BANDS } from './rule-queries';
import { REAL_TIME } from './time-scale';
import { CHOSEN, DOMAIN, RATE_RANGE, RULE_NAME } from './variables';

const LEGEND = '{{domain}} {{key1}} {{key2}} {{key3}} {{key4}}';

const RULES: Matchers<RuleLabel | TargetLabel> = { domain: DOMAIN, key1: RULE_NAME, ...CHOSEN };

const TOP = 20;

function hits(row: MetricRow): string {
  return sumBy(RULE, rate(series(row, RULES), RATE_RANGE));
}

function rolloutRate(row: MetricRow): string {
  return sumBy('domain, rule, part', rate(series(row, { domain: DOMAIN, ...CHOSEN }), RATE_RANGE));
}

function topKeys(question: 'asked' | 'denied'): string {
  return `topk(${TOP}, ${sumBy('domain, rule, key', series(TOP_KEY_METRIC, { question, domain: DOMAIN, ...CHOSEN }))})`;
}

const { totalHits, overLimit, shadowMode, nearLimit, withinLimit, candidateOver } = RULE_METRICS;

export const RULE_SECTIONS: readonly Section[] = [
  {
    title: 'Limits and their use',
    panels: [
      {
        kind: 'graph',
        title: 'Used part of the limit',
        description:
          'Admitted hits divided by what the tightest limit allows: over 10 minutes for windows up to that length, over an hour and over a day for longer ones. Only rules whose requests share one bucket. Limits of weeks and longer are left out.',
        unit: 'percentunit',
        redFrom: USED_SHARE,
        alerts: ['WeirLimitNearlyUsed'],
        queries: WINDOW_BANDS.map((band) => ({
          expression: usedInBand(band, { by: RULE, matchers: RULES, time: REAL_TIME }),
          legend: `${LEGEND}${band.name}`,
        })),
      },
      {
        kind: 'graph',
        title: 'Admitted hits and their limit',
        description: 'Admitted hits per second, and what the tightest limit of rules with one bucket allows per second.',
        unit: 'ops',
        queries: [
          { expression: hits(withinLimit), legend: LEGEND },
          { expression: limitPerSecond({ by: RULE, matchers: RULES }), legend: `limit of ${LEGEND}` },
        ],
      },
      {
        kind: 'graph',
        title: 'Hits',
        description: 'Hits of all requests that matched the rule, admitted or not.',
        unit: 'ops',
        queries: [{ expression: hits(totalHits), legend: LEGEND }],
      },
      {
        kind: 'table',
        title: 'Configured limits',
        description: 'Requests that each limit allows in its window.',
        unit: 'short',
        queries: [
          {
            expression: maxBy(`${RULE}, plan, limit, algorithm, unit, window, buckets`, series(LIMIT_METRICS.limit, RULES)),
            legend: '',
          },
        ],
      },
    ],
  },
  {
    title: 'Denials',
    panels: [
      {
        kind: 'graph',
        title: 'Denied hits',
        description: 'Hits that did not fit a limit in force, without those of rules in shadow mode.',
        unit: 'ops',
        queries: [{ expression: `${hits(overLimit)} - (${hits(shadowMode)} or ${hits(overLimit)} * 0)`, legend: LEGEND }],
      },
      {
        kind: 'graph',
        title: 'Hits near the limit',
        description: 'Admitted hits above NEAR_LIMIT_RATIO of the limit.',
        unit: 'ops',
        queries: [{ expression: hits(nearLimit), legend: LEGEND }],
      },
      {
        kind: 'graph',
        title: 'Hits that shadow mode would deny',
        description: 'Hits over rules in shadow mode, and over candidates. They were admitted.',
        unit: 'ops',
        queries: [
          { expression: hits(shadowMode), legend: LEGEND },
          { expression: hits(candidateOver), legend: `candidate of ${LEGEND}` },
        ],
      },
      {
        kind: 'graph',
        title: 'Denied hits of rollouts',
        description: 'Share of the hits over the limit: in the stage of a candidate, and under the limit for the others.',
        unit: 'percentunit',
        alerts: ['WeirRolloutTakenBack'],
        queries: [
          {
            expression: `${rolloutRate(DOMAIN_METRICS.rolloutOver)} / (${rolloutRate(DOMAIN_METRICS.rolloutHits)} > 0)`,
            legend: '{{part}} of {{domain}} {{rule}}',
          },
        ],
      },
      {
        kind: 'graph',
        title: 'Decisions of control data',
        description: 'Descriptors that a block, a pass or an override decided, and blocks that penalties wrote.',
        unit: 'ops',
        queries: [
          { expression: sumBy('kind', rate(series(CONTROL_METRICS.decisions, CHOSEN), RATE_RANGE)), legend: '{{kind}}' },
          {
            expression: `sum(${rate(series(PENALTY_METRICS.blocks, CHOSEN), RATE_RANGE)})`,
            legend: 'blocks written by penalties',
          },
        ],
      },
    ],
  },
  {
    title: 'Callers',
    panels: [
      {
        kind: 'table',
        title: 'Keys that were denied most',
        description: 'Denied hits of the last 10 minutes. Only with METRIC_TOP_KEYS.',
        unit: 'short',
        alerts: ['WeirTopKeyDenied'],
        queries: [{ expression: topKeys('denied'), legend: '' }],
      },
      {
        kind: 'table',
        title: 'Keys that asked for most',
        description: 'Hits of the last 10 minutes. Only with METRIC_TOP_KEYS.',
        unit: 'short',
        queries: [{ expression: topKeys('asked'), legend: '' }],
      },
      {
        kind: 'graph',
        title: 'Decisions by plan',
        description: 'Decisions on tenants by plan and result.',
        unit: 'ops',
        queries: [
          {
            expression: sumBy(
              'domain, plan, result',
              rate(series(DOMAIN_METRICS.planDecisions, { domain: DOMAIN, ...CHOSEN }), RATE_RANGE),
            ),
            legend: '{{domain}} {{plan}} {{result}}',
          },
        ],
      },
      {
        kind: 'graph',
        title: 'Requests that no rule matches',
        description: 'Descriptors that no rule of their domain matches, and requests for a domain without rules.',
        unit: 'ops',
        alerts: ['WeirUnmatchedDescriptors'],
        queries: [
          {
            expression: sumBy('domain', rate(series(DOMAIN_METRICS.unmatched, { domain: DOMAIN, ...CHOSEN }), RATE_RANGE)),
            legend: 'unmatched descriptors of {{domain}}',
          },
          {
            expression: sumBy('domain', rate(series(DOMAIN_METRICS.notFound, CHOSEN), RATE_RANGE)),
            legend: 'unknown domain {{domain}}',
          },
        ],
      },
    ],
  },
];
