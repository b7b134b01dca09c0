/** The alerts: what each looks at, how long, how urgent it is, and what it says. */

import { CERTIFICATE_METRIC } from '../../../src/server/observability/metrics/certificate-expiry';
import {
  CONFIG_METRICS,
  CONTROL_METRICS,
  DECISION_LOG_METRICS,
  EVENT_METRICS,
  GUARD_METRICS,
  METRICS,
  WORKER_METRICS,
  XDS_METRICS,
} from '../../../src/server/observability/metrics/metrics';
import { LIMIT_METRICS } from '../../../src/server/observability/metrics/rule-limit-metric';
import { DOMAIN_METRICS, OTHER, RULE_METRICS } from '../../../src/server/observability/metrics/rule-metrics';
import { TOP_KEY_METRIC } from '../../../src/server/observability/metrics/top-key-metric';
import { PROCESS_METRICS, TARGET_METRICS } from './process-metrics';
import { buckets, countBy, counts, increase, INSTALLATION, INSTANCE, maxBy, minBy, quantile, rate, RULE, series, sumBy } from './promql';
import { usedInBand, WINDOW_BANDS } from './rule-queries';
import type { Duration, TimeScale } from './time-scale';

export interface Alert {
  readonly name: string;
  /** `page`: someone acts now. `ticket`: someone looks within days. `info`: worth knowing, and often normal. */
  readonly severity: 'page' | 'ticket' | 'info';
  /** How long the condition must hold. */
  readonly hold: Duration;
  /** One line, with labels as `{{ $labels.instance }}`. */
  readonly summary: string;
  readonly expression: (time: TimeScale) => string;
}

export interface AlertOptions {
  /** The timeout of Envoy's `rate_limit_service`, in milliseconds. */
  readonly envoyTimeoutMs: number;
  /** The fewest instances of an installation. */
  readonly instancesMin: number;
  /** How late the event loop may run, in milliseconds. */
  readonly lagMaxMs: number;
}

/** Envoy's default; one instance may go away; several times what a busy process has. */
export const DEFAULT_ALERT_OPTIONS: AlertOptions = { envoyTimeoutMs: 20, instancesMin: 2, lagMaxMs: 50 };

/** 99.9 % of calls are decided with Redis. */
const ERROR_BUDGET = 0.001;

/** A month's budget lasts 2 days. */
const FAST_BURN = 14.4;

/** A month's budget lasts 5 days. */
const SLOW_BURN = 6;

/** The part of Envoy's timeout that p99 may take. */
export const TIMEOUT_SHARE = 0.75;

/** The part of a limit that callers may use. */
export const USED_SHARE = 0.9;

const UNMATCHED_SHARE = 0.01;

/** A key's denials are worth knowing if they are a tenth of all hits, three times as many as before, and more than noise. */
const DENIED_SHARE = 0.1;
const DENIALS_MIN = 600;
const DENIALS_FACTOR = 3;

export const HEAP_SHARE = 0.85;

/** One restart is an upgrade or an accident. */
const RESTARTS_MAX = 2;

const CERTIFICATE_DAYS = 14;
const DAY_SECONDS = 86_400;

export function makeAlerts(options: AlertOptions = DEFAULT_ALERT_OPTIONS): readonly Alert[] {
  return [
    ...instanceAlerts(options),
    ...decisionAlerts(options),
    ...storeAlerts(),
    ...configurationAlerts(),
    ...callerAlerts(),
    ...partAlerts(),
  ];
}

