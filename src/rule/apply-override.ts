/** Replaces the limits of a rule by those of override records. What a record does not say stays as the rule has it. */

import type { LimitValues, Overridden, SelectedOverride, Selection } from './control-view';
import { isRateLimit, type Limit, type RateLimit } from './limit';
import { replaceValues } from './replace-values';

/** The limit that values make of another: the same object each time, because a store folds takes whose limits are the same object. */
const made = new WeakMap<LimitValues, WeakMap<Limit, Limit>>();

export function overrideLimits(limits: readonly Limit[], selection: Selection): Overridden {
  const { last } = selection;
  if (last?.of === limits) return last;
  const overridden = { of: limits, ...overrideAll(limits, selection.overrides) };
  selection.last = overridden;
  return overridden;
}

/** For each rate limit the first record that names it applies, or, of a rule with one rate limit, the first without a name. */
function overrideAll(limits: readonly Limit[], overrides: readonly SelectedOverride[]): Omit<Overridden, 'of'> {
  const isOnly = limits.length === 1 || limits.filter(isRateLimit).length === 1;
  const applied: SelectedOverride[] = [];
  const replaced = limits.map((limit) => {
    if (!isRateLimit(limit)) return limit;
    const override = overrides.find(({ limit: { name } }) => (name === undefined ? isOnly : name === limit.name));
    const other = override && replacementOf(limit, override);
    if (override === undefined || other === undefined) return limit;
    applied.push(override);
    return other;
  });
  return { limits: applied.length === 0 ? limits : replaced, applied };
}

/** Undefined: the values make no limit of this algorithm, and the configured one stays. */
function replacementOf(limit: RateLimit, override: SelectedOverride): Limit | undefined {
  let ofValues = made.get(override.limit);
  const known = ofValues?.get(limit);
  if (known !== undefined) return known;
  const replacement = replaceValues(limit, override.limit);
  if (replacement === undefined) return undefined;
  if (ofValues === undefined) made.set(override.limit, (ofValues = new WeakMap()));
  ofValues.set(limit, replacement);
  return replacement;
}
