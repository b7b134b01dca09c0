/** Compiles the descriptors of one domain, from all of its files, into a tree. */

import { anyValueEntry, networkEntry, sharedEntry } from '../../domain/bucket/bucket-key';
import { toByteString } from '../../domain/descriptor/byte-string';
import type { ByteString } from '../../domain/descriptor/descriptor';
import { NO_CHILDREN, type DescriptorLevel, type DescriptorNode } from '../../domain/rule/tree';
import { compileWildcard } from '../../domain/descriptor/wildcard';
import { networkText } from '../../lib/address';
import { NetworkIndex } from '../../domain/descriptor/network-index';
import { WildcardIndex } from '../../domain/descriptor/wildcard-index';
import { makeInFlightLimit, type InFlight } from '../../domain/rule/in-flight';
import { UINT32_MAX, type ResponseHeaders } from '../../domain/rule/limit';
import { makePenalty, type Penalty } from '../../domain/rule/penalty';
import type { Plan } from '../../domain/rule/plan';
import type { Rule } from '../../domain/rule/rule';
import type { StagedLimits } from '../../domain/rule/rule-set';
import type { SharedEntry } from '../../domain/rule/shared-entry';
import { ruleWith } from '../../domain/rule/choose-plan';
import { DomainPlans } from './compile-plans';
import { compileFair } from './compile-fair';
import { compileReserve } from './compile-reserve';
import { LimitCompiler, NONE, type LimitDefaults } from './compile-limits';
import type { InFlightSpec } from './read/read-in-flight';
import type { Declared } from './lint/declared-level';
import type { Lint } from './lint/lint';
import type { PlanSpec } from './read/read-plans';
import { RepeatedDescriptors } from './repeated-descriptors';
import { findProblems, readDescriptors, type DescriptorList, type DescriptorSpec } from './read/read-file';
import { joinPath, show } from '../../lib/quote';

export interface DomainCompilerOptions extends LimitDefaults {
  /** Keys that the root of the file names: those of `hash_tag` and `require`. */
  readonly watchedKeys: readonly string[];
  /** The plans in the domain's first file. */
  readonly plans: readonly PlanSpec[];
  /** Checks every descriptor and every level, children before their parents. */
  readonly lint: Lint;
}

export interface FinishedDomain {
  readonly root: DescriptorLevel;
  /** The watched keys that no descriptor has, on any level, and no pattern may match. */
  readonly unseenKeys: ReadonlySet<string>;
  /** The keys of descriptors with `tenant: true`. */
  readonly tenantKeys: ReadonlySet<string>;
  /** The values of `response_headers` in the domain. */
  readonly headerModes: readonly ResponseHeaders[];
  /** Whether a limit has a `response_body` other than `off`. */
  readonly hasBodies: boolean;
  /** Whether a limit has `soft` lines. */
  readonly hasSoftLines: boolean;
  /** Whether a limit has `reservations`. */
  readonly hasReservations: boolean;
  /** Whether a limit has a `candidate`. */
  readonly hasCandidates: boolean;
  /** As in `Domain.stages`. */
  readonly stages: ReadonlyMap<string, StagedLimits>;
  /** Whether a descriptor has a `penalty`. */
  readonly hasPenalties: boolean;
  /** Whether a descriptor has `tenant: true`. */
  readonly hasTenants: boolean;
  readonly plans: ReadonlyMap<ByteString, Plan>;
}

/** A level while it is compiled. */
interface LevelInProgress {
  readonly level: LevelBuilder;
  /** Descriptors to check again when the level is complete, in the order of their declaration. */
  readonly declared: Declared[];
  readonly repeated: RepeatedDescriptors;
}

/** A descriptor's levels, from the root down to itself. */
interface Levels {
  readonly specs: readonly DescriptorSpec[];
  /** As in `Rule.path`. */
  readonly path: readonly string[];
}

const NO_LEVELS: Levels = { specs: [], path: [] };

export class DomainCompiler {
  private readonly root: LevelInProgress = levelInProgress();
  private readonly limits: LimitCompiler;
  private readonly plans: DomainPlans;
  private readonly unseenKeys: Set<string>;
  private readonly tenantKeys = new Set<string>();
  private hasPenalties = false;

  constructor(private readonly options: DomainCompilerOptions) {
    this.unseenKeys = new Set(options.watchedKeys);
    this.limits = new LimitCompiler(options);
    this.plans = new DomainPlans(options.plans, {
      limits: this.limits,
      onPlan: (spec, plan) => {
        options.lint.lookAtPlan(spec, plan);
      },
    });
  }

  /** Adds the descriptors of a file after those of earlier files. Yields after each, so that a long list delays no request. */
  *add(list: DescriptorList): Generator<undefined, void> {
    yield* this.addTo(this.root, { list, above: NO_LEVELS });
  }

