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
}

const TARGET = 'job="weir", instance="a"';
const INSTANCE = { job: 'weir', instance: 'a' };
const CALLS = `ratelimit_service_total_requests{grpc_method="ShouldRateLimit", ${TARGET}}`;
const SLOW = (le: string) => `ratelimit_service_response_time_seconds_bucket{grpc_method="ShouldRateLimit", le="${le}", ${TARGET}}`;
const KEY = { job: 'weir', domain: 'edge', rule: 'tenant', key: 'tenant=acme' };
const RULE_LABELS = 'domain="edge", key1="path_/pay"';
const LIMIT_LABELS = `${RULE_LABELS}, algorithm="token_bucket", unit="second", window="1", buckets="one", ${TARGET}`;

export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  WeirNotScraped: {
    // `_` is a scrape that failed, and `stale` the first of them.
    input: { [`weir_build_info{version="1", store="redis", ${TARGET}}`]: '1x10 stale _x15 1x30' },
    quietAt: 10,
    firesAt: 18,
    resolvedAt: 40,
    labels: {},
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
    labels: INSTANCE,
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
  WeirXdsGone: {
    input: { [`weir_xds_connected{${TARGET}}`]: '1x10 0x10 1x10' },
    quietAt: 13,
    firesAt: 18,
    resolvedAt: 25,
    labels: INSTANCE,
  },
  WeirHitsLost: {
    input: { [`weir_charge_back_lost_hits_total{${TARGET}}`]: '0x10 7x30', [`weir_split_hits_lost_total{${TARGET}}`]: '0x40' },
    quietAt: 10,
    firesAt: 15,
    resolvedAt: 30,
    labels: INSTANCE,
  },
  WeirUnmatchedDescriptors: {
    input: { [CALLS]: '0+1000x80', [`weir_unmatched_descriptors_total{domain="edge", ${TARGET}}`]: '0x10 50+50x30 1550x40' },
    quietAt: 10,
    firesAt: 35,
    resolvedAt: 60,
    labels: { job: 'weir', domain: 'edge' },
  },
  WeirTopKeyDenied: {
    input: { [`weir_top_key_hits{question="denied", domain="edge", rule="tenant", key="tenant=acme", ${TARGET}}`]: '100x15 900x40' },
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
};
