/** For each alert: series with which it fires, and after which it resolves, as promtool reads them. */

/** Values one minute apart: `0x10` is ten times 0, `0+5x10` grows by 5. */
type Values = string;

export interface AlertCase {
  /** By series. */
  readonly input: Readonly<Record<string, Values>>;
  /** Minutes after the start. */
  readonly quietAt: number;
  readonly firesAt: number;
  readonly resolvedAt: number;
  /** The labels of the alert, without its severity. */
  readonly labels: Readonly<Record<string, string>>;
  /** What the expression is then, if the summary says it. */
  readonly value?: number;
}

/** Series with which an alert must not fire. */
export interface QuietCase {
  readonly alert: string;
  readonly why: string;
  readonly input: AlertCase['input'];
  /** Minutes after the start. */
  readonly quietAt: readonly number[];
}

const TARGET = 'job="weir", instance="a"';
const INSTANCE = { job: 'weir', instance: 'a' };
const CALLS = `weir_decision_seconds_count{via="grpc", ${TARGET}}`;
const CHECKS = `weir_decision_seconds_count{via="check", ${TARGET}}`;
const JSON_CALLS = `weir_decision_seconds_count{via="json", ${TARGET}}`;
const SLOW = (le: string) => `weir_decision_seconds_bucket{via="json", le="${le}", ${TARGET}}`;
const BUILD = (instance: string, more = '') => `weir_build_info{version="1", store="redis", job="weir", instance="${instance}"${more}}`;
const KEY = { job: 'weir', domain: 'edge', rule: 'tenant', key: 'tenant=acme' };
const RULE_LABELS = 'domain="edge", key1="path_/pay"';
const TOTAL_HITS = `ratelimit_service_rate_limit_total_hits{${RULE_LABELS}, ${TARGET}}`;
const LIMIT_LABELS = `${RULE_LABELS}, algorithm="token_bucket", unit="second", window="1", buckets="one", ${TARGET}`;