  /** Called once, after all files. */
  *finish(): Generator<undefined, FinishedDomain> {
    const root = yield* this.finishLevel(this.root, NO_LEVELS);
    this.plans.warnIfUnused();
    const { headerModes, hasBodies, hasSoftLines, hasReservations, hasCandidates, stages } = this.limits;
    const { hasTenants, byName: plans } = this.plans;
    return {
      root,
      unseenKeys: this.unseenKeys,
      tenantKeys: this.tenantKeys,
      hasPenalties: this.hasPenalties,
      headerModes: [...headerModes],
      hasBodies,
      hasSoftLines,
      hasReservations,
      hasCandidates,
      stages,
      hasTenants,
      plans,
    };
  }

  /** `above`: the parents of these descriptors. */
  private *addTo(
    progress: LevelInProgress,
    { list, above }: { readonly list: DescriptorList; readonly above: Levels },
  ): Generator<undefined, void> {
    const { lint } = this.options;
    const { level, declared, repeated } = progress;
    repeated.readNext(list);
    for (const { spec, below } of readDescriptors(list)) {
      if (spec !== undefined && below !== undefined) {
        if (isPattern(spec.key) || isPattern(spec.value) || spec.network !== undefined ? repeated.isKnownPattern(spec) : level.has(spec))
          yield* repeated.report(spec);
        const levels = { specs: [...above.specs, spec], path: [...above.path, nameOf(spec)] };
        const children = below.list === undefined ? NO_CHILDREN : yield* this.compileLevel(below, levels);
        const rule = this.compileRule(spec, levels, children);
        const node =
          rule === undefined ? { children, ...(children === NO_CHILDREN && { unlimitedPath: levels.path }) } : { rule, children };
        level.add(spec, node);
        if (spec.key.includes('*')) this.unseenKeys.clear();
        else this.unseenKeys.delete(spec.key);
        const one = { spec, node };
        if (lint.look(one, above.specs)) declared.push(one);
      } else if (below !== undefined) {
        yield* findProblems(below);
      }
      yield;
    }
  }

  private *compileLevel(list: DescriptorList, levels: Levels): Generator<undefined, DescriptorLevel> {
    const below = levelInProgress();
    yield* this.addTo(below, { list, above: levels });
    return yield* this.finishLevel(below, levels);
  }

  private *finishLevel({ level, declared }: LevelInProgress, above: Levels): Generator<undefined, DescriptorLevel> {
    if (level.isEmpty) return NO_CHILDREN;
    yield* this.options.lint.lookAtLevel({ level, declared, above: above.specs });
    return level;
  }

  private compileRule(spec: DescriptorSpec, { specs: levels, path }: Levels, children: DescriptorLevel): Rule | undefined {
    const { shadowMode, quotaMode, detailedMetric, metadata } = spec;
    const tenant = this.plans.termsOf(spec, levels.length - 1);
    if (tenant !== undefined) this.tenantKeys.add(spec.key);
    if (spec.limits.length === 0 && spec.inFlight === undefined && tenant === undefined) return undefined;
    const inFlight = spec.inFlight && this.compileInFlight(spec.inFlight, levels);
    const { limits, unlimited, name, replaces } = this.limits.compile(spec.limits, {
      name: path.join('.'),
      levels,
      // A lease has hits for all members, and every request asks Redis for its share anyway.
      leases: spec.fields.fair === undefined ? undefined : 'off',
    });
    const rule = {
      path,
      limits: inFlight === undefined ? limits : [...limits, inFlight.limit],
      unlimited,
      name,
      replaces,
      shadowMode,
      quotaMode,
      detailedMetric,
      valueToMetric: levels.some((level) => level.valueToMetric) ? levels.map((level) => level.valueToMetric) : NONE,
      shareThreshold: levels.some((level) => level.shareThreshold) ? levels.map(sharedEntryOf) : NONE,
    };
    const penalty = this.compilePenalty(spec);
    const reserve = compileReserve(spec, {
      levels,
      children,
      limits: tenant === undefined ? rule.limits : [...tenant.plans.values()].flatMap((plan) => plan.limits),
    });
    const fair = compileFair(spec, { levels, children, limits: rule.limits, hasPlans: tenant !== undefined });
    const optional = {
      ...(inFlight && { inFlight }),
      ...(metadata && { metadata }),
      ...(penalty && { penalty }),
      ...(reserve && { reserve }),
      ...(fair && { fair }),
    };
    if (tenant === undefined && Object.keys(optional).length === 0) return rule;
    const whole = Object.assign(rule, optional);
    return tenant === undefined ? whole : { ...ruleWith(whole, tenant.defaultPlan), tenant };
  }

  private compilePenalty({ fields, path, problems }: DescriptorSpec): Penalty | undefined {
    const { denials, withinS, blockS } = fields.penalty?.value ?? {};
    if (denials === undefined || withinS === undefined || blockS === undefined) return undefined;
    const penalty = makePenalty({ denials: denials.value, withinS: withinS.value, blockS: blockS.value });
    if (penalty === undefined) {
      const message = `${denials.value} must be a whole number from 1 to ${UINT32_MAX}`;
      problems.report({ offset: denials.offset, path: joinPath(joinPath(path, 'penalty'), 'denials'), message });
    } else this.hasPenalties = true;
    return penalty;
  }

