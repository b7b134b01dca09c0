/** Counters for each rule: hits in total, near the limit and over it. */

import type { Registry } from 'prom-client';
import { copyOf } from '../../../domain/descriptor/byte-string';
import type { ByteString } from '../../../domain/descriptor/descriptor';
import type { Refusal } from '../../../domain/descriptor/admission';
import { count, CountTable, type CountRow } from './count-table';
import type { MetricRow } from './metrics';
import { PLAN_METRICS, PlanCounts, ROLLOUT_METRICS, RolloutCounts } from './plan-counts';
import { registerColumn, registerRead } from './metrics-snapshot';
import { domainLabel, ruleLabels, RULE_LABELS, type RuleLabels } from './rule-labels';

export const RULE_METRICS = {
  totalHits: row('total_hits', 'Hits of all requests that matched the rule.'),
  overLimit: row('over_limit', 'Hits that did not fit the limit.'),
  overLimitWithLocalCache: row('over_limit_with_local_cache', 'Hits over the limit that the deny cache denied, without asking Redis.'),
  nearLimit: row('near_limit', 'Admitted hits above NEAR_LIMIT_RATIO of the limit.'),
  withinLimit: row('within_limit', 'Hits that fitted, of allowed requests.'),
  shadowMode: row('shadow_mode', 'Hits that did not fit a limit in shadow mode.'),
  totalNegativeHits: row(
    'total_negative_hits',
    'Hits requested as refunds, of allowed requests and of usage reports, even if fewer had been taken.',
  ),
  overdrawn: ownRow('weir_overdraft_hits_total', 'Hits that usage reports charged below zero.'),
  candidateHits: ownRow('weir_candidate_hits_total', 'Hits that the candidates of the rule judged.'),
  candidateOver: ownRow('weir_candidate_over_limit_hits_total', 'Hits that a candidate of the rule would have denied.'),
  overdraftCut: ownRow('weir_overdraft_cut_hits_total', 'Hits of usage reports not charged, because `overdraft_max` was used up.'),
} as const;

/** A metric that envoyproxy/ratelimit does not have. */
function ownRow(name: string, help: string): MetricRow {
  return { type: 'counter', name, labels: RULE_LABELS, help };
}

function row(name: string, help: string): MetricRow & { readonly statsd: string } {
  const statsd = `ratelimit.service.rate_limit.${RULE_LABELS.map((label) => `{${label}}`).join('.')}.${name}`;
  return { type: 'counter', name: `ratelimit_service_rate_limit_${name}`, labels: RULE_LABELS, help, statsd };
}

/** Unknown domains with a label value of their own; bounded, because anyone may send any name. */
const UNKNOWN_DOMAINS_MAX = 100;

/** The most bytes of labels with request values. Each metric repeats them, so this bounds the length of /metrics. */
const SENT_LABEL_BYTES_MAX = 256 * 1024;

/** The label value of everything without a series of its own. */
export const OTHER = 'other';

/** Metrics of requests that no rule decides. */
export const DOMAIN_METRICS = {
  notFound: {
    type: 'counter',
    name: 'ratelimit_service_rate_limit_domain_not_found',
    labels: ['domain'],
    statsd: 'ratelimit.service.rate_limit.{domain}.domain_not_found',
    help: `Requests for a domain without rules. The first ${UNKNOWN_DOMAINS_MAX} domains have their own label value, further ones count as \`${OTHER}\`.`,
  },
  unmatched: {
    type: 'counter',
    name: 'weir_unmatched_descriptors_total',
    labels: ['domain'],
    help: 'Descriptors that no rule matches; `weir explain` shows why. A rule without a limit and without rules below it says that its descriptor needs none.',
  },
  refused: {
    type: 'counter',
    name: 'weir_refused_requests_total',
    labels: ['domain', 'reason'],
    help: 'Requests that a domain refuses: `missing_entry` (by its `require`), `unmatched` (by its `unmatched: deny`). With SHADOW_MODE, those that it would refuse.',
  },
  ...PLAN_METRICS,
  ...ROLLOUT_METRICS,
} as const satisfies Readonly<Record<string, MetricRow>>;

/** The columns of a rule's counters, in the order of RULE_METRICS. */
const TOTAL_HITS = 0;
const OVER_LIMIT = 1;
const OVER_LIMIT_WITH_LOCAL_CACHE = 2;
const NEAR_LIMIT = 3;
const WITHIN_LIMIT = 4;
const SHADOW_MODE = 5;
const TOTAL_NEGATIVE_HITS = 6;
const OVERDRAWN = 7;
const CANDIDATE_HITS = 8;
const CANDIDATE_OVER = 9;
const OVERDRAFT_CUT = 10;

