/** Counters for each rule: who is hit, who is near its limit, who is over it. */

import type { Registry } from 'prom-client';
import { toText } from '../descriptor/byte-string';
import type { ByteString } from '../descriptor/descriptor';
import type { MetricRow } from './metrics';
import { registerRead } from './reading';
import { STAT_CHARS_MAX, statText } from './stat-text';

/** Levels of a rule that have a label of their own; deeper ones share the last. */
const KEY_LABELS = ['key1', 'key2', 'key3', 'key4', 'key5', 'key6', 'key7', 'key8'] as const;

type Label = 'domain' | (typeof KEY_LABELS)[number];

const LABELS: readonly Label[] = ['domain', ...KEY_LABELS];

export const RULE_METRICS = {
  totalHits: row('total_hits', 'Hits of every request that the rule matched.'),
  overLimit: row('over_limit', 'Hits that did not fit the rule.'),
  overLimitWithLocalCache: row('over_limit_with_local_cache', 'Of these, hits that were denied by the deny cache, without asking Redis.'),
  nearLimit: row('near_limit', 'Hits that fitted, past the near limit ratio.'),
  withinLimit: row('within_limit', 'Hits that fitted, of requests that were allowed.'),
  shadowMode: row('shadow_mode', 'Hits that did not fit a rule in shadow mode.'),
  totalNegativeHits: row('total_negative_hits', 'Hits that refunds were to give back, of requests that were allowed and of usage reports, whether or not that many had been taken.'),
  overdrawn: ownRow('weir_overdraft_hits_total', 'Hits that usage reports charged below zero.'),
  overdraftCut: ownRow('weir_overdraft_cut_hits_total', 'Hits of usage reports that were not charged, since the overdraft (`overdraft_max`) was used up.'),
} as const;

/** A metric that envoyproxy/ratelimit does not have. */
function ownRow(name: string, help: string): MetricRow {
  return { type: 'counter', name, labels: LABELS, help };
}

function row(name: string, help: string): MetricRow & { readonly statsd: string } {
  const statsd = `ratelimit.service.rate_limit.${LABELS.map((label) => `{${label}}`).join('.')}.${name}`;
  return { type: 'counter', name: `ratelimit_service_rate_limit_${name}`, labels: LABELS, help, statsd };
}

/** Domains without rules that are counted by name: anyone may send any. */
const UNKNOWN_DOMAINS_MAX = 100;

/** The label of what has no series of its own. */
const OTHER = 'other';

