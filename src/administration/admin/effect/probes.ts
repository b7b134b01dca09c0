/** Descriptors that a record concerns and a rule of the configuration matches: one example for each rule. The effect on them is the effect of the record. */

import type { DeclaredLevel } from '../../../configuration/compile/lint/declared-level';
import type { DescriptorSpec } from '../../../configuration/compile/read/read-file';
import type { EntrySelector } from '../../../state/control/control-record';
import { toByteString } from '../../../domain/descriptor/byte-string';
import type { Entry } from '../../../domain/descriptor/descriptor';
import { compileWildcard, matchesWildcard } from '../../../domain/descriptor/wildcard';
import type { Plan } from '../../../domain/rule/plan';
import type { Rule } from '../../../domain/rule/rule';
import type { Domain } from '../../../domain/rule/rule-set';
import { findChild, type DescriptorLevel, type DescriptorNode } from '../../../domain/rule/tree';

export interface Probe {
  readonly entries: readonly Entry[];
  readonly rule: Rule;
  /** Any tenant is meant, so this plan stands for those who have it. Absent: the tenant is known, or the rule has none. */
  readonly plan?: Plan;
}

export interface Probes {
  readonly found: readonly Probe[];
  /** False: there are more rules than were looked at. */
  readonly isComplete: boolean;
}

export interface DeclaredDomain {
  readonly domain: Domain;
  /** Every level of the rule set, as declared. */
  readonly levels: ReadonlyMap<DescriptorLevel, DeclaredLevel>;
}

/** Most descriptors of the configuration that are looked at for one record: about a millisecond. */
export const VISITS_MAX = 5_000;

/** Most examples. */
export const PROBES_MAX = 32;

/** Stands for any value; no caller sends it. */
const ANY = '\u0001any\u0001';

/** One for each rule that a descriptor with these entries can match; of tenants without a name, one for each plan. */
export function selectedProbes(declared: DeclaredDomain, selector: readonly EntrySelector[]): Probes {
  const rest = selector.map(({ key, value }) => ({ key: toByteString(key), ...(value !== undefined && { value: toByteString(value) }) }));
  const walk = new Walk(declared.levels);
  walk.visit(declared.domain.root, { entries: [], rest });
  return { found: walk.found.slice(0, PROBES_MAX), isComplete: walk.isComplete };
}

interface Reached {
  readonly entries: readonly Entry[];
  /** Entries of the selector that the descriptor does not have yet. */
  readonly rest: readonly EntrySelector[];
  /** Whether the last value is an example. */
  readonly isOpen?: boolean;
}

interface Step extends Omit<Required<Reached>, 'entries'> {
  readonly entry: Entry;
  readonly node: DescriptorNode;
}

class Walk {
  readonly found: Probe[] = [];
  isComplete = true;
  private visits = 0;

  constructor(private readonly levels: DeclaredDomain['levels']) {}

  visit(level: DescriptorLevel, { entries, rest }: Reached): void {
    for (const { entry, node, rest: left, isOpen } of this.steps(level, rest)) {
      this.visits += 1;
      if (this.visits > VISITS_MAX || this.found.length >= PROBES_MAX) {
        this.isComplete = false;
        return;
      }
      const reached = [...entries, entry];
      if (left.length === 0 && node.rule !== undefined) this.found.push(...probesOf(reached, node.rule, isOpen));
      this.visit(node.children, { entries: reached, rest: left });
    }
  }

  private *steps(level: DescriptorLevel, rest: readonly EntrySelector[]): Generator<Step> {
    for (const named of rest) {
      if (named.value === undefined) continue;
      const entry = { key: named.key, value: named.value };
      const node = findChild(level, entry);
      if (node !== undefined) yield { entry, node, rest: rest.filter((each) => each !== named), isOpen: false };
    }
    for (const { spec, node } of this.levels.get(level)?.declared ?? []) {
      const named = rest.find(({ key }) => matchesWildcard(compileWildcard(toByteString(spec.key)), key));
      if (named?.value !== undefined) continue;
      const entry = exampleOf(spec, named?.key);
      // Another descriptor of the level may match the example, and then has an example of its own.
      if (findChild(level, entry) !== node) continue;
      yield { entry, node, rest: named === undefined ? rest : rest.filter((each) => each !== named), isOpen: isOpenValue(spec) };
    }
  }
}