/** The outcome of one descriptor under its limit. */
export interface DescriptorRecord {
  readonly domain: ByteString;
  /** `Rule.path`, or the path with request values: the same array each time if possible. For an override without a rule only its keys, since anyone may send any value. */
  readonly path: readonly string[];
  /** Whether the path contains text from the request. */
  readonly sent: boolean;
  /** Requested hits; a check counts nothing. */
  readonly hits: number;
  readonly fits: boolean;
  readonly remaining: number;
  readonly capacity: number;
  readonly shadow: boolean;
  /** Decided by the deny cache. */
  readonly cached: boolean;
  /** The request got OVER_LIMIT, so only its usage reports were charged. */
  readonly denied: boolean;
  /** The hits are a usage report, which is charged whatever the answer. */
  readonly isReport: boolean;
  /** Hits below zero in the bucket. */
  readonly debt: number;
  /** Hits of a usage report beyond the overdraft, which were not charged. */
  readonly cut: number;
}

export interface RuleMetricsOptions {
  readonly registry: Registry;
  /**
   * Maximum number of series. At most half of them contain request values, of SENT_LABEL_BYTES_MAX together, because one caller could
   * otherwise use up all; further paths count as domain and key `other`.
   */
  readonly seriesMax: number;
  /** Share of the capacity above which hits are near the limit. */
  readonly nearLimitRatio: number;
  /** `SANITIZE_DESCRIPTOR_METRIC_DOTS`: replaces dots in keys and values. */
  readonly sanitizeDots: boolean;
}

export class RuleMetrics {
  readonly plans: PlanCounts;
  readonly rollouts: RolloutCounts;
  // prom-client's counters are filled at each reading, so that a request only adds to plain numbers.
  private readonly series = new CountTable('rules', Object.keys(RULE_METRICS).length);
  private readonly seriesByPath = new WeakMap<readonly string[], CountRow>();
  private readonly seriesByLabels = new Map<string, CountRow>();
  /** Counts everything without a series of its own. */
  private other: CountRow | undefined;
  /** By label. */
  private readonly unknownDomains = new Map<string, number>();
  private readonly unmatched = new CountTable('unmatched', 1);
  /** By domain as the request names it, because building the label for each request costs too much. */
  private readonly unmatchedByDomain = new Map<ByteString, CountRow>();
  /** By label, because two domains may have the same label. */
  private readonly unmatchedByLabel = new Map<string, CountRow>();
  private readonly refused = new CountTable('refused', 1);
  /** By labels. Only domains of the configuration refuse, so their number is bounded. */
  private readonly refusedByLabels = new Map<string, CountRow>();
  private sentSeries = 0;
  private sentBytes = 0;
  /** In single precision, as in envoyproxy/ratelimit: 0.29 of 100 is 29 there, and 28 in double precision. */
  private readonly nearLimitRatio: number;

  constructor(private readonly options: RuleMetricsOptions) {
    const { registry } = options;
    this.nearLimitRatio = Math.fround(options.nearLimitRatio);
    this.plans = new PlanCounts(registry, options.seriesMax);
    this.rollouts = new RolloutCounts(registry, options.seriesMax);
    for (const [column, { name, help }] of Object.values(RULE_METRICS).entries())
      registerColumn(registry, { name, help, read: () => this.series.read(column) });
    const { notFound, unmatched, refused } = DOMAIN_METRICS;
    registerRead(registry, { name: notFound.name, help: notFound.help, type: 'counter', values: () => byDomain(this.unknownDomains) });
    registerColumn(registry, { name: unmatched.name, help: unmatched.help, read: () => this.unmatched.read(0) });
    registerColumn(registry, { name: refused.name, help: refused.help, read: () => this.refused.read(0) });
  }

  recordUnknownDomain(domain: ByteString): void {
    const text = domainLabel(domain);
    const known = this.unknownDomains.has(text) || this.unknownDomains.size < UNKNOWN_DOMAINS_MAX ? text : OTHER;
    this.unknownDomains.set(known, (this.unknownDomains.get(known) ?? 0) + 1);
  }