function instanceAlerts({ instancesMin, lagMaxMs }: AlertOptions): readonly Alert[] {
  const installed = (time: TimeScale, range: Duration) =>
    countBy(INSTALLATION, `last_over_time(${series(METRICS.buildInfo)}[${time.range(range)}])`);
  const alive = countBy(INSTALLATION, series(METRICS.buildInfo));
  return [
    {
      name: 'WeirNotScraped',
      severity: 'page',
      hold: '5m',
      summary: 'Prometheus scrapes no Weir {{ $labels.job }} any more, so no other alert on it can fire.',
      expression: (time) => `(${installed(time, '24h')} unless ${alive}) or on () absent(${series(METRICS.buildInfo)})`,
    },
    {
      name: 'WeirInstanceGone',
      severity: 'ticket',
      hold: '5m',
      summary: 'Weir {{ $labels.instance }} of {{ $labels.job }} does not answer Prometheus.',
      expression: (time) => `${maxBy(INSTANCE, series(TARGET_METRICS.up))} == 0 and on (${INSTALLATION}) ${installed(time, '168h')}`,
    },
    {
      name: 'WeirFewInstances',
      severity: 'ticket',
      hold: '10m',
      summary: `Weir of {{ $labels.job }} has {{ $value }} instances; within the last day it had at least ${instancesMin}.`,
      expression: (time) => {
        // A single failed scrape does not mean that an instance is gone.
        const lately = installed(time, '2m');
        return `${lately} < ${instancesMin} and max_over_time(${lately}[${time.range('24h')}:${time.range('5m')}]) >= ${instancesMin}`;
      },
    },
    {
      name: 'WeirRestarting',
      severity: 'ticket',
      hold: '1m',
      summary: `Weir {{ $labels.instance }} or its workers have restarted more than ${RESTARTS_MAX} times within an hour.`,
      expression: (time) => {
        const restarts = maxBy(INSTANCE, `changes(${series(METRICS.startTime)}[${time.range('1h')}])`);
        const workers = sumBy(INSTANCE, increase(series(WORKER_METRICS.restarts), time.range('1h')));
        return `${restarts} > ${RESTARTS_MAX} or ${workers} > ${RESTARTS_MAX}`;
      },
    },
    {
      name: 'WeirRunsLate',
      severity: 'ticket',
      hold: '10m',
      summary: `The event loop of Weir {{ $labels.instance }} runs over ${lagMaxMs} ms late: it lacks processor time.`,
      expression: () => `${maxBy(INSTANCE, series(PROCESS_METRICS.lag))} > ${lagMaxMs / 1_000}`,
    },
    {
      name: 'WeirMemoryNearLimit',
      severity: 'ticket',
      hold: '5m',
      summary: `Weir {{ $labels.instance }} uses over ${HEAP_SHARE * 100} % of its heap, and ends when it is full.`,
      expression: (time) => {
        // Between two collections the heap holds garbage; its minimum does not.
        const used = sumBy(INSTANCE, `min_over_time(${series(PROCESS_METRICS.heapUsed)}[${time.range('10m')}])`);
        return `${used} / ${sumBy(INSTANCE, series(METRICS.heapLimit))} > ${HEAP_SHARE}`;
      },
    },
  ];
}

function decisionAlerts({ envoyTimeoutMs }: AlertOptions): readonly Alert[] {
  return [
    {
      name: 'WeirFailingOpen',
      severity: 'page',
      hold: '3m',
      summary: 'Weir {{ $labels.instance }} admits everything under limits with failure mode open, because Redis does not answer.',
      expression: (time) => `${sumBy(INSTANCE, rate(series(METRICS.fallbackHits, { failure_mode: 'open' }), time.range('2m')))} > 0`,
    },
    {
      name: 'WeirDecidingWithoutRedis',
      severity: 'page',
      hold: '3m',
      summary: 'Weir {{ $labels.instance }} decides by the failure modes of its limits, because Redis does not answer.',
      expression: (time) => `${sumBy(INSTANCE, rate(series(METRICS.fallbackDecisions), time.range('2m')))} > 0`,
    },
    {
      name: 'WeirErrorBudgetFastBurn',
      severity: 'page',
      hold: '2m',
      summary: 'Weir in {{ $labels.job }} uses up the error budget of a month within two days, at the present rate of failures.',
      expression: burns(FAST_BURN, ['5m', '1h']),
    },
    {
      name: 'WeirErrorBudgetSlowBurn',
      severity: 'ticket',
      hold: '15m',
      summary: 'Weir in {{ $labels.job }} uses up the error budget of a month within five days, at the present rate of failures.',
      expression: burns(SLOW_BURN, ['30m', '6h']),
    },
    {
      name: 'WeirSlowDecisions',
      severity: 'page',
      hold: '5m',
      summary: `The p99 of decisions of Weir {{ $labels.instance }} over {{ $labels.via }} is near the ${envoyTimeoutMs} ms after which Envoy decides without Weir.`,
      expression: (time) =>
        `${quantile(0.99, buckets(METRICS.decisionTime), { by: `${INSTANCE}, via`, range: time.range('5m') })} > ${(envoyTimeoutMs * TIMEOUT_SHARE) / 1_000}`,
    },
  ];
}

