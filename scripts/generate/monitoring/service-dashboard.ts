/** The dashboard of the service: how fast it decides, what Redis does to it, and how its instances differ. */

import { CERTIFICATE_METRIC } from '../../../src/server/observability/metrics/certificate-expiry';
import {
  CONFIG_METRICS,
  CONTROL_METRICS,
  DECISION_LOG_METRICS,
  EVENT_METRICS,
  METRICS,
  WORKER_METRICS,
  XDS_METRICS,
  type MetricRow,
} from '../../../src/server/observability/metrics/metrics';
import { LIMIT_METRICS } from '../../../src/server/observability/metrics/rule-limit-metric';
import { DEFAULT_ALERT_OPTIONS, HEAP_SHARE, type AlertOptions } from './alerts';
import type { PanelSpec, Query, Section } from './panels';
import { PROCESS_METRICS } from './process-metrics';
import { buckets, counts, increase, maxBy, minBy, quantile, rate, series, sumBy } from './promql';
import { CHOSEN, RATE_RANGE } from './variables';

const decisionsPerInstance = sumBy('instance', rate(counts(METRICS.decisionTime, CHOSEN), RATE_RANGE));

function perInstance(row: MetricRow): string {
  return sumBy('instance', rate(series(row, CHOSEN), RATE_RANGE));
}

function gauge(row: MetricRow, name = ''): Query {
  return { expression: maxBy('instance', series(row, CHOSEN)), legend: `${name} {{instance}}`.trim() };
}

function latencies(selected: string, by: string): readonly Query[] {
  return [0.5, 0.99].map((q) => ({
    expression: quantile(q, selected, { by, range: RATE_RANGE }),
    legend: `p${q * 100} ${by
      .split(', ')
      .map((label) => `{{${label}}}`)
      .join(' ')}`,
  }));
}

function decisionPanels({ envoyTimeoutMs }: AlertOptions): readonly PanelSpec[] {
  return [
    {
      kind: 'graph',
      title: 'Decisions',
      description: 'Answered per second, over gRPC and HTTP, with the steps of reservations that decide.',
      unit: 'reqps',
      alerts: ['WeirErrorBudgetFastBurn', 'WeirErrorBudgetSlowBurn'],
      queries: [
        { expression: decisionsPerInstance, legend: '{{instance}}' },
        { expression: sumBy('via', rate(counts(METRICS.decisionTime, CHOSEN), RATE_RANGE)), legend: 'over {{via}}' },
      ],
    },
    {
      kind: 'graph',
      title: 'Time of a decision',
      description: `From the arrival of a call to its answer. The red line is Envoy's timeout, ${envoyTimeoutMs} ms: Envoy takes no answer that comes later, and lets the request pass, or denies it with failure_mode_deny. So a p99 above the line means that 1 % of requests and more are not limited; how slow they were does not matter then. Envoy counts them in ratelimit.error.`,
      unit: 's',
      redFrom: envoyTimeoutMs / 1_000,
      alerts: ['WeirSlowDecisions'],
      queries: latencies(buckets(METRICS.decisionTime, CHOSEN), 'instance, via'),
    },
    {
      kind: 'graph',
      title: 'Calls without a decision',
      description: 'Errors by type. Envoy then decides by failure_mode_deny.',
      unit: 'reqps',
      alerts: ['WeirErrorBudgetFastBurn'],
      queries: [
        {
          expression: sumBy('instance, err_type', rate(series(METRICS.shouldRateLimitError, CHOSEN), RATE_RANGE)),
          legend: '{{instance}} {{err_type}}',
        },
      ],
    },
    {
      kind: 'graph',
      title: 'Decisions by the deny cache',
      description: 'Denials without asking Redis.',
      unit: 'reqps',
      queries: [{ expression: perInstance(METRICS.denyCacheDenials), legend: '{{instance}}' }],
    },
    {
      kind: 'graph',
      title: 'Answers of /check',
      description: 'By outcome. Only with CHECK_DOMAIN.',
      unit: 'reqps',
      queries: [{ expression: sumBy('outcome', rate(series(METRICS.checks, CHOSEN), RATE_RANGE)), legend: '{{outcome}}' }],
    },
  ];
}

