/** The alerts: what each looks at, how long, how urgent it is, and what it says. */

import { CERTIFICATE_METRIC } from '../metrics/certificate-expiry';
import { CONFIG_METRICS, CONTROL_METRICS, METRICS, XDS_METRICS } from '../metrics/metrics';
import { LIMIT_METRICS } from '../metrics/rule-limit-metric';
import { DOMAIN_METRICS, OTHER, RULE_METRICS } from '../metrics/rule-metrics';
import { TOP_KEY_METRIC } from '../metrics/top-key-metric';
import { buckets, increase, maxBy, minBy, quantile, rate, RULE, series, sumBy } from './promql';
import { usedShare } from './rule-queries';
import type { Duration, TimeScale } from './time-scale';

export interface Alert {
  readonly name: string;
  /** `page`: someone acts now. `ticket`: someone looks within days. */
  readonly severity: 'page' | 'ticket';
  /** How long the condition must hold. */
  readonly hold: Duration;
  /** One line, with labels as `{{ $labels.instance }}`. */
  readonly summary: string;
  readonly expression: (time: TimeScale) => string;
}

export interface AlertOptions {
  /** The timeout of Envoy's `rate_limit_service`, in milliseconds. */
  readonly envoyTimeoutMs: number;
}

/** Envoy's default. */
export const DEFAULT_ALERT_OPTIONS: AlertOptions = { envoyTimeoutMs: 20 };

/** 99.9 % of calls are decided with Redis. */
const ERROR_BUDGET = 0.001;

/** A month's budget lasts 2 days. */
const FAST_BURN = 14.4;

/** A month's budget lasts 5 days. */
const SLOW_BURN = 6;

/** The part of Envoy's timeout that p99 may take. */
const TIMEOUT_SHARE = 0.75;

const USED_SHARE = 0.9;

const UNMATCHED_SHARE = 0.01;

const DENIALS_MIN = 600;
const DENIALS_FACTOR = 3;

const CERTIFICATE_DAYS = 14;
const DAY_SECONDS = 86_400;

const DECISIONS = { grpc_method: 'ShouldRateLimit' } as const;

const INSTANCE = 'job, instance';

export function makeAlerts(options: AlertOptions = DEFAULT_ALERT_OPTIONS): readonly Alert[] {
  return [...decisionAlerts(options), ...configurationAlerts(), ...callerAlerts()];
}

function decisionAlerts({ envoyTimeoutMs }: AlertOptions): readonly Alert[] {
  return [
    {
      name: 'WeirNotScraped',
      severity: 'page',
      hold: '5m',
      summary: 'Prometheus scrapes no Weir at all, so no other alert of Weir can fire.',
      expression: () => `absent(${series(METRICS.buildInfo)})`,
    },
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
      summary: `The p99 of decisions of Weir {{ $labels.instance }} is near the ${envoyTimeoutMs} ms after which Envoy decides without Weir.`,
      expression: (time) =>
        `${quantile(0.99, buckets(METRICS.responseTime, DECISIONS), { by: INSTANCE, range: time.range('5m') })} > ${(envoyTimeoutMs * TIMEOUT_SHARE) / 1_000}`,
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
      name: 'WeirHitsLost',
      severity: 'ticket',
      hold: '0s',
      summary: 'Weir {{ $labels.instance }} admitted hits that Redis may never count, or charged hits for denied requests.',
      expression: (time) =>
        `${[METRICS.chargeBackLostHits, METRICS.hitsLost].map((row) => sumBy(INSTANCE, increase(series(row), time.range('10m')))).join(' + ')} > 0`,
    },
    {
      name: 'WeirUnmatchedDescriptors',
      severity: 'ticket',
      hold: '10m',
      summary: 'Envoy sends descriptors of domain {{ $labels.domain }} that no rule limits.',
      expression: (time) => {
        const unmatched = sumBy('job, domain', rate(series(DOMAIN_METRICS.unmatched), time.range('10m')));
        const calls = sumBy('job', rate(series(METRICS.totalRequests, DECISIONS), time.range('10m')));
        return `${unmatched} > on (job) group_left () ${UNMATCHED_SHARE} * ${calls}`;
      },
    },
    {
      name: 'WeirTopKeyDenied',
      severity: 'ticket',
      hold: '1m',
      summary: 'Denials of {{ $labels.key }} under {{ $labels.rule }} in domain {{ $labels.domain }} rose steeply.',
      expression: (time) => {
        const denied = (offset = '') => sumBy('job, domain, rule, key', `${series(TOP_KEY_METRIC, { question: 'denied' })}${offset}`);
        const before = denied(` offset ${time.range('10m')}`);
        return `${denied()} > ${DENIALS_MIN} and ${denied()} > ${DENIALS_FACTOR} * (${before} or ${denied()} * 0)`;
      },
    },
    {
      name: 'WeirLimitNearlyUsed',
      severity: 'ticket',
      hold: '10m',
      summary: 'Callers use over 90 % of the limit of {{ $labels.key1 }} {{ $labels.key2 }} in domain {{ $labels.domain }}.',
      expression: (time) =>
        `${usedShare({ by: `job, ${RULE}`, range: time.range('10m'), windowSecondsMax: time.seconds('10m') })} > ${USED_SHARE}`,
    },
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
  ];
}

/** Over two windows: the long one shows that it matters, the short one that it still lasts. */
function burns(factor: number, windows: readonly [Duration, Duration]): Alert['expression'] {
  const threshold = Number((factor * ERROR_BUDGET).toFixed(6));
  return (time) => windows.map((window) => `${badShare(time.range(window))} > ${threshold}`).join(' and ');
}

/** The part of calls that got an error, or a decision without Redis. */
function badShare(range: string): string {
  const calls = rate(series(METRICS.totalRequests, DECISIONS), range);
  const errors = `(${sumBy('job', rate(series(METRICS.shouldRateLimitError), range))} or ${sumBy('job', calls)} * 0)`;
  const fallback = sumBy('job', rate(series(METRICS.fallbackDecisions), range));
  return `(${errors} + ${fallback}) / ${sumBy('job', calls)}`;
}