/** What no rule decides. */
export const DOMAIN_METRICS = {
  notFound: {
    type: 'counter',
    name: 'ratelimit_service_rate_limit_domain_not_found',
    labels: ['domain'],
    statsd: 'ratelimit.service.rate_limit.{domain}.domain_not_found',
    help: `Requests for a domain that has no rules; after ${UNKNOWN_DOMAINS_MAX} such domains further ones are \`${OTHER}\`.`,
  },
  unmatched: {
    type: 'counter',
    name: 'weir_unmatched_descriptors_total',
    labels: ['domain'],
    help: 'Descriptors of requests that matched no rule of their domain, or only one without a limit, so that nothing limits them; `weir explain` says why.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

type Counts = Record<keyof typeof RULE_METRICS, number>;

interface Series {
  readonly labels: Partial<Record<Label, string>>;
  readonly counts: Counts;
}

/** What became of one descriptor that a limit applies to. */
export interface DescriptorRecord {
  readonly domain: ByteString;
  /** `Rule.path` or what takes its place, the same list each time if it can be; of an override without a rule, its keys alone, since anyone may send any value. */
  readonly path: readonly string[];
  /** Whether the path has something that a caller sent, and not the configuration alone. */
  readonly sent: boolean;
  /** As asked for; a check counts nothing. */
  readonly hits: number;
  readonly fits: boolean;
  readonly remaining: number;
  readonly capacity: number;
  readonly shadow: boolean;
  /** Decided without asking the store again. */
  readonly cached: boolean;
  /** The request was answered OVER_LIMIT, so it charged nothing but usage reports. */
  readonly denied: boolean;
  /** The hits are a usage report: charged whatever the answer. */
  readonly isReport: boolean;
  /** Hits that the bucket is below zero. */
  readonly debt: number;
  /** Hits of a usage report that were not charged. */
  readonly cut: number;
}

export interface RuleMetricsOptions {
  readonly registry: Registry;
  /**
   * Distinct paths that are counted apart, half of them at most with something that callers sent, or one caller could
   * take all; further ones are counted as domain and key `other`.
   */
  readonly seriesMax: number;
  /** Share of the capacity from which on hits are near the limit. */
  readonly nearLimitRatio: number;
  /** `SANITIZE_DESCRIPTOR_METRIC_DOTS`: keys and values have no dots. */
  readonly sanitizeDots: boolean;
}

export class RuleMetrics {
  // The counters are filled when they are read: a request only adds to plain numbers.
  private readonly seriesByPath = new WeakMap<readonly string[], Series>();
  private readonly seriesByLabels = new Map<string, Series>();
  private readonly other: Series = { labels: { domain: OTHER, key1: OTHER }, counts: noCounts() };
  /** By label. */
  private readonly unknownDomains = new Map<string, number>();
  /** By domain, as requests name it: they come too often to make a label each time. */
  private readonly unmatched = new Map<ByteString, number>();
  private sentSeries = 0;
  /** In single precision, as the reference multiplies: 0.29 of 100 is 29 there, and 28 in double. */
  private readonly nearLimitRatio: number;

  constructor(private readonly options: RuleMetricsOptions) {
    const { registry } = options;
    this.nearLimitRatio = Math.fround(options.nearLimitRatio);
    for (const [property, { name, help }] of Object.entries(RULE_METRICS)) {
      const count = property as keyof Counts;
      const values = () => [...this.allSeries()].flatMap(({ labels, counts }) => (counts[count] > 0 ? [{ labels, value: counts[count] }] : []));
      registerRead(registry, { name, help, type: 'counter', values });
    }
    const { notFound, unmatched } = DOMAIN_METRICS;
    registerRead(registry, { name: notFound.name, help: notFound.help, type: 'counter', values: () => byDomain(this.unknownDomains) });
    registerRead(registry, { name: unmatched.name, help: unmatched.help, type: 'counter', values: () => byDomain(this.unmatchedByLabel()) });
  }

  recordUnknownDomain(domain: ByteString): void {
    const text = domainText(domain);
    const known = this.unknownDomains.has(text) || this.unknownDomains.size < UNKNOWN_DOMAINS_MAX ? text : OTHER;
    this.unknownDomains.set(known, (this.unknownDomains.get(known) ?? 0) + 1);
  }

  /** So many descriptors of a request for a domain that has rules. */
  recordUnmatched(domain: ByteString, descriptors: number): void {
    const count = this.unmatched.get(domain);
    if (count !== undefined) {
      this.unmatched.set(domain, count + descriptors);
      return;
    }
    // A copy: a domain cut from a long message would keep all of that.
    const known = this.unmatched.size < this.options.seriesMax ? Buffer.from(domain, 'latin1').toString('latin1') : OTHER;
    this.unmatched.set(known, (this.unmatched.get(known) ?? 0) + descriptors);
  }

  /** Counts one descriptor of a decided request. */
  record(descriptor: DescriptorRecord): void {
    const { hits, fits, cached, shadow, isReport, debt, cut } = descriptor;
    if (hits === 0) return;
    const { counts } = this.seriesOf(descriptor);
    const denied = descriptor.denied && !isReport;
    if (hits < 0) {
      if (!denied) counts.totalNegativeHits -= hits;
      return;
    }
    counts.totalHits += hits;
    if (isReport) {
      counts.overdrawn += Math.min(hits - cut, debt);
      counts.overdraftCut += cut;
    }
    if (!fits) {
      counts.overLimit += hits;
      if (cached) counts.overLimitWithLocalCache += hits;
      if (shadow) counts.shadowMode += hits;
    } else if (!denied) {
      counts.withinLimit += hits;
      counts.nearLimit += this.nearHits(descriptor);
    }
  }

  /** Those of the hits that lie past the near limit. */
  private nearHits({ hits, remaining, capacity }: DescriptorRecord): number {
    const near = Math.floor(Math.fround(Math.fround(capacity) * this.nearLimitRatio));
    const after = capacity - remaining;
    const before = after - hits;
    return before >= near ? hits : Math.max(0, after - near);
  }

  private seriesOf({ domain, path, sent }: DescriptorRecord): Series {
    const known = this.seriesByPath.get(path);
    if (known !== undefined) return known;
    const series = this.seriesWith(this.labelsOf(domain, path), { sent });
    this.seriesByPath.set(path, series);
    return series;
  }

  /** A rule that a reload brought back goes on where it was. */
  private seriesWith(labels: Series['labels'], { sent }: Pick<DescriptorRecord, 'sent'>): Series {
    const key = JSON.stringify(labels);
    const known = this.seriesByLabels.get(key);
    if (known !== undefined) return known;
    const { seriesMax } = this.options;
    if (this.seriesByLabels.size >= seriesMax || (sent && this.sentSeries >= seriesMax / 2)) return this.other;
    if (sent) this.sentSeries += 1;
    // A copy: a label cut from a long value would keep all of that.
    const series = { labels: JSON.parse(key) as Series['labels'], counts: noCounts() };
    this.seriesByLabels.set(key, series);
    return series;
  }

  private *allSeries(): Iterable<Series> {
    yield* this.seriesByLabels.values();
    yield this.other;
  }

  /** Two domains may be written alike. */
  private unmatchedByLabel(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const [domain, value] of this.unmatched) {
      const label = domainText(domain);
      counts.set(label, (counts.get(label) ?? 0) + value);
    }
    return counts;
  }

  private labelsOf(domain: ByteString, path: readonly string[]): Series['labels'] {
    const labels: Partial<Record<Label, string>> = { domain: domainText(domain) };
    KEY_LABELS.forEach((label, level) => {
      if (level >= path.length) return;
      const isLast = level === KEY_LABELS.length - 1;
      const parts = isLast ? path.slice(level) : path.slice(level, level + 1);
      labels[label] = parts.map((part) => statText(part, { dots: this.options.sanitizeDots })).join('.').slice(0, STAT_CHARS_MAX);
    });
    return labels;
  }
}

function byDomain(counts: ReadonlyMap<string, number>): { readonly labels: { readonly domain: string }; readonly value: number }[] {
  return Array.from(counts, ([domain, value]) => ({ labels: { domain }, value }));
}

function domainText(domain: ByteString): string {
  return statText(toText(domain.slice(0, STAT_CHARS_MAX)), { dots: false });
}

function noCounts(): Counts {
  return { totalHits: 0, overLimit: 0, overLimitWithLocalCache: 0, nearLimit: 0, withinLimit: 0, shadowMode: 0, totalNegativeHits: 0, overdrawn: 0, overdraftCut: 0 };
}
