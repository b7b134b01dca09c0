/** The path of a rule in statistics when some of its levels show what was sent: `detailed_metric`, `value_to_metric`. */

import { toText } from '../descriptor/byte-string';
import type { Entry } from '../descriptor/descriptor';
import type { Match } from '../rule/match';
import type { Rule } from '../rule/rule';

/** A rule that shows nothing of a request, as nearly all are, has its own path: no text is made for it. */
export function showsValues({ detailedMetric, valueToMetric }: Rule): boolean {
  return detailedMetric || valueToMetric.length > 0;
}

export class ShownPaths {
  /** A request that recurs has the same matches each time. */
  private readonly known = new WeakMap<Match, readonly string[]>();

  of(match: Match, { rule, entries }: { readonly rule: Rule; readonly entries: readonly Entry[] }): readonly string[] {
    const known = this.known.get(match);
    if (known !== undefined) return known;
    const path = entries.map((entry, level) => shownLevel(rule, { entry, level }));
    this.known.set(match, path);
    return path;
  }
}

/** A level that shares its threshold shows its pattern in any case: what is counted as one is one series. */
function shownLevel(rule: Rule, { entry, level }: { readonly entry: Entry; readonly level: number }): string {
  const isShown = rule.shareThreshold[level] === undefined && (rule.detailedMetric || rule.valueToMetric[level] === true);
  const configured = rule.path[level];
  if (!isShown && configured !== undefined) return configured;
  // As the reference joins them: an empty value leaves the line where all is shown, and nothing is shared.
  const isBare = entry.value === '' && !(rule.detailedMetric && rule.shareThreshold.length === 0);
  return isBare ? toText(entry.key) : `${toText(entry.key)}_${toText(entry.value)}`;
}