function isOpenValue({ value, network }: DescriptorSpec): boolean {
  return network === undefined && (value === '' || value.includes('*'));
}

function exampleOf(spec: DescriptorSpec, key = toByteString(spec.key).replaceAll('*', ANY)): Entry {
  return { key, value: spec.value === '' ? ANY : toByteString(spec.value).replaceAll('*', ANY) };
}

function probesOf(entries: readonly Entry[], rule: Rule, isOpen: boolean): readonly Probe[] {
  const { tenant } = rule;
  if (tenant === undefined || !isOpen) return [{ entries, rule }];
  return [tenant.defaultPlan, ...[...tenant.plans.values()].filter((plan) => plan !== tenant.defaultPlan)].map((plan) => ({
    entries,
    rule,
    plan,
  }));
}

/** A descriptor under which a tenant is limited by its plan, or by limits of its own. */
export interface TenantProbe extends Probe {
  /** The descriptor of the configuration with `tenant: true`. */
  readonly spec: DescriptorSpec;
  /** The descriptor that wins over it; absent: the plan applies. */
  readonly winner?: DescriptorNode;
}

/** Probes of one tenant. Undefined: the domain has no descriptor with `tenant: true`. */
export function tenantProbes(declared: DeclaredDomain, tenant: string): readonly TenantProbe[] | undefined {
  const paths = tenantPaths(declared);
  if (paths.length === 0) return undefined;
  const value = toByteString(tenant);
  return paths.flatMap(({ above, spec, node, level, rule }): readonly TenantProbe[] => {
    if (spec.value !== '' && !matchesWildcard(compileWildcard(toByteString(spec.value)), value)) return [];
    const entry = { key: toByteString(spec.key).replaceAll('*', ANY), value };
    const found = findChild(level, entry);
    const winner = found !== node && found !== undefined ? { winner: found } : {};
    return [{ entries: [...above, entry], spec, rule, ...winner }];
  });
}

/** The plans of all tenants: one probe for each descriptor with `tenant: true`. */
export function planProbes(declared: DeclaredDomain, plan: Plan): readonly Probe[] {
  return tenantPaths(declared).map(({ above, spec, rule }) => ({ entries: [...above, exampleOf(spec)], rule, plan }));
}

interface TenantPath {
  readonly above: readonly Entry[];
  readonly spec: DescriptorSpec;
  readonly node: DescriptorNode;
  readonly level: DescriptorLevel;
  readonly rule: Rule;
}

/** By the root of the domain: a configuration may have a hundred thousand descriptors. */
const known = new WeakMap<DescriptorLevel, { readonly paths: readonly TenantPath[]; readonly keys: ReadonlySet<string> }>();

function survey({ domain: { root }, levels }: DeclaredDomain) {
  const before = known.get(root);
  if (before !== undefined) return before;
  const paths: TenantPath[] = [];
  const keys = new Set<string>();
  const visit = (level: DescriptorLevel, above: readonly Entry[]): void => {
    for (const { spec, node } of levels.get(level)?.declared ?? []) {
      keys.add(spec.key);
      const { rule } = node;
      if (rule?.tenant !== undefined && paths.length < PROBES_MAX) paths.push({ above, spec, node, level, rule });
      visit(node.children, [...above, exampleOf(spec)]);
    }
  };
  visit(root, []);
  const made = { paths, keys };
  known.set(root, made);
  return made;
}

function tenantPaths(declared: DeclaredDomain): readonly TenantPath[] {
  return survey(declared).paths;
}

/** The keys that descriptors of the domain have; one with a `*` stands for others. */
export function keysOf(declared: DeclaredDomain): ReadonlySet<string> {
  return survey(declared).keys;
}
