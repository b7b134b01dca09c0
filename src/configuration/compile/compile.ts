/** Compiles configuration files into an immutable rule set, or reports every problem at once. */

import type { Algorithm } from '../../domain/algorithm/algorithms';
import { atOnce } from '../../lib/slices';
import { toByteString } from '../../domain/descriptor/byte-string';
import type { Domain, RuleSet } from '../../domain/rule/rule-set';
import { DomainCompiler, type FinishedDomain } from './compile-domain';
import { openDocument, type ConfigDocument } from '../yaml/config-document';
import type { ConfigProblem } from '../problems/config-error';
import type { DeclaredLevel } from './lint/declared-level';
import { Lint } from './lint/lint';
import { ReplacedNames } from './lint/unknown-replaces';
import { ProblemList } from '../problems/problem-list';
import { findProblems, readDomain, type DomainSpec } from './read/read-file';
import type { PlanSpec } from './read/read-plans';
import type { Plan } from '../../domain/rule/plan';
import { FILE } from './fields/file';
import type { Located } from './field-types/field';
import { show } from '../../lib/quote';

export interface CompileOptions {
  /** In load order. */
  readonly files: readonly ConfigDocument[];
  /** For limits and domains without `algorithm`. */
  readonly defaultAlgorithm: Algorithm;
  /** Whether limits take usage reports if neither they nor their domain have `overdraft`; default false. */
  readonly defaultOverdraft?: boolean;
  /** `USE_CALENDAR_MONTH_RATE_LIMIT`; default false. */
  readonly calendarMonth?: boolean;
  /** `MERGE_DOMAIN_CONFIG`: several files may configure one domain; default false. */
  readonly mergeDomainConfig?: boolean;
  readonly generation: number;
  /** Earlier problems, such as unreadable files; thrown together with new ones. */
  readonly problems?: readonly ConfigProblem[];
  /** Problems and warnings to keep beside the first of each file; default PROBLEMS_MAX. */
  readonly problemsMax?: number;
  /** The most hits of a request, for warnings; default 1. */
  readonly cost?: number;
  /** Called for every level in the form of the file, children before their parents. */
  readonly onLevel?: (level: DeclaredLevel) => void;
  /** Called for every plan in the form of the file. */
  readonly onPlan?: (spec: PlanSpec, plan: Plan) => void;
}

export interface Examined {
  /** Made of the parts without problems. Only valid for decisions if `list` is empty. */
  readonly ruleSet: RuleSet;
  readonly list: ProblemList;
}

/** Pure. Throws ConfigError, and nothing else, whatever the text. */
export function compileConfig(options: CompileOptions): RuleSet {
  return atOnce(compileInSteps(options));
}

/** Pure. Like `compileConfig`, but returns the problems and warnings and never throws. */
export function examineConfig(options: CompileOptions): Examined {
  return atOnce(examineInSteps(options));
}

/** Like `compileConfig`, yielding between steps. */
export function* compileInSteps(options: CompileOptions): Generator<undefined, RuleSet> {
  const { ruleSet, list } = yield* examineInSteps(options);
  list.throwIfAny();
  return ruleSet;
}

function* examineInSteps(options: CompileOptions): Generator<undefined, Examined> {
  const { files, mergeDomainConfig = false, generation, problems = [] } = options;
  const list = new ProblemList({ max: options.problemsMax });
  for (const problem of problems) list.add(problem);
  const domains = new Map<string, Domain>();
  const firsts = new Map<string, DomainSpec>();
  const unfinished = new Map<string, Beginning>();
  const replacedNames = new ReplacedNames();
  function* finish(beginning: Beginning): Generator<undefined, void> {
    const domain = yield* finishDomain(beginning);
    domains.set(domain.name, domain);
  }
  for (const file of files) {
    const parsed = openDocument(file, { list, max: options.problemsMax });
    const read = parsed.root && readDomain(parsed.root, parsed.problems);
    if (read === undefined) continue;
    const { spec: root, descriptors } = read;
    if (root === undefined) {
      yield* findProblems(descriptors);
      continue;
    }
    const name = root.name.value;
    const first = firsts.get(name);
    if (first === undefined) firsts.set(name, root);
    else (mergeDomainConfig ? reportIfDifferent : reportTaken)(root, first);
    const beginning = unfinished.get(name) ?? beginDomain(root, { options, replacedNames });
    // Compiled even if the domain is taken, to report its problems.
    yield* beginning.compiler.add(descriptors);
    // A compiler is kept only while another file may add to its domain.
    if (mergeDomainConfig) unfinished.set(name, beginning);
    else yield* finish(beginning);
  }
  for (const beginning of unfinished.values()) yield* finish(beginning);
  yield* replacedNames.warn();
  return { ruleSet: { generation, domains, warnings: list.warningLines() }, list };
}

/** An unfinished domain, and the fields of its first file. */
interface Beginning {
  readonly root: DomainSpec;
  readonly compiler: DomainCompiler;
  readonly defaults: Pick<Domain, 'defaultAlgorithm' | 'calendarMonth' | 'overdraft'>;
}

