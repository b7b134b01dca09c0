/** Replaces the limits of a rule by those of override records. What a record does not say stays as the rule has it. */

import type { LimitValues, SelectedOverride } from './control-view';
import { isRateLimit, type Limit, type RateLimit } from './limit';
import { replaceValues } from './replace-values';

export interface Overridden {
  readonly limits: readonly Limit[];
  /** The records that replaced a limit. */
  readonly applied: readonly SelectedOverride[];
}

interface Replacement {
  readonly replaced: Limit;
  readonly limit: Limit;
}

/** The last limit that each record made: a store folds takes whose limits are the same object. */
const made = new WeakMap<LimitValues, Replacement>();

interface LastOverridden extends Overridden {
  readonly of: readonly Limit[];
}

/** By the records: mostly the same ones select, and override the limits of the same rule. */
const lastOf = new WeakMap<readonly SelectedOverride[], LastOverridden>();

export function overrideLimits(limits: readonly Limit[], overrides: readonly SelectedOverride[]): Overridden {
  const last = lastOf.get(overrides);
  if (last?.of === limits) return last;
  const overridden = { of: limits, ...overrideAll(limits, overrides) };
  lastOf.set(overrides, overridden);
  return overridden;
}

/** For each rate limit the first record that names it applies, or, of a rule with one rate limit, the first without a name. */
function overrideAll(limits: readonly Limit[], overrides: readonly SelectedOverride[]): Overridden {
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
  const last = made.get(override.limit);
  if (last?.replaced === limit) return last.limit;
  const replacement = replaceValues(limit, override.limit);
  if (replacement === undefined) return undefined;
  made.set(override.limit, { replaced: limit, limit: replacement });
  return replacement;
}