const FALLBACK_PANELS: readonly PanelSpec[] = [
  {
    kind: 'graph',
    title: 'Decisions without Redis',
    description: 'Requests per second that the failure modes of their limits decided.',
    unit: 'reqps',
    alerts: ['WeirDecidingWithoutRedis'],
    queries: [{ expression: perInstance(METRICS.fallbackDecisions), legend: '{{instance}}' }],
  },
  {
    kind: 'graph',
    title: 'Hits admitted without Redis',
    description: 'By failure mode. Mode open admits everything, mode local a share of the limit.',
    unit: 'ops',
    alerts: ['WeirFailingOpen'],
    queries: [
      { expression: sumBy('failure_mode', rate(series(METRICS.fallbackHits, CHOSEN), RATE_RANGE)), legend: '{{failure_mode}}' },
      { expression: `sum(${rate(series(METRICS.chargedBackHits, CHOSEN), RATE_RANGE)})`, legend: 'charged to Redis afterwards' },
    ],
  },
  {
    kind: 'stat',
    title: 'Bound on hits beyond the limits',
    description:
      'Since the start: hits admitted without Redis, less those that Redis was charged for afterwards. No more than these passed beyond the limits.',
    unit: 'short',
    queries: [
      {
        expression: `sum(${series(METRICS.fallbackHits, CHOSEN)}) - sum(${series(METRICS.chargedBackHits, CHOSEN)})`,
        legend: 'hits',
      },
    ],
  },
  {
    kind: 'graph',
    title: 'Lost hits',
    description: 'Hits that Redis may never count, and hits charged for denied or failed requests.',
    unit: 'short',
    alerts: ['WeirHitsLost'],
    queries: [
      {
        expression: sumBy('instance', increase(series(METRICS.chargeBackLostHits, CHOSEN), RATE_RANGE)),
        legend: 'not charged back {{instance}}',
      },
      {
        expression: sumBy('instance', increase(series(METRICS.hitsLost, CHOSEN), RATE_RANGE)),
        legend: 'miscounted by split requests {{instance}}',
      },
    ],
  },
];

const REDIS_PANELS: readonly PanelSpec[] = [
  {
    kind: 'graph',
    title: 'Latency of Redis',
    description: 'Time of one command, which may decide many requests.',
    unit: 's',
    queries: latencies(buckets(METRICS.storeLatency, CHOSEN), 'instance, store'),
  },
  {
    kind: 'graph',
    title: 'Errors of Redis',
    description: 'Failed commands, and calls that gave up while waiting, by reason.',
    unit: 'ops',
    queries: [
      { expression: sumBy('store, reason', rate(series(METRICS.storeErrors, CHOSEN), RATE_RANGE)), legend: '{{store}} {{reason}}' },
    ],
  },
  {
    kind: 'graph',
    title: 'Open circuit breakers',
    description: 'Redis servers that Weir does not ask, and how often a breaker opened.',
    unit: 'short',
    redFrom: 1,
    alerts: ['WeirDecidingWithoutRedis'],
    queries: [
      gauge(METRICS.breakerOpen, 'open'),
      { expression: sumBy('instance', increase(series(METRICS.breakerOpenings, CHOSEN), RATE_RANGE)), legend: 'openings {{instance}}' },
    ],
  },
  {
    kind: 'graph',
    title: 'Keys that Redis evicted',
    description: 'For lack of memory. A bucket among them is full again. Absent if Redis does not show its INFO.',
    unit: 'short',
    redFrom: 1,
    alerts: ['WeirRedisEvicts'],
    queries: [{ expression: maxBy('store', increase(series(METRICS.redisEvictedKeys, CHOSEN), RATE_RANGE)), legend: '{{store}}' }],
  },
  {
    kind: 'graph',
    title: 'Instances on the same Redis',
    description: 'As each instance counts them. In mode local each enforces its share of a limit.',
    unit: 'none',
    alerts: ['WeirInstanceGone', 'WeirFewInstances'],
    queries: [gauge(METRICS.instances)],
  },
];

const INSTANCE_PANELS: readonly PanelSpec[] = [
  {
    kind: 'graph',
    title: 'Skew of load',
    description: 'Decisions of each instance, divided by the average: 1 is even. A connection of Envoy stays with one instance.',
    unit: 'none',
    queries: [{ expression: `${decisionsPerInstance} / on () group_left () avg(${decisionsPerInstance})`, legend: '{{instance}}' }],
  },
  {
    kind: 'graph',
    title: 'Delay of the event loop',
    description: 'p99 of each process: how late Weir itself runs.',
    unit: 's',
    redFrom: DEFAULT_ALERT_OPTIONS.lagMaxMs / 1_000,
    alerts: ['WeirRunsLate'],
    queries: [gauge(PROCESS_METRICS.lag)],
  },
  {
    kind: 'graph',
    title: 'Processor time',
    description: 'Cores in use.',
    unit: 'none',
    queries: [{ expression: perInstance(PROCESS_METRICS.cpu), legend: '{{instance}}' }],
  },
  {
    kind: 'graph',
    title: 'Memory',
    description: 'Resident set.',
    unit: 'bytes',
    queries: [{ expression: sumBy('instance', series(PROCESS_METRICS.memory, CHOSEN)), legend: '{{instance}}' }],
  },
  {
    kind: 'graph',
    title: 'Used part of the heap',
    description: 'A process whose heap is full ends. The value falls with each garbage collection.',
    unit: 'percentunit',
    redFrom: HEAP_SHARE,
    alerts: ['WeirMemoryNearLimit'],
    queries: [
      {
        expression: `${sumBy('instance', series(PROCESS_METRICS.heapUsed, CHOSEN))} / ${sumBy('instance', series(METRICS.heapLimit, CHOSEN))}`,
        legend: '{{instance}}',
      },
    ],
  },
  {
    kind: 'graph',
    title: 'Connections',
    description: 'Open connections to the gRPC port, and those that Weir closed or refused, by reason.',
    unit: 'short',
    queries: [
      { expression: sumBy('instance', series(METRICS.grpcConnections, CHOSEN)), legend: '{{instance}}' },
      { expression: sumBy('reason', increase(series(METRICS.grpcConnectionsEnded, CHOSEN), RATE_RANGE)), legend: 'ended: {{reason}}' },
    ],
  },
  {
    kind: 'graph',
    title: 'Workers and restarts',
    description: 'Workers that are serving, and their restarts, with WORKERS over 1; and restarts of the instance.',
    unit: 'none',
    alerts: ['WeirRestarting'],
    queries: [
      gauge(WORKER_METRICS.workers),
      {
        expression: sumBy('instance', increase(series(WORKER_METRICS.restarts, CHOSEN), RATE_RANGE)),
        legend: 'worker restarts {{instance}}',
      },
      { expression: maxBy('instance', `changes(${series(METRICS.startTime, CHOSEN)}[${RATE_RANGE}])`), legend: 'restarts {{instance}}' },
    ],
  },
];

