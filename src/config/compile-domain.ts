/** Makes one domain's descriptor tree of what its files say. */

import { anyValueEntry, sharedEntry, type SharedEntry } from '../bucket/bucket-key';
import { toByteString } from '../descriptor/byte-string';
import { NO_CHILDREN, type DescriptorLevel, type DescriptorNode } from '../descriptor/tree';
import { compileWildcard } from '../descriptor/wildcard';
import { WildcardIndex } from '../descriptor/wildcard-index';
import { makeInFlightLimit, type InFlight } from '../rule/in-flight';
import { isLimitProblem, makeLimit, windowName, type Algorithm, type FailureMode, type Limit, type Overdraft, type ResponseHeaders } from '../rule/limit';
import type { Rule } from '../rule/rule';
import type { InFlightSpec } from './in-flight-schema';
import type { LimitedSpec } from './limit-schema';
import { warnOfLimit } from './limit-warnings';
import type { Declared, DeclaredLevel } from './lint/declared-level';
import type { DescriptorSpec } from './schema';
import { joinPath, show } from './show';

export interface DomainCompilerOptions {
  /** What counts where a limit does not say. */
  readonly defaultAlgorithm: Algorithm;
  /** `USE_CALENDAR_MONTH_RATE_LIMIT`: months are those of the calendar, in UTC. */
  readonly calendarMonth: boolean;
  /** What decides, where a limit does not say, while the store can't; absent: `FAILURE_MODE`. */
  readonly failureMode?: FailureMode | undefined;
  /** What shows a limit that does not say; absent: the setting `RESPONSE_HEADERS`. */
  readonly responseHeaders?: ResponseHeaders | undefined;
  /** Whether a limit that does not say takes usage reports. */
  readonly defaultOverdraft: boolean;
  /** Told of every level that is done: children before their parents. */
  readonly onLevel: (level: DeclaredLevel) => Generator<undefined, void>;
}

export interface FinishedDomain {
  readonly root: DescriptorLevel;
  readonly specs: readonly DescriptorSpec[];
  /** Every way in which a limit says that it is shown. */
  readonly headerModes: readonly ResponseHeaders[];
  /** Whether a limit says how it takes reservations. */
  readonly hasReservations: boolean;
}

/** A level that is being made. */
interface LevelInProgress {
  readonly level: LevelBuilder;
  /** In the order in which they are declared. */
  readonly declared: Declared[];
  readonly seen: Map<string, DescriptorSpec>;
}

export class DomainCompiler {
  private readonly root = levelInProgress();
  private readonly headerModes = new Set<ResponseHeaders>();
  private hasReservations = false;

  constructor(private readonly options: DomainCompilerOptions) {}

  /** The descriptors of a file, after those of the files before it. Rests after each, so that a long list keeps nobody waiting. */
  *add(specs: readonly DescriptorSpec[]): Generator<undefined, void> {
    yield* this.addTo(this.root, { specs, above: [] });
  }

  /** To be called once, when all is added. */
  *finish(): Generator<undefined, FinishedDomain> {
    const root = yield* this.finishLevel(this.root, []);
    return { root, specs: this.root.declared.map(({ spec }) => spec), headerModes: [...this.headerModes], hasReservations: this.hasReservations };
  }

  /** `above`: the descriptors that these are nested in, from the root down. */
  private *addTo({ level, declared, seen }: LevelInProgress, { specs, above }: SpecsOfLevel): Generator<undefined, void> {
    for (const spec of specs) {
      reportIfSeen(spec, seen);
      const node = yield* this.compileNode(spec, [...above, spec]);
      level.add(spec, node);
      declared.push({ spec, node });
      yield;
    }
  }

  private *finishLevel({ level, declared }: LevelInProgress, above: readonly DescriptorSpec[]): Generator<undefined, DescriptorLevel> {
    if (declared.length === 0) return NO_CHILDREN;
    yield* this.options.onLevel({ level, declared, above });
    return level;
  }

  /** `levels`: the descriptor and those that it is nested in. */
  private *compileNode(spec: DescriptorSpec, levels: readonly DescriptorSpec[]): Generator<undefined, DescriptorNode> {
    const below = levelInProgress();
    yield* this.addTo(below, { specs: spec.descriptors, above: levels });
    const children = yield* this.finishLevel(below, levels);
    const rule = this.compileRule(spec, levels);
    return rule === undefined ? { children } : { rule, children };
  }