function beginDomain(
  root: DomainSpec,
  { options, replacedNames }: { readonly options: CompileOptions; readonly replacedNames: ReplacedNames },
): Beginning {
  const { defaultAlgorithm: sourceDefault, defaultOverdraft: overdraftOfSource = false, calendarMonth = false } = options;
  const counting = { defaultAlgorithm: root.fields.algorithm?.value ?? sourceDefault, calendarMonth };
  const defaultOverdraft = root.fields.overdraft?.value ?? overdraftOfSource;
  const defaults = { ...counting, ...(defaultOverdraft && { overdraft: {} }) };
  const compiler = new DomainCompiler({
    ...counting,
    domain: toByteString(root.name.value),
    defaultOverdraft,
    failureMode: root.fields.failureMode?.value,
    responseHeaders: root.fields.responseHeaders?.value,
    responseBody: root.fields.responseBody?.value,
    leases: root.fields.leases?.value,
    watchedKeys: [root.fields.hashTag?.value, ...(root.fields.require?.value ?? [])].filter((key) => key !== undefined),
    plans: root.plans,
    lint: new Lint(root.name.value, { ...options, replacedNames }),
  });
  return { root, compiler, defaults };
}

function* finishDomain({ root: { name, fields, problems }, compiler, defaults }: Beginning): Generator<undefined, Domain> {
  const {
    root,
    unseenKeys,
    tenantKeys,
    headerModes,
    hasBodies,
    hasSoftLines,
    hasReservations,
    hasCandidates,
    stages,
    hasPenalties,
    hasTenants,
    plans,
  } = yield* compiler.finish();
  const { hashTag, failureMode, responseHeaders, responseBody, leases } = fields;
  warnOfAdmission({ fields, problems, name, unseenKeys, tenantKeys });
  if (hashTag !== undefined && unseenKeys.has(hashTag.value)) {
    const message = `has no effect because no descriptor has the key ${show(hashTag.value)}; name the key whose values spread the buckets, or remove it`;
    problems.warn({ offset: hashTag.offset, path: 'hash_tag', message });
  }
  const optional = {
    ...(hashTag && { hashTag: toByteString(hashTag.value) }),
    ...admissionOf(fields),
    ...(failureMode && { failureMode: failureMode.value }),
    ...(responseHeaders && { responseHeaders: responseHeaders.value }),
    ...(headerModes.length > 0 && { headerModes }),
    ...(responseBody && { responseBody: responseBody.value }),
    ...(leases && { leases: leases.value }),
    ...(hasBodies ? { hasBodies } : {}),
    ...(hasSoftLines ? { hasSoftLines } : {}),
    ...(hasReservations ? { hasReservations } : {}),
    ...(hasCandidates ? { hasCandidates } : {}),
    ...(stages.size > 0 && { stages }),
    ...(hasPenalties ? { hasPenalties } : {}),
    ...(hasTenants ? { hasTenants } : {}),
    ...(plans.size > 0 && { plans }),
  };
  return { name: toByteString(name.value), ...defaults, root, ...optional };
}

/** Empty: the domain refuses nothing. */
function admissionOf({ require, unmatched }: DomainSpec['fields']): Pick<Domain, 'admission'> {
  const required = (require?.value ?? []).map(toByteString);
  const deniesUnmatched = unmatched?.value === 'deny';
  return required.length > 0 || deniesUnmatched ? { admission: { required, deniesUnmatched } } : {};
}

type AdmissionWarnings = Pick<DomainSpec, 'fields' | 'problems' | 'name'> & Pick<FinishedDomain, 'unseenKeys' | 'tenantKeys'>;

function warnOfAdmission({ fields: { require, unmatched }, problems, name, unseenKeys, tenantKeys }: AdmissionWarnings): void {
  const required = require?.value ?? [];
  for (const key of required) {
    if (require === undefined || !unseenKeys.has(key)) continue;
    const message = `no descriptor has the required key ${show(key)}; requests without it are denied, and those with it may be unlimited: add a rule, or correct the key`;
    problems.warn({ offset: require.offset, path: 'require', message });
  }
  // Both fields say that somebody has thought of it.
  if (unmatched !== undefined) return;
  for (const key of tenantKeys) {
    if (required.includes(key)) continue;
    const message = `requests without the entry ${show(key)} pass without the limits of a plan; add require: [${key}], or unmatched: allow if they may`;
    problems.warn({ offset: name.offset, path: 'domain', message });
  }
}

function reportTaken({ name, problems }: DomainSpec, first: DomainSpec): void {
  const message = `${problems.file} and ${first.problems.file} both configure it; put all of a domain into one file, or set MERGE_DOMAIN_CONFIG=true`;
  problems.report({ offset: name.offset, path: 'domain', message });
}

/** Only a single value is shown, no map. */
function setsText(value: unknown): string {
  const isSingle = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return isSingle ? `sets ${show(String(value))}` : 'sets its own';
}

const PER_DOMAIN = FILE.entries.filter(([, { perDomain }]) => perDomain);

/** Domain fields apply to all files of the domain, so they belong to the first file. */
function reportIfDifferent({ fields, problems }: DomainSpec, first: DomainSpec): void {
  const [own, others]: readonly Readonly<Record<string, Located<unknown> | undefined>>[] = [fields, first.fields];
  for (const [property, { name }] of PER_DOMAIN) {
    const [here, there] = [own?.[property], others?.[property]];
    if (here === undefined || here.value === there?.value) continue;
    const message = `applies to the whole domain, but ${first.problems.file}, its first file, ${there === undefined ? 'does not set it' : setsText(there.value)}; set it there`;
    problems.report({ offset: here.offset, path: name, message });
  }
}
