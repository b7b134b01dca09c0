/** Decides requests by the numbers of their keys: for logs whose descriptors all come from one mapping. */

import { KeyedEngine, type Combination, type DescriptorForm, type KeyedEngineOptions } from '../../../offline/keyed/keyed-engine';
import type { ByteString } from '../../../../domain/descriptor/descriptor';
import { ruleName } from '../../../../domain/rule/tree';
import { windowOf, type LimitFigures, type RuleFigures, type RuleRow } from '../figures/rule-figures';
import type { ChangedKeyInput } from '../figures/changed-keys';
import { PeakColumn } from '../figures/peak-column';
import type { LogEvent } from '../event/log-event';
import { bindingOf } from './binding';
import type { KeyData, KeyedEvent, KeySpace } from './key-space';
import type { ReplayEngine } from './replay-engine';

/** The figures that each take of a combination counts in. */
interface CountedTake {
  readonly row: RuleRow;
  /** The first take of its descriptor. */
  readonly isFirst: boolean;
  readonly figures: LimitFigures | undefined;
  readonly peaks: PeakColumn | undefined;
  readonly form: number;
}

export class KeyedReplayEngine implements ReplayEngine, KeyData {
  readonly sampled = 1;
  private readonly engine: KeyedEngine;
  private readonly counted = new Map<Combination, readonly CountedTake[]>();
  /** By form, then by number of the take. */
  private readonly columns: PeakColumn[][];
  private readonly forms: readonly DescriptorForm[];
  private readonly domain: ByteString;
  private last: Combination | undefined;
  private lastCounted: readonly CountedTake[] = [];
  private hits = 1;
  private keys: Int32Array = new Int32Array(0);

  constructor(
    options: KeyedEngineOptions,
    private readonly space: KeySpace,
    readonly rules: RuleFigures,
  ) {
    this.engine = new KeyedEngine(options);
    this.forms = options.forms;
    this.domain = options.domain;
    this.columns = options.forms.map(() => []);
    space.add(this);
  }

  get evictions(): number {
    return this.space.evictions;
  }

  decide(event: LogEvent): boolean {
    const { keys, hits, timeUs } = event as KeyedEvent;
    this.hits = hits;
    this.keys = keys;
    return this.engine.decide(keys, hits, timeUs).overLimit;
  }

  count(timeUs: number): void {
    const { combination, verdict } = this.engine;
    if (combination === undefined || verdict === undefined) return;
    if (combination !== this.last) {
      this.last = combination;
      this.lastCounted = this.countedOf(combination);
    }
    const counted = this.lastCounted;
    const { verdicts, overLimit } = verdict;
    const { takes } = combination.group;
    let isDenied = false;
    for (let i = 0; i < counted.length; i += 1) {
      const each = counted[i];
      const take = takes[i];
      if (each === undefined || take === undefined) continue;
      const { row, figures, peaks } = each;
      if (each.isFirst) {
        row.requests += 1;
        isDenied = false;
      }
      if (overLimit && !isDenied && verdicts[i]?.denies === true) {
        isDenied = true;
        row.denied += 1;
      }
      if (figures === undefined || peaks === undefined || this.hits <= 0) continue;
      figures.sizes.add(peaks.count(this.keys[each.form] ?? 0, figures.owner ?? 0, windowOf(take.limit, timeUs), this.hits));
    }
  }

  denial(): ChangedKeyInput {
    const { combination, verdict } = this.engine;
    if (combination === undefined || verdict === undefined) throw new Error('no request was decided');
    const { matched, forms } = combination;
    const binding = bindingOf(matched, verdict);
    const form = forms[binding] ?? 0;
    const { domain } = this;
    const text = this.space.tables[form]?.textOf(this.keys[form] ?? 0) ?? '';
    return { domain, rule: ruleName(domain, matched.matches[binding]?.path ?? []), entries: this.forms[form]?.entriesOf(text) ?? [] };
  }

  peaks(): readonly Float64Array[] {
    const sizes = new Array<number>(this.rules.ownerCount).fill(0);
    this.visit((owner) => (sizes[owner] = (sizes[owner] ?? 0) + 1));
    const peaks = sizes.map((size) => new Float64Array(size));
    const next = new Array<number>(sizes.length).fill(0);
    this.visit((owner, peak) => {
      const at = next[owner] ?? 0;
      const own = peaks[owner];
      if (own !== undefined) own[at] = peak;
      next[owner] = at + 1;
    });
    for (const each of peaks) each.sort();
    return peaks;
  }

  endOf(form: number, key: number): number {
    return this.engine.endOf(form, key);
  }

  keep(form: number, kept: Int32Array): void {
    this.engine.keep(form, kept);
    for (const column of this.columns[form] ?? []) column.keep(kept);
  }

  private visit(each: (owner: number, peak: number) => void): void {
    for (const columns of this.columns) for (const column of columns) column.visit(each);
  }

  /** One for each take, in their order: takes are those of the limits of each match. */
  private countedOf(combination: Combination): readonly CountedTake[] {
    const known = this.counted.get(combination);
    if (known !== undefined) return known;
    const { matched, forms } = combination;
    const counted: CountedTake[] = [];
    for (const [descriptor, match] of matched.matches.entries()) {
      if (match.limits.length === 0) continue;
      const row = this.rules.rowOf(match, this.domain);
      const form = forms[descriptor] ?? 0;
      for (const slot of match.limits.keys()) {
        const figures = row.limits[slot];
        const peaks = figures?.owner === undefined ? undefined : ((this.columns[form] ??= [])[slot] ??= new PeakColumn());
        counted.push({ row, isFirst: slot === 0, figures, peaks, form });
      }
    }
    this.counted.set(combination, counted);
    return counted;
  }
}