  private compileInFlight(spec: InFlightSpec, levels: readonly DescriptorSpec[]): InFlight {
    const { max, holdS, name, fields } = spec;
    const failureMode = fields.failureMode?.value ?? this.options.failureMode;
    const responseHeaders = fields.responseHeaders?.value ?? this.options.responseHeaders;
    const responseBody = fields.responseBody?.value ?? this.options.responseBody;
    const limit = makeInFlightLimit({ max, holdS, failureMode, responseHeaders, responseBody, ...(name !== '' && { name }) });
    if (responseBody !== undefined && responseBody.kind !== 'off') this.limits.hasBodies = true;
    if (responseHeaders !== undefined) this.limits.headerModes.add(responseHeaders);
    const idLevel = idLevelOf(spec, levels);
    const idEntryAt = (level: number) => (level === idLevel ? anyValueEntry(toByteString(levels[level]?.key ?? '')) : undefined);
    const keyEntries = entriesIfAny(levels.map((each, level) => idEntryAt(level) ?? sharedEntryOf(each)));
    const overrideEntries = entriesIfAny(levels.map((_, level) => idEntryAt(level)));
    return {
      limit,
      keyEntries,
      overrideEntries,
      ...(idLevel !== undefined && { id: { level: idLevel, key: levels[idLevel]?.key ?? '' } }),
    };
  }
}

/** The level that `id` names; if several have that key, the one nearest to the limit. */
function idLevelOf({ fields: { id }, path, problems }: InFlightSpec, levels: readonly DescriptorSpec[]): number | undefined {
  if (id === undefined) return undefined;
  const report = (message: string) => {
    problems.report({ offset: id.offset, path: joinPath(path, 'id'), message: `${show(id.value)} ${message}` });
  };
  const level = levels.findLastIndex(({ key }) => key === id.value);
  const named = levels[level];
  if (named === undefined) {
    report(`is not a key of this descriptor; use one of ${levels.map(({ key }) => key).join(', ')}`);
    return undefined;
  }
  if (named.value !== '' && !named.value.includes('*') && named.network === undefined) {
    report('has a single value here, so all requests would share one slot; name an entry whose value differs for each request');
    return undefined;
  }
  return level;
}

/** Empty if no entry is replaced. */
function entriesIfAny(entries: readonly (SharedEntry | undefined)[]): readonly (SharedEntry | undefined)[] {
  return entries.some((entry) => entry !== undefined) ? entries : [];
}

function levelInProgress(): LevelInProgress {
  return { level: new LevelBuilder(), declared: [], repeated: new RepeatedDescriptors() };
}

function nameOf({ key, value }: DescriptorSpec): string {
  return value === '' ? key : [key, value].join('_');
}

function sharedEntryOf({ key, value, network, shareThreshold }: DescriptorSpec): SharedEntry | undefined {
  if (shareThreshold && network !== undefined) return networkEntry(toByteString(key), networkText(network));
  return shareThreshold ? sharedEntry({ key: toByteString(key), value: toByteString(valuePattern(value)) }) : undefined;
}

/** A descriptor with a star in its key and no value matches every value, as a plain key does. */
function valuePattern(value: string): string {
  return value === '' ? '*' : value;
}

/** A level while nodes are added; afterwards it is read-only. Most levels have nodes of one kind, so empty collections are shared. */
class LevelBuilder implements DescriptorLevel {
  byValue = NO_CHILDREN.byValue as Map<ByteString, Map<ByteString, DescriptorNode>>;
  wildcards = NO_CHILDREN.wildcards;
  networks: NetworkIndex<DescriptorNode> | undefined = undefined;
  byKey = NO_CHILDREN.byKey as Map<ByteString, DescriptorNode>;

  get isEmpty(): boolean {
    return this.byValue.size === 0 && this.networks === undefined && this.byKey.size === 0 && this.wildcards.nodes.length === 0;
  }

  /** Whether there is a node with this key and value, neither of them a pattern. */
  has({ key: keyText, value: valueText }: DescriptorSpec): boolean {
    const key = toByteString(keyText);
    const value = toByteString(valueText);
    return value === '' ? this.byKey.has(key) : this.byValue.get(key)?.has(value) === true;
  }

  add({ key: keyText, value: valueText, network }: DescriptorSpec, node: DescriptorNode): void {
    const key = toByteString(keyText);
    if (network !== undefined) {
      this.networks ??= new NetworkIndex<DescriptorNode>();
      this.networks.add({ key, network, node });
      return;
    }
    const value = toByteString(valueText);
    if (isPattern(key) || isPattern(value)) {
      if (this.wildcards === NO_CHILDREN.wildcards) this.wildcards = new WildcardIndex<DescriptorNode>();
      this.wildcards.add({ key: compileWildcard(key), value: compileWildcard(valuePattern(value)), node });
      return;
    }
    if (value === '') {
      if (this.byKey === NO_CHILDREN.byKey) this.byKey = new Map();
      this.byKey.set(key, node);
      return;
    }
    if (this.byValue === NO_CHILDREN.byValue) this.byValue = new Map();
    const values = this.byValue.get(key);
    if (values === undefined) this.byValue.set(key, new Map([[value, node]]));
    else values.set(value, node);
  }
}

function isPattern(text: ByteString): boolean {
  return text.includes('*');
}