  private compileRule(spec: DescriptorSpec, levels: readonly DescriptorSpec[]): Rule | undefined {
    const { shadowMode, quotaMode, detailedMetric, metadata } = spec;
    if (spec.limits.length === 0 && spec.inFlight === undefined) return undefined;
    const inFlight = spec.inFlight && this.compileInFlight(spec.inFlight, levels);
    const rateLimits = this.compileLimits(spec.limits.filter((limit) => limit.kind === 'limited'));
    const unlimited = spec.limits.find(({ kind }) => kind === 'unlimited');
    return {
      path: levels.map(({ key, value }) => (value === '' ? key : `${key}_${value}`)),
      limits: inFlight === undefined ? rateLimits : [...rateLimits, inFlight.limit],
      ...(inFlight && { inFlight }),
      unlimited: unlimited !== undefined,
      name: unlimited?.name ?? '',
      replaces: spec.limits.flatMap((limit) => limit.replaces.map(({ value }) => value)),
      shadowMode,
      quotaMode,
      detailedMetric,
      valueToMetric: levels.some((level) => level.valueToMetric) ? levels.map((level) => level.valueToMetric) : [],
      shareThreshold: levels.some((level) => level.shareThreshold) ? levels.map(sharedEntryOf) : [],
      ...(metadata && { metadata }),
    };
  }

  private compileInFlight(spec: InFlightSpec, levels: readonly DescriptorSpec[]): InFlight {
    const { max, holdS, name, failureMode = this.options.failureMode, responseHeaders = this.options.responseHeaders } = spec;
    const limit = makeInFlightLimit({ max, holdS, failureMode, responseHeaders, ...(name !== '' && { name }) });
    if (responseHeaders !== undefined) this.headerModes.add(responseHeaders);
    const idLevel = idLevelOf(spec, levels);
    const idEntryAt = (level: number) => (level === idLevel ? anyValueEntry(toByteString(levels[level]?.key ?? '')) : undefined);
    const keyEntries = entriesIfAny(levels.map((each, level) => idEntryAt(level) ?? sharedEntryOf(each)));
    const overrideEntries = entriesIfAny(levels.map((_, level) => idEntryAt(level)));
    return { limit, keyEntries, overrideEntries, ...(idLevel !== undefined && { id: { level: idLevel, key: levels[idLevel]?.key ?? '' } }) };
  }

  /** Two limits of one algorithm and one window would be one bucket: the smaller one says it all. */
  private compileLimits(specs: readonly LimitedSpec[]): Limit[] {
    const seen = new Map<string, LimitedSpec>();
    return specs.flatMap((spec) => {
      const limit = this.compileLimit(spec);
      if (limit === undefined) return [];
      const identity = `${limit.algorithm} ${windowName(limit)}`;
      const first = seen.get(identity);
      if (first === undefined) seen.set(identity, spec);
      else reportSameWindow(spec, { first, limit });
      return [limit];
    });
  }

  private overdraftOf({ overdraft, overdraftMax }: LimitedSpec): Overdraft | undefined {
    if (!(overdraft?.value ?? this.options.defaultOverdraft)) return undefined;
    return overdraftMax === undefined ? {} : { max: overdraftMax.value };
  }

  /** A missing `requests_per_unit` is 0, as in the reference: every hit is over. */
  private compileLimit(spec: LimitedSpec): Limit | undefined {
    const { unit, requestsPerUnit, unitMultiplier, burst, name, timeZone } = spec;
    const calendar = spec.calendar?.value === true;
    // The windows of a calendar are fixed windows: asking for them asks for those.
    const algorithm = spec.algorithm ?? (calendar ? 'fixed_window' : this.options.defaultAlgorithm);
    const monthTimeZone = this.options.calendarMonth && unit.value === 'month' ? 'UTC' : undefined;
    const made = makeLimit({
      unit: unit.value,
      requestsPerUnit: requestsPerUnit?.value ?? 0,
      name,
      algorithm,
      failureMode: spec.failureMode ?? this.options.failureMode,
      responseHeaders: spec.responseHeaders ?? this.options.responseHeaders,
      calendarTimeZone: calendar ? (timeZone?.value ?? 'UTC') : monthTimeZone,
      overdraft: this.overdraftOf(spec),
      reservations: spec.reservations,
      ...(unitMultiplier && { unitMultiplier: unitMultiplier.value }),
      ...(burst && { burst: burst.value }),
    });
    if (!isLimitProblem(made)) {
      warnOfLimit(spec, { limit: made, ...this.options });
      if (made.responseHeaders !== undefined) this.headerModes.add(made.responseHeaders);
      if (made.reservations !== undefined) this.hasReservations = true;
      return made;
    }
    const culprits = { requests_per_unit: requestsPerUnit, unit_multiplier: unitMultiplier, burst, overdraft_max: spec.overdraftMax };
    const culprit = culprits[made.field];
    const message = culprit === undefined ? made.message : `${culprit.value} ${made.message}`;
    spec.problems.report({ offset: (culprit ?? spec).offset, path: joinPath(spec.path, made.field), message });
    return undefined;
  }
}

