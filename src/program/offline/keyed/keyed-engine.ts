/**
 * Decides requests whose descriptors are known by numbers, under one configuration in virtual time. It is `VirtualEngine` for many requests on
 * few forms of descriptors: it matches each key once, and keeps the states in arrays of numbers. The code that decides is the same.
 */

import { lastEntryOf } from '../../../domain/descriptor/last-entry';
import type { ByteString, Entry, RateLimitRequest } from '../../../domain/descriptor/descriptor';
import { isGroupOutside, type Group, type GroupVerdict, type Take } from '../../../domain/bucket/take';
import { TRAITS } from '../../../domain/algorithm/algorithms';
import { decideGroup, type Buckets } from '../../../domain/decide/decide-group';
import { matchRequest, type GlobalModes, type RequestMatch } from '../../../domain/rule/match';
import type { RuleSet } from '../../../domain/rule/rule-set';
import { rulesOf } from '../../../domain/rule/tree';
import { Preparation } from '../../../state/request/preparation';
import { formOf, StateColumn, type StateForm } from './state-column';

/** One form of descriptors: the keys of its entries. */
export interface DescriptorForm {
  readonly keys: readonly ByteString[];
  /** The entries of a key of this form. */
  readonly entriesOf: (text: string) => readonly Entry[];
}

export interface KeyedEngineOptions {
  readonly ruleSet: RuleSet;
  readonly modes: GlobalModes;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  readonly domain: ByteString;
  readonly forms: readonly DescriptorForm[];
  /** The text of a key by its number. */
  readonly textOf: (form: number, key: number) => string;
}

/** The same for all requests whose keys match alike. */
export interface Combination {
  /** By descriptor of the request: its form. */
  readonly forms: readonly number[];
  readonly matched: RequestMatch;
  group: Group;
  /** By take: the form of its descriptor, its number among the takes of the descriptor, and the form of its state. */
  readonly takeForms: readonly number[];
  readonly takeSlots: readonly number[];
  readonly stateForms: readonly StateForm[];
  readonly columns: readonly StateColumn[];
  /** By take: the first take on the same bucket. */
  readonly firsts: readonly number[];
  readonly hasCalendar: boolean;
}

/** The number of a key that a request lacks. */
export const NO_KEY = -1;

/** Takes have such names as bucket keys, because a combination needs to tell only its own ones apart. */
const NAME_BASE = 0x100;
const NAMES: readonly string[] = Array.from({ length: 256 }, (_, i) => String.fromCharCode(NAME_BASE + i));

const PLANS_MAX = 65_536;
const FORMS_MAX = 3;

/**
 * Whether requests of these forms can be decided by key: no bucket is shared by several keys or forms, and no rule looks at more than its own descriptor.
 */
export function canBeKeyed({ domains }: RuleSet, { domain, forms }: Pick<KeyedEngineOptions, 'domain' | 'forms'>): boolean {
  const lists = forms.map(({ keys }) => JSON.stringify(keys));
  if (forms.length > FORMS_MAX || new Set(lists).size < lists.length) return false;
  const found = domains.get(domain);
  if (found === undefined) return true;
  if (found.hasCandidates === true || found.admission !== undefined) return false;
  let rules = 0;
  for (const { rule } of rulesOf(found.root)) {
    rules += 1;
    if (rule.inFlight !== undefined || rule.replaces.length > 0 || rule.shareThreshold.length > 0 || lastEntryOf(rule) !== undefined)
      return false;
    if (rule.tenant !== undefined || rule.limits.length * forms.length > NAMES.length) return false;
  }
  return rules < PLANS_MAX;
}

export class KeyedEngine {
  /** The last decision. */
  combination: Combination | undefined;
  verdict: GroupVerdict | undefined;
  private readonly preparation: Preparation;
  private readonly combinations = new Map<number, Combination>();
  /** By form, then by key: the number of its plan plus one; 0: it was not matched yet. */
  private readonly plans: Uint16Array[];
  private readonly planNumbers = new Map<unknown, number>();
  /** By form, then by number of the take. */
  private readonly columns: StateColumn[][];
  private keys: Int32Array | readonly number[] = [];
  private nowUs = 0;
  private readonly clock = () => this.nowUs;
  private readonly buckets: Buckets = {
    read: (name) => {
      const { combination } = this;
      const take = name.charCodeAt(0) - NAME_BASE;
      return combination?.columns[take]?.read(this.keys[combination.takeForms[take] ?? 0] ?? 0, combination.stateForms[take] ?? 0);
    },
    write: (name, state, endsAfterUs) => {
      const { combination } = this;
      const take = name.charCodeAt(0) - NAME_BASE;
      combination?.columns[take]?.write(
        this.keys[combination.takeForms[take] ?? 0] ?? 0,
        combination.stateForms[take] ?? 0,
        state,
        endsAfterUs === undefined ? undefined : this.nowUs + endsAfterUs,
      );
    },
  };

  constructor(private readonly options: KeyedEngineOptions) {
    const { ruleSet, modes, keyPrefix, forms } = options;
    this.preparation = new Preparation({ ruleSet, modes, keyPrefix, nowUs: this.clock });
    this.plans = forms.map(() => new Uint16Array(1_024));
    this.columns = forms.map(() => []);
  }

