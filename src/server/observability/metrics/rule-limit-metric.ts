/** The metrics of configured limits: how many requests each allows in which window. */

import type { Registry } from 'prom-client';
import { UNIT_US } from '../../../domain/descriptor/unit';
import { OneAtATime } from '../../../lib/one-at-a-time';
import { Pace, runInSlices, SHORT_SLICE_MS } from '../../../lib/slices';
import { ruleWith } from '../../../domain/rule/choose-plan';
import { windowName, type Limit } from '../../../domain/rule/limit';
import type { Domain, RuleSet } from '../../../domain/rule/rule-set';
import { rulesOf, type PlacedRule } from '../../../domain/rule/tree';
import type { CountColumn, Labels } from './count-table';
import type { MetricRow } from './metrics';
import { registerColumn, registerRead } from './metrics-snapshot';
import { domainLabel, ruleLabels, RULE_LABELS } from './rule-labels';
import { statisticName } from './statistic-name';

const LABELS = [...RULE_LABELS, 'plan', 'limit', 'algorithm', 'unit', 'window', 'buckets'] as const;

export const LIMIT_METRICS = {
  limit: {
    type: 'gauge',
    name: 'weir_rule_limit',
    labels: LABELS,
    help: 'Requests that a configured limit allows in its window.',
  },
  window: {
    type: 'gauge',
    name: 'weir_rule_limit_window_seconds',
    labels: LABELS,
    help: 'Length of the window of a configured limit (a month counts as 30 days); for in_flight, the longest hold.',
  },
  dropped: {
    type: 'gauge',
    name: 'weir_rule_limits_dropped',
    labels: [],
    help: 'Configured limits without series, because METRIC_SERIES_MAX others have them.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

const TABLE = 'limits';

/** Rules between two checks of the clock. */
const RULES_AT_ONCE = 32;

export interface RuleLimitMetricOptions {
  readonly registry: Registry;
  readonly rules: { readonly ruleSet: RuleSet | undefined; onLoad(listener: () => void): void };
  /** `METRIC_SERIES_MAX`. */
  readonly seriesMax: number;
  /** `SANITIZE_DESCRIPTOR_METRIC_DOTS`. */
  readonly sanitizeDots: boolean;
}

interface Built {
  readonly limits: CountColumn;
  readonly windows: CountColumn;
  readonly dropped: number;
}

const NOTHING: Built = { limits: columnOf([], []), windows: columnOf([], []), dropped: 0 };

export class RuleLimitMetric {
  private built = NOTHING;
  private readonly building = new OneAtATime(async () => {
    const { ruleSet } = this.options.rules;
    // Runs in slices, because it happens while calls are decided.
    this.built = ruleSet === undefined ? NOTHING : await runInSlices(build(ruleSet, this.options), new Pace(SHORT_SLICE_MS));
  });

  /** Registers the metrics, and builds them again after each reload; in the process that loads the configuration. */
  constructor(private readonly options: RuleLimitMetricOptions) {
    const { registry, rules } = options;
    registerColumn(registry, { ...LIMIT_METRICS.limit, read: () => this.built.limits });
    registerColumn(registry, { ...LIMIT_METRICS.window, read: () => this.built.windows });
    registerRead(registry, { ...LIMIT_METRICS.dropped, values: () => [{ labels: {}, value: this.built.dropped }] });
    rules.onLoad(() => void this.refresh());
    void this.refresh();
  }

  /** Builds the series of the rules in force; a reading shows those built last. */
  refresh(): Promise<void> {
    return this.building.run();
  }
}

function* build(ruleSet: RuleSet, options: Pick<RuleLimitMetricOptions, 'seriesMax' | 'sanitizeDots'>): Generator<undefined, Built> {
  const rowByLabels = new Map<string, number>();
  const rows: Labels[] = [];
  const limits: number[] = [];
  const windows: number[] = [];
  let dropped = 0;
  let rules = 0;
  for (const domain of ruleSet.domains.values()) {
    for (const placed of rulesOf(domain.root)) {
      for (const { labels, limit } of limitsOf(placed, { domain, dots: options.sanitizeDots })) {
        const key = JSON.stringify(labels);
        const known = rowByLabels.get(key);
        if (known !== undefined) {
          // Two names may have the same text in metrics. The stricter limit denies first.
          limits[known] = Math.min(limits[known] ?? Infinity, limit.requestsPerUnit);
        } else if (rows.length >= options.seriesMax) {
          dropped += 1;
        } else {
          rowByLabels.set(key, rows.push(labels) - 1);
          limits.push(limit.requestsPerUnit);
          windows.push(limit.windowUs / UNIT_US.second);
        }
      }
      rules += 1;
      if (rules % RULES_AT_ONCE === 0) yield;
    }
  }
  const column = columnOf(rows, limits);
  // Both have the same table, so that the text of its labels is made once.
  return { limits: column, windows: { ...column, counts: Float64Array.from(windows) }, dropped };
}

function columnOf(rows: readonly Labels[], values: readonly number[]): CountColumn {
  return { table: { name: TABLE, rows }, counts: Float64Array.from(values), isGauge: true };
}

const NO_LIMITS: readonly Limit[] = [];

interface LabelledLimit {
  readonly labels: Labels;
  readonly limit: Limit;
}

/** The rule of tenants has the limits of each plan, and those of its pool. */
function* limitsOf(
  { rule, isExact }: PlacedRule,
  { domain, dots }: { readonly domain: Domain; readonly dots: boolean },
): Generator<LabelledLimit> {
  const ofRule = ruleLabels({ domain: domain.name, path: rule.path }, { dots });
  if (rule.tenant === undefined) {
    for (const limit of rule.limits) yield { limit, labels: { ...ofRule, ...limitLabels(limit, { rule, isExact }) } };
    return;
  }
  for (const plan of rule.tenant.plans.values()) {
    const own = { ...ofRule, plan: domainLabel(plan.name) };
    for (const limit of ruleWith(rule, plan).limits) yield { limit, labels: { ...own, ...limitLabels(limit, { rule, isExact }) } };
    for (const limit of plan.pool ?? NO_LIMITS)
      yield { limit, labels: { ...own, ...limitLabels(limit, { rule, isExact }), buckets: 'pool' } };
  }
}

function limitLabels(limit: Limit, placed: PlacedRule): Labels {
  const { algorithm, unit, name } = limit;
  return {
    ...(name !== '' && { limit: statisticName(name, { dots: false }) }),
    algorithm,
    unit,
    window: windowName(limit),
    buckets: hasOneBucket(limit, placed) ? 'one' : 'many',
  };
}

/** Whether all requests under the rule share one bucket, so that the hits of the rule compare with the limit. */
function hasOneBucket(limit: Limit, { rule, isExact }: PlacedRule): boolean {
  const shared = limit === rule.inFlight?.limit ? rule.inFlight.keyEntries : rule.shareThreshold;
  return isExact.every((exact, level) => exact || shared[level] !== undefined);
}