const CONFIGURATION_PANELS: readonly PanelSpec[] = [
  {
    kind: 'graph',
    title: 'Configuration in force',
    description: 'Its number: one more after each reload.',
    unit: 'none',
    queries: [gauge(METRICS.configGeneration)],
  },
  {
    kind: 'graph',
    title: 'Last configuration accepted',
    description: '1: the configuration offered last is in force, and the management server is connected. 0: it is not.',
    unit: 'bool',
    alerts: ['WeirConfigurationRefused', 'WeirXdsGone'],
    queries: [gauge(CONFIG_METRICS.configLastLoadGood, 'configuration'), gauge(XDS_METRICS.connected, 'management server')],
  },
  {
    kind: 'graph',
    title: 'Delay of control data',
    description: 'Time since the instance last knew its control data to be up to date.',
    unit: 's',
    redFrom: 30,
    alerts: ['WeirControlDataStale'],
    queries: [gauge(CONTROL_METRICS.lag)],
  },
  {
    kind: 'graph',
    title: 'Control data lost or unreadable',
    description: 'Records that Redis lost and instances keep, that Redis lacks of its own, and that an instance cannot read.',
    unit: 'short',
    redFrom: 1,
    alerts: ['WeirControlDataLost', 'WeirControlDataUnreadable'],
    queries: [
      gauge(CONTROL_METRICS.lost, 'kept'),
      gauge(CONTROL_METRICS.missing, 'missing'),
      gauge(CONTROL_METRICS.unreadable, 'unreadable'),
    ],
  },
  {
    kind: 'stat',
    title: 'Time until certificates end',
    description: 'The certificate in use on the gRPC port, and the files of other settings.',
    unit: 's',
    alerts: ['WeirCertificateEnds'],
    queries: [
      { expression: `min(${series(METRICS.grpcCertificateExpiry, CHOSEN)} > 0) - time()`, legend: 'gRPC port' },
      { expression: `${minBy('setting', series(CERTIFICATE_METRIC, CHOSEN))} - time()`, legend: '{{setting}}' },
    ],
  },
  {
    kind: 'stat',
    title: 'Limits without series',
    description: 'Configured limits beyond METRIC_SERIES_MAX.',
    unit: 'short',
    redFrom: 1,
    alerts: ['WeirSeriesDropped'],
    queries: [{ expression: `max(${series(LIMIT_METRICS.dropped, CHOSEN)})`, legend: 'limits' }],
  },
  {
    kind: 'graph',
    title: 'Lost lines of the decision log',
    description: 'Decisions that DECISION_LOG asked for, and that were not written.',
    unit: 'short',
    redFrom: 1,
    alerts: ['WeirDecisionLogLost'],
    queries: [{ expression: sumBy('reason', increase(series(DECISION_LOG_METRICS.logLost, CHOSEN), RATE_RANGE)), legend: '{{reason}}' }],
  },
  {
    kind: 'graph',
    title: 'Events that wait',
    description: 'Events that EVENTS_URL asks for, and that the receiver does not have yet.',
    unit: 'short',
    alerts: ['WeirEventsUndelivered'],
    queries: [{ expression: `max(${series(EVENT_METRICS.eventsWaiting, CHOSEN)})`, legend: 'events' }],
  },
  {
    kind: 'table',
    title: 'Versions',
    description: 'Version of Weir and store of each instance.',
    unit: 'none',
    queries: [{ expression: maxBy('instance, version, store', series(METRICS.buildInfo, CHOSEN)), legend: '' }],
  },
];

export function serviceSections(options: AlertOptions): readonly Section[] {
  return [
    { title: 'Decisions', panels: decisionPanels(options) },
    { title: 'Without Redis', panels: FALLBACK_PANELS },
    { title: 'Redis', panels: REDIS_PANELS },
    { title: 'Instances', panels: INSTANCE_PANELS },
    { title: 'Configuration', panels: CONFIGURATION_PANELS },
  ];
}