interface SpecsOfLevel {
  readonly specs: readonly DescriptorSpec[];
  readonly above: readonly DescriptorSpec[];
}

/** The level that `id` names; of several with that key the one nearest to the limit. */
function idLevelOf({ id, path, problems }: InFlightSpec, levels: readonly DescriptorSpec[]): number | undefined {
  if (id === undefined) return undefined;
  const report = (message: string) => {
    problems.report({ offset: id.offset, path: joinPath(path, 'id'), message: `${show(id.value)} ${message}` });
  };
  const level = levels.findLastIndex(({ key }) => key === id.value);
  const named = levels[level];
  if (named === undefined) {
    report(`is the key of no entry of this descriptor; use one of ${levels.map(({ key }) => key).join(', ')}`);
    return undefined;
  }
  if (named.value !== '' && !named.value.includes('*')) {
    report('has one value alone here, so that all requests would be one; name an entry that is another one for each request');
    return undefined;
  }
  return level;
}

/** Where every entry stands for itself, no list says so. */
function entriesIfAny(entries: readonly (SharedEntry | undefined)[]): readonly (SharedEntry | undefined)[] {
  return entries.some((entry) => entry !== undefined) ? entries : [];
}

function levelInProgress(): LevelInProgress {
  return { level: new LevelBuilder(), declared: [], seen: new Map() };
}

function reportSameWindow(spec: LimitedSpec, { first, limit }: { first: LimitedSpec; limit: Limit }): void {
  const message = `counts in ${limit.algorithm} over the same window as the limit ${spec.problems.placeOf(first)}; keep the smaller one, or change one's algorithm or window`;
  spec.problems.report({ offset: spec.offset, path: spec.path, message });
}

function reportIfSeen(spec: DescriptorSpec, seen: Map<string, DescriptorSpec>): void {
  // The length keeps a_b with c apart from a with b_c.
  const identity = `${spec.key.length}:${spec.key}${spec.value}`;
  const first = seen.get(identity);
  if (first === undefined) {
    seen.set(identity, spec);
    return;
  }
  const what = spec.value === '' ? `key ${show(spec.key)}` : `key ${show(spec.key)} with value ${show(spec.value)}`;
  const { problems } = spec;
  const places = `${problems.placeOf(first)} and ${problems.placeOf(spec)}`;
  const message = `${what} is configured twice here: ${places}; ${first.problems === problems ? 'merge them' : 'put both into one file, as one'}`;
  problems.report({ offset: spec.offset, path: spec.path, message });
}

function sharedEntryOf({ key, value, shareThreshold }: DescriptorSpec): SharedEntry | undefined {
  return shareThreshold ? sharedEntry({ key: toByteString(key), value: toByteString(valuePattern(value)) }) : undefined;
}

/** A descriptor with a star in its key and no value takes every value, as a plain key does. */
function valuePattern(value: string): string {
  return value === '' ? '*' : value;
}

/** A level while its nodes are added; done, it is only ever read. */
class LevelBuilder implements DescriptorLevel {
  readonly byValue = new Map<string, Map<string, DescriptorNode>>();
  readonly wildcards = new WildcardIndex();
  readonly byKey = new Map<string, DescriptorNode>();

  add({ key: keyText, value: valueText }: DescriptorSpec, node: DescriptorNode): void {
    const key = toByteString(keyText);
    const value = toByteString(valueText);
    if (key.includes('*') || value.includes('*')) {
      this.wildcards.add({ key: compileWildcard(key), value: compileWildcard(valuePattern(value)), node });
      return;
    }
    if (value === '') {
      this.byKey.set(key, node);
      return;
    }
    const values = this.byValue.get(key);
    if (values === undefined) this.byValue.set(key, new Map([[value, node]]));
    else values.set(value, node);
  }
}
