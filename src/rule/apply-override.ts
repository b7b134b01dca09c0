/** Replaces the limits of a rule by those of override records, or tries them beside it. What a record does not say stays as the rule has it. */

import type { LimitValues, SelectedOverride } from './control-view';
import { isRateLimit, type Limit, type RateLimit } from './limit';
import { haveOwnBuckets } from './own-buckets';
import { replaceValues, tryValues } from './replace-values';

export interface Overridden {
  readonly limits: readonly Limit[];
  /** The records that replaced a limit, or made a candidate. */
  readonly applied: readonly SelectedOverride[];
  /** One for each limit. */
  readonly sources: readonly OverrideSource[];
}

/** The records that changed one limit. */
export interface OverrideSource {
  readonly limit?: SelectedOverride;
  readonly candidate?: SelectedOverride;
}

interface Made {
  readonly of: Limit;
  readonly limit: Limit;
}

/** By the values of a record, the last limit that they made: a store folds takes whose limits are the same object. */
const replacements = new WeakMap<LimitValues, Made>();
const withCandidates = new WeakMap<LimitValues, Made>();

interface LastOverridden extends Overridden {
  readonly of: readonly Limit[];
}

/** By the records: mostly the same ones select, and override the limits of the same rule. */
const lastOf = new WeakMap<readonly SelectedOverride[], LastOverridden>();

/**
 * For each rate limit the first record that names it applies, or, of a rule with one rate limit, the first without a name; likewise
 * for candidates. If two limits would then share a bucket, records apply in their order, and one that makes them share has no effect.
 */
export function overrideLimits(limits: readonly Limit[], overrides: readonly SelectedOverride[]): Overridden {
  const last = lastOf.get(overrides);
  if (last?.of === limits) return last;
  const overridden = { of: limits, ...overrideAll(limits, overrides) };
  lastOf.set(overrides, overridden);
  return overridden;
}

function overrideAll(limits: readonly Limit[], overrides: readonly SelectedOverride[]): Overridden {
  const all = apply(limits, overrides);
  if (all.applied.length === 0 || haveOwnBuckets(all.limits)) return all;
  const kept: SelectedOverride[] = [];
  for (const override of overrides) {
    if (!all.applied.includes(override)) continue;
    kept.push(override);
    if (!haveOwnBuckets(apply(limits, kept).limits)) kept.pop();
  }
  return apply(limits, kept);
}

function apply(limits: readonly Limit[], overrides: readonly SelectedOverride[]): Overridden {
  const isOnly = limits.length === 1 || limits.filter(isRateLimit).length === 1;
  const applied: SelectedOverride[] = [];
  const sources: OverrideSource[] = [];
  const changed = limits.map((limit) => {
    if (!isRateLimit(limit)) {
      sources.push(NO_SOURCE);
      return limit;
    }
    const names = ({ limit: { name } }: SelectedOverride) => (name === undefined ? isOnly : name === limit.name);
    const override = overrides.find((each) => each.candidate !== true && names(each));
    const replaced = override && madeOf(limit, override, replacements);
    const base = replaced ?? limit;
    const tried = overrides.find((each) => each.candidate === true && names(each));
    const withCandidate = tried && madeOf(base, tried, withCandidates);
    const source = { ...(replaced && override && { limit: override }), ...(withCandidate && tried && { candidate: tried }) };
    sources.push(source);
    applied.push(...Object.values(source));
    return withCandidate ?? base;
  });
  return { limits: applied.length === 0 ? limits : changed, applied, sources };
}

const NO_SOURCE: OverrideSource = {};

/** Undefined: the values make no limit of this algorithm, and the configured one stays. */
function madeOf(limit: RateLimit, { limit: values }: SelectedOverride, known: WeakMap<LimitValues, Made>): RateLimit | undefined {
  const last = known.get(values);
  if (last?.of === limit) return last.limit as RateLimit;
  const made = known === replacements ? replaceValues(limit, values) : tryValues(limit, values);
  if (made !== undefined) known.set(values, { of: limit, limit: made });
  return made;
}