  /** Counts descriptors that no rule limits, in a configured domain. */
  recordUnmatched(domain: ByteString, descriptors: number): void {
    let row = this.unmatchedByDomain.get(domain);
    if (row === undefined) {
      // A copy: a slice of a long message would keep the whole message in memory.
      const known = this.unmatchedByDomain.size < this.options.seriesMax ? copyOf(domain) : OTHER;
      row = this.unmatchedRow(domainLabel(known));
      this.unmatchedByDomain.set(known, row);
    }
    count(row, 0, descriptors);
  }

  private unmatchedRow(label: string): CountRow {
    const known = this.unmatchedByLabel.get(label);
    if (known !== undefined) return known;
    const row = this.unmatched.add({ domain: label });
    this.unmatchedByLabel.set(label, row);
    return row;
  }

  /** Counts a request that its domain refuses. */
  recordRefused(domain: ByteString, reason: Refusal['reason']): void {
    const labels = { domain: domainLabel(domain), reason };
    const key = `${reason} ${labels.domain}`;
    let row = this.refusedByLabels.get(key);
    if (row === undefined) {
      row = this.refused.add(labels);
      this.refusedByLabels.set(key, row);
    }
    count(row, 0, 1);
  }

  /** Counts one descriptor of a decided request. */
  record(descriptor: DescriptorRecord): void {
    const { hits, fits, cached, shadow, isReport, debt, cut } = descriptor;
    if (hits === 0) return;
    const row = this.seriesOf(descriptor);
    const denied = descriptor.denied && !isReport;
    if (hits < 0) {
      if (!denied) count(row, TOTAL_NEGATIVE_HITS, -hits);
      return;
    }
    count(row, TOTAL_HITS, hits);
    if (isReport) {
      count(row, OVERDRAWN, Math.min(hits - cut, debt));
      count(row, OVERDRAFT_CUT, cut);
    }
    if (!fits) {
      count(row, OVER_LIMIT, hits);
      if (cached) count(row, OVER_LIMIT_WITH_LOCAL_CACHE, hits);
      if (shadow) count(row, SHADOW_MODE, hits);
    } else if (!denied) {
      count(row, WITHIN_LIMIT, hits);
      count(row, NEAR_LIMIT, this.nearHits(descriptor));
    }
  }

  /** Counts the hits of a descriptor under a candidate. */
  recordCandidate(descriptor: Pick<DescriptorRecord, 'domain' | 'path' | 'sent' | 'hits' | 'fits'>): void {
    const { hits, fits } = descriptor;
    if (hits <= 0) return;
    const row = this.seriesOf(descriptor);
    count(row, CANDIDATE_HITS, hits);
    if (!fits) count(row, CANDIDATE_OVER, hits);
  }

  /** The admitted hits above the near limit. */
  private nearHits({ hits, remaining, capacity }: DescriptorRecord): number {
    const near = Math.floor(Math.fround(Math.fround(capacity) * this.nearLimitRatio));
    const after = capacity - remaining;
    const before = after - hits;
    return before >= near ? hits : Math.max(0, after - near);
  }

  private seriesOf({ domain, path, sent }: Pick<DescriptorRecord, 'domain' | 'path' | 'sent'>): CountRow {
    const known = this.seriesByPath.get(path);
    if (known !== undefined) return known;
    const series = this.seriesWith(ruleLabels({ domain, path }, { dots: this.options.sanitizeDots }), { sent });
    this.seriesByPath.set(path, series);
    return series;
  }

  /** A rule that disappears and returns with a reload continues its series. */
  private seriesWith(labels: RuleLabels, { sent }: Pick<DescriptorRecord, 'sent'>): CountRow {
    const key = JSON.stringify(labels);
    const known = this.seriesByLabels.get(key);
    if (known !== undefined) return known;
    const { seriesMax } = this.options;
    const bytes = sent ? Buffer.byteLength(key) : 0;
    const isFull = sent && (this.sentSeries >= seriesMax / 2 || this.sentBytes + bytes > SENT_LABEL_BYTES_MAX);
    if (isFull || this.seriesByLabels.size >= seriesMax) return (this.other ??= this.series.add({ domain: OTHER, key1: OTHER }));
    if (sent) this.sentSeries += 1;
    this.sentBytes += bytes;
    // A copy: a slice of a long value would keep the whole value in memory.
    const series = this.series.add(JSON.parse(key) as RuleLabels);
    this.seriesByLabels.set(key, series);
    return series;
  }
}

function byDomain(counts: ReadonlyMap<string, number>): { readonly labels: { readonly domain: string }; readonly value: number }[] {
  return Array.from(counts, ([domain, value]) => ({ labels: { domain }, value }));
}
