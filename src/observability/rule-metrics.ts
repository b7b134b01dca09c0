/** Counters for each rule: who is hit, who is near its limit, who is over it. */

import type { Registry } from 'prom-client';
import { toText } from '../descriptor/byte-string';
import type { ByteString } from '../descriptor/descriptor';
import { counter, type MetricRow } from './metrics';

/** Levels of a rule that have a label of their own; deeper ones share the last. */
const KEY_LABELS = ['key1', 'key2', 'key3', 'key4', 'key5', 'key6', 'key7', 'key8'] as const;

type Label = 'domain' | (typeof KEY_LABELS)[number];

const LABELS: readonly Label[] = ['domain', ...KEY_LABELS];

/** Characters of a label: a caller that sends its own limits chooses the keys of their series. */
const LABEL_CHARS_MAX = 256;

export const RULE_METRICS = {
  totalHits: row('total_hits', 'Hits of every request that the rule matched.'),
  overLimit: row('over_limit', 'Hits that did not fit the rule.'),
  overLimitWithLocalCache: row('over_limit_with_local_cache', 'Of these, hits that were denied by the deny cache, without asking Redis.'),
  nearLimit: row('near_limit', 'Hits that fitted, past the near limit ratio.'),
  withinLimit: row('within_limit', 'Hits that fitted, of requests that were allowed.'),
  shadowMode: row('shadow_mode', 'Hits that did not fit a rule in shadow mode.'),
} as const;

function row(name: string, help: string): MetricRow & { readonly labels: readonly Label[] } {
  return { type: 'counter', name: `ratelimit_service_rate_limit_${name}`, labels: LABELS, help };
}

type Counts = Record<keyof typeof RULE_METRICS, number>;

interface Series {
  readonly labels: Partial<Record<Label, string>>;
  readonly counts: Counts;
}

/** What became of one descriptor that a limit applies to. */
export interface DescriptorRecord {
  readonly domain: ByteString;
  /** `Rule.path`, the same list each time; of an override without a rule, its keys alone, since anyone may send any value. */
  readonly path: readonly string[];
  /** As asked for; a peek or a refund counts nothing. */
  readonly hits: number;
  readonly fits: boolean;
  readonly remaining: number;
  readonly capacity: number;
  readonly shadow: boolean;
  /** Decided without asking the store again. */
  readonly cached: boolean;
}

export interface RuleMetricsOptions {
  readonly registry: Registry;
  /** Distinct rules that are counted apart; all further ones are counted as domain and key `other`. */
  readonly seriesMax: number;
  /** Share of the capacity from which on hits are near the limit. */
  readonly nearLimitRatio: number;
}

export class RuleMetrics {
  // The counters are filled when they are read: a request only adds to plain numbers.
  private readonly seriesByPath = new WeakMap<readonly string[], Series>();
  private readonly seriesByLabels = new Map<string, Series>();
  private readonly other: Series = { labels: { domain: 'other', key1: 'other' }, counts: noCounts() };

  constructor(private readonly options: RuleMetricsOptions) {
    const { registry } = options;
    for (const [name, metric] of Object.entries(RULE_METRICS)) {
      counter(registry, metric, (made) => {
        made.reset();
        for (const { labels, counts } of this.allSeries()) {
          const value = counts[name as keyof Counts];
          if (value > 0) made.inc(labels, value);
        }
      });
    }
  }

  /** Counts a decided request. `denied`: it was answered OVER_LIMIT, so it charged nothing. */
  record(descriptors: readonly DescriptorRecord[], { denied }: { readonly denied: boolean }): void {
    for (const descriptor of descriptors) {
      if (descriptor.hits <= 0) continue;
      const { counts } = this.seriesOf(descriptor);
      counts.totalHits += descriptor.hits;
      if (!descriptor.fits) {
        counts.overLimit += descriptor.hits;
        if (descriptor.cached) counts.overLimitWithLocalCache += descriptor.hits;
        if (descriptor.shadow) counts.shadowMode += descriptor.hits;
      } else if (!denied) {
        counts.withinLimit += descriptor.hits;
        counts.nearLimit += this.nearHits(descriptor);
      }
    }
  }

  /** Those of the hits that lie past the near limit. */
  private nearHits({ hits, remaining, capacity }: DescriptorRecord): number {
    const near = Math.floor(capacity * this.options.nearLimitRatio);
    const after = capacity - remaining;
    const before = after - hits;
    return before >= near ? hits : Math.max(0, after - near);
  }

  private seriesOf({ domain, path }: DescriptorRecord): Series {
    const known = this.seriesByPath.get(path);
    if (known !== undefined) return known;
    const labels = labelsOf(domain, path);
    const series = this.seriesWith(labels);
    this.seriesByPath.set(path, series);
    return series;
  }

  /** A rule that a reload brought back goes on where it was. */
  private seriesWith(labels: Series['labels']): Series {
    const key = JSON.stringify(labels);
    const known = this.seriesByLabels.get(key);
    if (known !== undefined) return known;
    if (this.seriesByLabels.size >= this.options.seriesMax) return this.other;
    const series = { labels, counts: noCounts() };
    this.seriesByLabels.set(key, series);
    return series;
  }

  private *allSeries(): Iterable<Series> {
    yield* this.seriesByLabels.values();
    yield this.other;
  }
}

function labelsOf(domain: ByteString, path: readonly string[]): Series['labels'] {
  const labels: Partial<Record<Label, string>> = { domain: labelText(toText(domain)) };
  KEY_LABELS.forEach((label, level) => {
    const isLast = level === KEY_LABELS.length - 1;
    const text = isLast ? path.slice(level).join('.') : path[level];
    if (text !== undefined && level < path.length) labels[label] = labelText(text);
  });
  return labels;
}

function labelText(text: string): string {
  return text.slice(0, LABEL_CHARS_MAX);
}

function noCounts(): Counts {
  return { totalHits: 0, overLimit: 0, overLimitWithLocalCache: 0, nearLimit: 0, withinLimit: 0, shadowMode: 0 };
}