export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  WeirNotScraped: {
    // `_` is a scrape that failed, and `stale` the first of them.
    input: { [`weir_build_info{version="1", store="redis", ${TARGET}}`]: '1x10 stale _x15 1x30' },
    quietAt: 10,
    firesAt: 18,
    resolvedAt: 40,
    labels: { job: 'weir' },
  },
  WeirInstanceGone: {
    input: {
      [`up{${TARGET}}`]: '1x10 0x15 1x20',
      [BUILD('a')]: '1x10 stale _x15 1x20',
      [BUILD('b')]: '1x60',
      'up{job="weir", instance="b"}': '1x60',
      // Another program.
      'up{job="other", instance="c"}': '0x60',
    },
    quietAt: 10,
    firesAt: 18,
    resolvedAt: 35,
    labels: INSTANCE,
  },
  WeirFewInstances: {
    input: { [BUILD('a')]: '1x90', [BUILD('b')]: '1x20 stale _x20 1x45' },
    quietAt: 20,
    firesAt: 38,
    resolvedAt: 60,
    labels: { job: 'weir' },
    value: 1,
  },
  WeirRestarting: {
    input: { [`weir_start_time_seconds{${TARGET}}`]: '100x10 200 300 400 400x120' },
    quietAt: 12,
    firesAt: 15,
    resolvedAt: 100,
    labels: INSTANCE,
  },
  WeirRunsLate: {
    input: { [`nodejs_eventloop_lag_p99_seconds{${TARGET}}`]: '0.012x10 0.08x20 0.012x10' },
    quietAt: 18,
    firesAt: 25,
    resolvedAt: 35,
    labels: INSTANCE,
  },
  // The heap is collected every second minute: until minute 20 to 40 %, then to 90 %.
  WeirMemoryNearLimit: {
    input: {
      [`weir_heap_limit_bytes{${TARGET}}`]: '1000x80',
      [`nodejs_heap_size_used_bytes{${TARGET}}`]: `${'400 950 '.repeat(10)}${'900 950 '.repeat(15)}${'400 950 '.repeat(10)}`.trim(),
    },
    quietAt: 29,
    firesAt: 40,
    resolvedAt: 60,
    labels: INSTANCE,
  },
  WeirFailingOpen: {
    input: { [`weir_fallback_hits_total{failure_mode="open", ${TARGET}}`]: '0x10 6+6x10 66x20' },
    quietAt: 10,
    firesAt: 18,
    resolvedAt: 30,
    labels: INSTANCE,
  },
  WeirDecidingWithoutRedis: {
    input: { [`weir_fallback_decisions_total{${TARGET}}`]: '0x10 6+6x10 66x20' },
    quietAt: 10,
    firesAt: 18,
    resolvedAt: 30,
    labels: INSTANCE,
  },
  // 2 % of calls fail, more than 14.4 times the budget; then none.
  WeirErrorBudgetFastBurn: {
    input: {
      [CALLS]: '0+1000x200',
      [`weir_fallback_decisions_total{${TARGET}}`]: '0x200',
      [`ratelimit_service_should_rate_limit_error{err_type="redis_error", ${TARGET}}`]: '0x20 20+20x80 1620x100',
    },
    quietAt: 20,
    firesAt: 95,
    resolvedAt: 115,
    labels: { job: 'weir' },
  },
  // 1 % of calls are decided without Redis, more than 6 times the budget, but less than 14.4 times.
  WeirErrorBudgetSlowBurn: {
    input: { [CALLS]: '0+1000x600', [`weir_fallback_decisions_total{${TARGET}}`]: '0x20 10+10x480 4810x100' },
    quietAt: 20,
    firesAt: 495,
    resolvedAt: 540,
    labels: { job: 'weir' },
  },
  WeirSlowDecisions: {
    input: {
      [SLOW('0.005')]: '0+100x20 2000x20 2100+100x20',
      [SLOW('0.01')]: '0+100x20 2000x20 2100+100x20',
      [SLOW('0.025')]: '0+100x60',
      [SLOW('+Inf')]: '0+100x60',
    },
    quietAt: 20,
    firesAt: 35,
    resolvedAt: 55,
    labels: { ...INSTANCE, via: 'json' },
  },
  WeirConfigurationRefused: {
    input: { [`weir_config_last_load_good{${TARGET}}`]: '1x10 0x10 1x10' },
    quietAt: 10,
    firesAt: 15,
    resolvedAt: 25,
    labels: INSTANCE,
  },
  WeirControlDataStale: {
    input: { [`weir_control_lag_seconds{${TARGET}}`]: '0.1x10 0+60x10 0.1x10' },
    quietAt: 10,
    firesAt: 18,
    resolvedAt: 28,
    labels: INSTANCE,
  },
  WeirControlDataLost: {
    input: {
      [`weir_control_lost_records{${TARGET}}`]: '0x10 2x10 0x10',
      [`weir_control_missing_records{${TARGET}}`]: '0x15 3x10 0x10',
    },
    quietAt: 10,
    firesAt: 14,
    resolvedAt: 28,
    labels: INSTANCE,
  },
  WeirControlDataUnreadable: {
    input: { [`weir_control_unreadable_records{${TARGET}}`]: '0x10 1x10 0x10' },
    quietAt: 10,
    firesAt: 14,
    resolvedAt: 25,
    labels: INSTANCE,
  },
  WeirRolloutTakenBack: {
    input: { [`weir_rollout_guard_stops_total{${TARGET}}`]: '0x10 1x80' },
    quietAt: 10,
    firesAt: 14,
    resolvedAt: 80,
    labels: { job: 'weir' },
  },
  WeirXdsGone: {
    input: { [`weir_xds_connected{${TARGET}}`]: '1x10 0x10 1x10' },
    quietAt: 13,
    firesAt: 18,
    resolvedAt: 25,
    labels: INSTANCE,
  },
  WeirRedisEvicts: {
    input: { [`weir_redis_evicted_keys_total{store="redis", ${TARGET}}`]: '0x10 7x30' },
    quietAt: 10,
    firesAt: 15,
    resolvedAt: 30,
    labels: { job: 'weir', store: 'redis' },
  },
  WeirHitsLost: {
    input: { [`weir_charge_back_lost_hits_total{${TARGET}}`]: '0x10 7x30', [`weir_split_hits_lost_total{${TARGET}}`]: '0x40' },
    quietAt: 10,
    firesAt: 15,
    resolvedAt: 30,
    labels: INSTANCE,
  },
  WeirUnmatchedDescriptors: {
    input: { [CHECKS]: '0+1000x80', [`weir_unmatched_descriptors_total{domain="edge", ${TARGET}}`]: '0x10 50+50x30 1550x40' },
    quietAt: 10,
    firesAt: 35,
    resolvedAt: 60,
    labels: { job: 'weir', domain: 'edge' },
  },
  WeirTopKeyDenied: {
    input: {
      [`weir_top_key_hits{question="denied", domain="edge", rule="tenant", key="tenant=acme", ${TARGET}}`]: '100x15 900x40',
      [TOTAL_HITS]: '0+300x60',
    },
    quietAt: 15,
    firesAt: 20,
    resolvedAt: 40,
    labels: KEY,
  },
  WeirLimitNearlyUsed: {
    input: {
      [`weir_rule_limit{${LIMIT_LABELS}}`]: '10x80',
      [`weir_rule_limit_window_seconds{${LIMIT_LABELS}}`]: '1x80',
      [`ratelimit_service_rate_limit_within_limit{${RULE_LABELS}, ${TARGET}}`]: '0+60x10 1200+588x30 18900+60x40',
    },
    quietAt: 10,
    firesAt: 38,
    resolvedAt: 60,
    labels: { job: 'weir', domain: 'edge', key1: 'path_/pay' },
  },
  // promtool's time begins at 0, so the certificate ends 20 days after that; at minute 30 another is in use.
  WeirCertificateEnds: {
    input: {
      [`weir_grpc_certificate_expiry_timestamp_seconds{${TARGET}}`]: '0x50',
      [`weir_certificate_expiry_timestamp_seconds{setting="ADMIN_TLS_CERT", ${TARGET}}`]: '1728000x5 864000x25 1728000x20',
    },
    quietAt: 5,
    firesAt: 25,
    resolvedAt: 40,
    labels: { ...INSTANCE, setting: 'ADMIN_TLS_CERT' },
  },
  WeirSeriesDropped: {
    input: { [`weir_rule_limits_dropped{${TARGET}}`]: '0x10 3x20 0x20' },
    quietAt: 10,
    firesAt: 28,
    resolvedAt: 40,
    labels: INSTANCE,
  },
  WeirDecisionLogLost: {
    input: { [`weir_decision_log_lost_lines_total{reason="full", ${TARGET}}`]: '0x10 7x30' },
    quietAt: 10,
    firesAt: 15,
    resolvedAt: 30,
    labels: { ...INSTANCE, reason: 'full' },
  },
  WeirEventsUndelivered: {
    input: { [`weir_events_oldest_seconds{${TARGET}}`]: '0x10 301x10 0x20' },
    quietAt: 10,
    firesAt: 14,
    resolvedAt: 25,
    labels: { job: 'weir' },
  },
};

