/** The path of a rule in metrics when some of its levels show request values: `detailed_metric`, `value_to_metric`. */

import { toText } from '../../../domain/descriptor/byte-string';
import type { Entry } from '../../../domain/descriptor/descriptor';
import type { Match } from '../../../domain/rule/match';
import { countedEntries } from '../../../domain/descriptor/last-entry';
import type { Rule } from '../../../domain/rule/rule';

/** Almost no rule shows request values; for all others the configured path is used as it is. */
export function showsValues({ detailedMetric, valueToMetric }: Rule): boolean {
  return detailedMetric || valueToMetric.length > 0;
}

export class RulePaths {
  /** An interned request has the same matches each time. */
  private readonly known = new WeakMap<Match, readonly string[]>();

  of(match: Match, { rule, entries }: { readonly rule: Rule; readonly entries: readonly Entry[] }): readonly string[] {
    const known = this.known.get(match);
    if (known !== undefined) return known;
    const path = countedEntries(entries, rule).map((entry, level) => shownLevel(rule, { entry, level }));
    this.known.set(match, path);
    return path;
  }
}

/** A level with `share_threshold` always shows its pattern, because what counts as one is one series. */
function shownLevel(rule: Rule, { entry, level }: { readonly entry: Entry; readonly level: number }): string {
  const isShown = rule.shareThreshold[level] === undefined && (rule.detailedMetric || rule.valueToMetric[level] === true);
  const configured = rule.path[level];
  if (!isShown && configured !== undefined) return configured;
  // Same as envoyproxy/ratelimit: an empty value leaves a trailing underscore only with `detailed_metric` and without `share_threshold`.
  const isBare = entry.value === '' && !(rule.detailedMetric && rule.shareThreshold.length === 0);
  return isBare ? toText(entry.key) : `${toText(entry.key)}_${toText(entry.value)}`;
}
