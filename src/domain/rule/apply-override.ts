/** Replaces the limits of a rule by those of override records, or tries them beside it. A value that no record gives stays as the rule has it. */

import type { LimitValues, Overridden, OverrideSource, SelectedOverride, Selection } from './control-view';
import { haveOwnBuckets, isRateLimit, type Limit, type RateLimit } from './limit';
import { replaceValues, tryValues } from './replace-values';
import type { Stage } from './stage/stage';

/** By the values of a record and a limit, the limit made of both: the same object each time, because a store folds takes whose limits are the same object. */
type Made = WeakMap<LimitValues | Stage, WeakMap<Limit, RateLimit>>;

const replacements: Made = new WeakMap();
const withCandidates: Made = new WeakMap();

/**
 * For each rate limit the first record that names it applies, or, of a rule with one rate limit, the first without a name; likewise
 * for candidates. If two limits would then share a bucket, records apply in their order, and one that makes them share has no effect.
 */
export function overrideLimits(limits: readonly Limit[], selection: Pick<Selection, 'overrides' | 'last'>): Overridden {
  const { last } = selection;
  if (last?.of === limits) return last;
  const overridden = overrideAll(limits, selection.overrides);
  selection.last = overridden;
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
    const candidate = withCandidate && { candidate: tried };
    sources.push(replaced ? { limit: override, ...candidate } : (candidate ?? NO_SOURCE));
    if (replaced) applied.push(override);
    if (withCandidate) applied.push(tried);
    return withCandidate ?? base;
  });
  const hasCandidates = sources.some(({ candidate }) => candidate !== undefined);
  return { of: limits, limits: applied.length === 0 ? limits : changed, applied, sources, hasCandidates };
}

const NO_SOURCE: OverrideSource = {};

/** Undefined: the values make no limit of this algorithm, and the configured one stays. */
function madeOf(limit: RateLimit, { limit: values, stage }: SelectedOverride, known: Made): RateLimit | undefined {
  const by = stage ?? values;
  let ofValues = known.get(by);
  const before = ofValues?.get(limit);
  if (before !== undefined) return before;
  const made = known === replacements ? replaceValues(limit, values) : tryValues(limit, values, stage);
  if (made === undefined) return undefined;
  if (ofValues === undefined) known.set(by, (ofValues = new WeakMap()));
  ofValues.set(limit, made);
  return made;
}