function storeAlerts(): readonly Alert[] {
  return [
    {
      name: 'WeirRedisEvicts',
      severity: 'ticket',
      hold: '0s',
      summary: 'The {{ $labels.store }} of Weir {{ $labels.job }} evicts keys, so limits that were used up admit again.',
      expression: (time) => `${maxBy(`${INSTALLATION}, store`, increase(series(METRICS.redisEvictedKeys), time.range('10m')))} > 0`,
    },
    {
      name: 'WeirHitsLost',
      severity: 'ticket',
      hold: '0s',
      summary: 'Weir {{ $labels.instance }} admitted hits that Redis may never count, or charged hits for denied requests.',
      expression: (time) =>
        `${[METRICS.chargeBackLostHits, METRICS.hitsLost].map((row) => sumBy(INSTANCE, increase(series(row), time.range('10m')))).join(' + ')} > 0`,
    },
  ];
}

function configurationAlerts(): readonly Alert[] {
  return [
    {
      name: 'WeirConfigurationRefused',
      severity: 'ticket',
      hold: '1m',
      summary: 'Weir {{ $labels.instance }} rejected the last configuration and keeps the last good one.',
      expression: () => `${maxBy(INSTANCE, series(CONFIG_METRICS.configLastLoadGood))} == 0`,
    },
    {
      name: 'WeirControlDataStale',
      severity: 'ticket',
      hold: '1m',
      summary: 'Weir {{ $labels.instance }} does not see changes of blocks, passes, overrides and plans.',
      expression: (time) => `${maxBy(INSTANCE, series(CONTROL_METRICS.lag))} > ${time.seconds('30s')}`,
    },
    {
      name: 'WeirControlDataLost',
      severity: 'ticket',
      hold: '1m',
      summary: 'Redis lost blocks, passes, overrides, plans or tenants; Weir {{ $labels.instance }} keeps those that it knew.',
      expression: () => `${maxBy(INSTANCE, series(CONTROL_METRICS.lost))} > 0 or ${maxBy(INSTANCE, series(CONTROL_METRICS.missing))} > 0`,
    },
    {
      name: 'WeirControlDataUnreadable',
      severity: 'ticket',
      hold: '1m',
      summary: 'Weir {{ $labels.instance }} cannot read a record of control data, which has no effect.',
      expression: () => `${maxBy(INSTANCE, series(CONTROL_METRICS.unreadable))} > 0`,
    },
    {
      name: 'WeirRolloutTakenBack',
      severity: 'ticket',
      hold: '0s',
      summary: 'Weir of {{ $labels.job }} took a rollout back, because its candidate denied more than its guard allows.',
      expression: (time) => `${sumBy(INSTALLATION, increase(series(GUARD_METRICS.guardStops), time.range('1h')))} > 0`,
    },
    {
      name: 'WeirXdsGone',
      severity: 'ticket',
      hold: '5m',
      summary: 'Weir {{ $labels.instance }} has no connection to its management server and keeps the last configuration.',
      expression: () => `${maxBy(INSTANCE, series(XDS_METRICS.connected))} == 0`,
    },
  ];
}

