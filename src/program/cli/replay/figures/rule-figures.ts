/** Counts requests, denials and the use of windows by rule, under one configuration. */

import { windowAt } from '../../../../domain/algorithm/window';
import { toText } from '../../../../domain/descriptor/byte-string';
import type { ByteString } from '../../../../domain/descriptor/descriptor';
import type { BucketLimit, Take } from '../../../../domain/bucket/take';
import { isRateLimit, type Limit } from '../../../../domain/rule/limit';
import type { Match } from '../../../../domain/rule/match';
import type { Rule } from '../../../../domain/rule/rule';
import type { RuleSet } from '../../../../domain/rule/rule-set';
import { ruleName, rulesOf } from '../../../../domain/rule/tree';
import { US_PER_S } from '../../../../lib/time-units';
import type { VirtualVerdict } from '../../../offline/virtual-engine';
import type { KeyPeaks } from './key-peaks';
import { SizeHistogram } from './size-histogram';

/** Rules that limits of requests name, beside those of the configuration; beyond it they are one. */
const NAMES_MAX = 10_000;

/** The use of one limit. */
export interface LimitFigures {
  readonly limit: Limit;
  /** Its number among all limits; undefined: its peaks are those of the other configuration. */
  readonly owner: number | undefined;
  /** By request: the hits that its key asked for in the window up to then. */
  readonly sizes: SizeHistogram;
}

export interface RuleRow {
  readonly domain: string;
  readonly rule: string;
  requests: number;
  denied: number;
  readonly limits: readonly LimitFigures[];
}

/** The windows of each rule. Rules with the same ones see the same use, whatever their limits. */
export function windowsByRule({ domains }: RuleSet): ReadonlyMap<string, string> {
  const windows = new Map<string, string>();
  for (const { name, root } of domains.values())
    for (const { rule } of rulesOf(root)) windows.set(ruleName(name, rule.path), windowsOf(rule.limits));
  return windows;
}

function windowsOf(limits: readonly Limit[]): string {
  return limits
    .filter(isRateLimit)
    .map(({ windowUs, calendar }) => `${windowUs} ${calendar?.timeZone ?? ''}`)
    .join();
}

export class RuleFigures {
  private readonly byRule = new Map<Rule, RuleRow>();
  private readonly byName = new Map<string, RuleRow>();
  private lastRule: Rule | undefined;
  private lastRow: RuleRow | undefined;
  private owners = 0;

  /** `known`: the windows of rules whose peaks another configuration counts. */
  constructor(private readonly known: ReadonlyMap<string, string> = new Map()) {}

  get rows(): readonly RuleRow[] {
    return [...this.byName.values()];
  }

  get ownerCount(): number {
    return this.owners;
  }

  count({ request, matched: { matches }, group: { takes }, verdict }: VirtualVerdict, timeUs: number, peaks: KeyPeaks): void {
    const { verdicts, overLimit } = verdict;
    let next = 0;
    for (const match of matches) {
      if (match.limits.length === 0) continue;
      const row = this.rowOf(match, request.domain);
      const end = next + match.limits.length;
      let denies = false;
      for (let limit = 0; next < end; next += 1, limit += 1) {
        if (overLimit && verdicts[next]?.denies === true) denies = true;
        const figures = row.limits[limit];
        const take = takes[next];
        if (figures?.owner !== undefined && take !== undefined && take.hits > 0) countUse(figures, take, { timeUs, peaks });
      }
      row.requests += 1;
      if (denies) row.denied += 1;
    }
  }

  /** The row of the rule that matched. */
  rowOf(match: Match, domain: ByteString): RuleRow {
    const { rule } = match;
    if (rule === undefined) return this.rowNamed(ruleName(domain, match.path), match, domain);
    if (rule === this.lastRule && this.lastRow !== undefined) return this.lastRow;
    let row = this.byRule.get(rule);
    if (row === undefined) {
      row = this.rowNamed(ruleName(domain, rule.path), match, domain);
      this.byRule.set(rule, row);
    }
    this.lastRule = rule;
    this.lastRow = row;
    return row;
  }

  private rowNamed(name: string, match: Match, domain: ByteString): RuleRow {
    const rule = this.byName.size < NAMES_MAX || match.rule !== undefined ? name : `${toText(domain)}.…`;
    const known = this.byName.get(rule);
    if (known !== undefined) return known;
    const isKnown = this.known.get(rule) === windowsOf(match.limits);
    const limits = match.limits.map((limit) => ({
      limit,
      owner: isKnown || !isRateLimit(limit) ? undefined : (this.owners += 1) - 1,
      sizes: new SizeHistogram(),
    }));
    const row = { domain: toText(domain), rule, requests: 0, denied: 0, limits };
    this.byName.set(rule, row);
    return row;
  }
}

/** Counts the hits of a take in the window of its key. */
function countUse(
  { owner = 0, sizes }: LimitFigures,
  { bucketKey, limit, hits }: Take,
  { timeUs, peaks }: { readonly timeUs: number; readonly peaks: KeyPeaks },
): void {
  const size = peaks.count(owner, bucketKey, windowOf(limit, timeUs), hits);
  if (size > 0) sizes.add(size);
}

/** The number of the window of a time, in 32 bits: windows of the clock, whatever the algorithm. */
export function windowOf(limit: BucketLimit, timeUs: number): number {
  const { windowUs, edgesUs } = limit;
  // A calendar window is known by its start.
  return (edgesUs === undefined ? Math.floor(timeUs / windowUs) : Math.floor(windowAt(limit, timeUs).index / US_PER_S)) | 0;
}