const FALLBACK = `weir_fallback_decisions_total{${TARGET}}`;
const UNMATCHED = `weir_unmatched_descriptors_total{domain="edge", ${TARGET}}`;
const HOURLY = `${RULE_LABELS}, algorithm="token_bucket", unit="hour", window="3600", buckets="one", ${TARGET}`;

export const QUIET_CASES: readonly QuietCase[] = [
  {
    alert: 'WeirErrorBudgetFastBurn',
    why: 'one decision of 10,000 without Redis, over HTTP alone',
    input: { [CALLS]: '0x200', [CHECKS]: '0+10000x200', [JSON_CALLS]: '0+10x200', [FALLBACK]: '0x20 1+1x180' },
    quietAt: [30, 90, 150],
  },
  {
    alert: 'WeirErrorBudgetFastBurn',
    why: 'nothing is decided',
    input: { [CALLS]: '0x200', [CHECKS]: '0x200', [FALLBACK]: '5x200' },
    quietAt: [30, 150],
  },
  {
    alert: 'WeirErrorBudgetSlowBurn',
    why: 'one decision of 10,000 without Redis, over HTTP alone',
    input: { [CALLS]: '0x500', [JSON_CALLS]: '0+10000x500', [FALLBACK]: '0x20 1+1x480' },
    quietAt: [100, 490],
  },
  {
    alert: 'WeirUnmatchedDescriptors',
    why: 'a few unmatched descriptors, over HTTP alone',
    input: { [CALLS]: '0x80', [CHECKS]: '0+1000x80', [UNMATCHED]: '0+5x80' },
    quietAt: [30, 79],
  },
  {
    alert: 'WeirUnmatchedDescriptors',
    why: 'another installation in the same Prometheus has all of them',
    input: {
      [`weir_decision_seconds_count{via="grpc", namespace="one", ${TARGET}}`]: '0+1000x80',
      [`weir_decision_seconds_count{via="grpc", namespace="two", ${TARGET}}`]: '0+1000x80',
      [`weir_unmatched_descriptors_total{domain="edge", namespace="one", ${TARGET}}`]: '0+9x80',
      [`weir_unmatched_descriptors_total{domain="edge", namespace="two", ${TARGET}}`]: '0+9x80',
    },
    quietAt: [30, 79],
  },
  {
    alert: 'WeirTopKeyDenied',
    why: 'a key that is denied much, in traffic that is much more',
    input: {
      [`weir_top_key_hits{question="denied", domain="edge", rule="tenant", key="tenant=acme", ${TARGET}}`]: '100x15 900x40',
      [TOTAL_HITS]: '0+60000x60',
    },
    quietAt: [15, 20, 24],
  },
  {
    alert: 'WeirLimitNearlyUsed',
    why: 'a burst under an hourly limit',
    input: {
      [`weir_rule_limit{${HOURLY}}`]: '1000x80',
      [`weir_rule_limit_window_seconds{${HOURLY}}`]: '3600x80',
      [`ratelimit_service_rate_limit_within_limit{${RULE_LABELS}, ${TARGET}}`]: '0x10 800x70',
    },
    quietAt: [12, 15, 40],
  },
  {
    alert: 'WeirFewInstances',
    why: 'an installation that has one instance',
    input: { [BUILD('a')]: '1x90' },
    quietAt: [20, 80],
  },
];