function callerAlerts(): readonly Alert[] {
  return [
    {
      name: 'WeirUnmatchedDescriptors',
      severity: 'ticket',
      hold: '10m',
      summary: 'Callers send descriptors of domain {{ $labels.domain }} that no rule matches.',
      expression: (time) => {
        const unmatched = sumBy(`${INSTALLATION}, domain`, rate(series(DOMAIN_METRICS.unmatched), time.range('10m')));
        return `${unmatched} > on (${INSTALLATION}) group_left () (${UNMATCHED_SHARE} * ${decisions(time.range('10m'))} > 0)`;
      },
    },
    {
      name: 'WeirTopKeyDenied',
      severity: 'info',
      hold: '1m',
      summary: 'Denials of {{ $labels.key }} under {{ $labels.rule }} in domain {{ $labels.domain }} rose steeply.',
      expression: (time) => {
        const denied = (offset = '') =>
          sumBy(`${INSTALLATION}, domain, rule, key`, `${series(TOP_KEY_METRIC, { question: 'denied' })}${offset}`);
        const before = denied(` offset ${time.range('10m')}`);
        const all = sumBy(INSTALLATION, increase(series(RULE_METRICS.totalHits), time.range('10m')));
        return [
          `${denied()} > ${DENIALS_MIN}`,
          `${denied()} > ${DENIALS_FACTOR} * (${before} or ${denied()} * 0)`,
          `${denied()} > on (${INSTALLATION}) group_left () ${DENIED_SHARE} * ${all}`,
        ].join(' and ');
      },
    },
    {
      name: 'WeirLimitNearlyUsed',
      severity: 'ticket',
      hold: '10m',
      summary: 'Callers use over 90 % of the limit of {{ $labels.key1 }} {{ $labels.key2 }} in domain {{ $labels.domain }}.',
      expression: (time) => `${usedInBand(WINDOW_BANDS[0], { by: `${INSTALLATION}, ${RULE}`, time })} > ${USED_SHARE}`,
    },
  ];
}

function partAlerts(): readonly Alert[] {
  return [
    {
      name: 'WeirCertificateEnds',
      severity: 'ticket',
      hold: '10m',
      summary: `A certificate of Weir {{ $labels.instance }} {{ $labels.setting }} ends within ${CERTIFICATE_DAYS} days.`,
      expression: () => {
        // 0 means that the gRPC port has no TLS.
        const expiry = `(${series(METRICS.grpcCertificateExpiry)} > 0 or ${series(CERTIFICATE_METRIC)})`;
        return `${minBy(`${INSTANCE}, setting`, expiry)} - time() < ${CERTIFICATE_DAYS * DAY_SECONDS}`;
      },
    },
    {
      name: 'WeirSeriesDropped',
      severity: 'ticket',
      hold: '10m',
      summary: 'Weir {{ $labels.instance }} has more rules than METRIC_SERIES_MAX, so some have no series of their own.',
      expression: (time) => {
        const other = sumBy(INSTANCE, rate(series(RULE_METRICS.totalHits, { domain: OTHER, key1: OTHER }), time.range('10m')));
        return `${other} > 0 or ${maxBy(INSTANCE, series(LIMIT_METRICS.dropped))} > 0`;
      },
    },
    {
      name: 'WeirDecisionLogLost',
      severity: 'ticket',
      hold: '0s',
      summary: 'Weir {{ $labels.instance }} lost lines of its decision log: {{ $labels.reason }}.',
      expression: (time) => `${sumBy(`${INSTANCE}, reason`, increase(series(DECISION_LOG_METRICS.logLost), time.range('10m')))} > 0`,
    },
    {
      name: 'WeirEventsUndelivered',
      severity: 'ticket',
      hold: '1m',
      summary: 'Weir of {{ $labels.job }} cannot deliver its events: the oldest waits for over 5 minutes.',
      expression: (time) => `${maxBy(INSTALLATION, series(EVENT_METRICS.eventsOldest))} > ${time.seconds('5m')}`,
    },
  ];
}

/** Over two windows: the long one shows that it matters, the short one that it still lasts. */
function burns(factor: number, windows: readonly [Duration, Duration]): Alert['expression'] {
  const threshold = Number((factor * ERROR_BUDGET).toFixed(6));
  return (time) => windows.map((window) => `${badShare(time.range(window))} > ${threshold}`).join(' and ');
}

/** The part of decisions that are errors, or were made without Redis. */
function badShare(range: string): string {
  const all = decisions(range);
  const errors = `(${sumBy(INSTALLATION, rate(series(METRICS.shouldRateLimitError), range))} or ${all} * 0)`;
  const fallback = sumBy(INSTALLATION, rate(series(METRICS.fallbackDecisions), range));
  // Nothing is decided: x / 0 would be infinite.
  return `(${errors} + ${fallback}) / (${all} > 0)`;
}

/** Decisions per second, whatever way they came. */
function decisions(range: string): string {
  return sumBy(INSTALLATION, rate(counts(METRICS.decisionTime), range));
}