  /** Decides a request with these keys, by form, at a time that is not before that of an earlier one. */
  decide(keys: Int32Array | readonly number[], hits: number, atUs: number): GroupVerdict {
    this.nowUs = atUs;
    this.keys = keys;
    const combination = this.combinationOf(keys);
    this.combination = combination;
    if (combination.hasCalendar && isGroupOutside(combination.group, atUs)) this.renewWindows(combination, keys);
    const group = hits === 1 ? combination.group : withHits(combination.group, hits);
    const verdict = decideGroup({ group, nowUs: atUs, buckets: this.buckets });
    this.verdict = verdict;
    return verdict;
  }

  /** The time from which on no state of the key says anything; 0: it has none. */
  endOf(form: number, key: number): number {
    let end = 0;
    for (const column of this.columns[form] ?? []) end = Math.max(end, column.endOf(key));
    return end;
  }

  /** Keeps only some keys of a form, which get the numbers from 0 on in their order. */
  keep(form: number, kept: Int32Array): void {
    for (const column of this.columns[form] ?? []) column.keep(kept);
    const before = this.plans[form];
    this.plans[form] = Uint16Array.from(kept, (key) => before?.[key] ?? 0);
  }

  private combinationOf(keys: Int32Array | readonly number[]): Combination {
    let number = 0;
    for (let form = 0; form < keys.length; form += 1) {
      const key = keys[form] ?? NO_KEY;
      number = number * PLANS_MAX + (key === NO_KEY ? 0 : this.planOf(form, key));
    }
    if (number === this.lastNumber && this.lastCombination !== undefined) return this.lastCombination;
    let combination = this.combinations.get(number);
    if (combination === undefined) {
      combination = this.combine(keys);
      this.combinations.set(number, combination);
    }
    this.lastNumber = number;
    this.lastCombination = combination;
    return combination;
  }

  private lastNumber = -1;
  private lastCombination: Combination | undefined;

  private planOf(form: number, key: number): number {
    let plans = this.plans[form];
    if (plans === undefined) return 0;
    if (key >= plans.length) {
      const longer = new Uint16Array(Math.max(2 * plans.length, key + 1));
      longer.set(plans);
      this.plans[form] = plans = longer;
    }
    const known = plans[key] ?? 0;
    return known === 0 ? (plans[key] = this.match(form, key)) : known;
  }

  /** Descriptors of one rule match alike; so do those that only have a path, or nothing. */
  private match(form: number, key: number): number {
    const { ruleSet, modes } = this.options;
    const [match] = matchRequest({ ruleSet, modes, request: this.requestOf([form], [key]) }).matches;
    const of = match?.rule ?? match?.path.join() ?? '';
    const known = this.planNumbers.get(of);
    if (known !== undefined) return known;
    const number = this.planNumbers.size + 1;
    this.planNumbers.set(of, number);
    return number;
  }

  private combine(keys: Int32Array | readonly number[]): Combination {
    const forms = this.options.forms.map((_, form) => form).filter((form) => (keys[form] ?? NO_KEY) !== NO_KEY);
    const { matched, group } = this.preparation.of(
      this.requestOf(
        forms,
        forms.map((form) => keys[form] ?? 0),
      ),
    );
    const { takes } = group;
    const firsts = takes.map(({ bucketKey }) => takes.findIndex((other) => other.bucketKey === bucketKey));
    const takeForms = takes.map(({ descriptor }) => forms[descriptor] ?? 0);
    const takeSlots = takes.map(({ descriptor }, i) => takes.slice(0, i).filter((other) => other.descriptor === descriptor).length);
    return {
      forms,
      matched,
      group: { ...group, takes: takes.map((take, i) => named(take, firsts[i] ?? i)) },
      takeForms,
      takeSlots,
      stateForms: takes.map(({ limit }) => formOf(TRAITS[limit.algorithm].engine, limit, this.nowUs)),
      columns: takes.map((_, i) => this.columnOf(takeForms[i] ?? 0, takeSlots[i] ?? 0)),
      firsts,
      hasCalendar: takes.some(({ limit }) => limit.edgesUs !== undefined),
    };
  }

  private columnOf(form: number, slot: number): StateColumn {
    const columns = this.columns[form] ?? [];
    return (columns[slot] ??= new StateColumn());
  }

  /** Names the calendar windows of now. */
  private renewWindows(combination: Combination, keys: Int32Array | readonly number[]): void {
    const { forms, matched, firsts } = combination;
    const request = this.requestOf(
      forms,
      forms.map((form) => keys[form] ?? 0),
    );
    const group = this.preparation.groupAt(request, matched, this.clock);
    combination.group = { ...group, takes: group.takes.map((take, i) => named(take, firsts[i] ?? i)) };
  }

  /** The request with keys of these forms. */
  requestOf(forms: readonly number[], keys: readonly number[]): RateLimitRequest {
    const { domain, textOf } = this.options;
    const descriptors = forms.map((form, i) => ({ entries: this.options.forms[form]?.entriesOf(textOf(form, keys[i] ?? 0)) ?? [] }));
    return { domain, descriptors, hits: 1 };
  }
}

function named({ bucketKey: _, ...take }: Take, number: number): Take {
  return { bucketKey: NAMES[number] ?? '', ...take };
}

/** 0 hits are a check of each descriptor. */
function withHits(group: Group, hits: number): Group {
  return { ...group, takes: group.takes.map((take) => ({ ...take, hits })) };
}
