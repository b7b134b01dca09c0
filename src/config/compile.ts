/** Makes the rule set of configuration files: text in, immutable rules out, or every problem at once. */

import { toByteString } from '../descriptor/byte-string';
import type { Algorithm } from '../rule/limit';
import type { Domain, RuleSet } from '../rule/rule-set';
import { DomainCompiler } from './compile-domain';
import { openDocument, type ConfigDocument } from './config-document';
import type { ConfigProblem } from './config-error';
import type { DeclaredLevel } from './lint/declared-level';
import { Lint } from './lint/lint';
import { ProblemList } from './problem-list';
import { readDomain, type DescriptorSpec, type DomainSpec } from './schema';
import { show } from './show';

export interface CompileOptions {
  /** In load order. */
  readonly files: readonly ConfigDocument[];
  /** What counts where neither the limit nor its domain says. */
  readonly defaultAlgorithm: Algorithm;
  /** Whether limits take usage reports where neither the limit nor its domain says; default false. */
  readonly defaultOverdraft?: boolean;
  /** `USE_CALENDAR_MONTH_RATE_LIMIT`; default false. */
  readonly calendarMonth?: boolean;
  /** `MERGE_DOMAIN_CONFIG`: a domain may be in several files; default false. */
  readonly mergeDomainConfig?: boolean;
  readonly generation: number;
  /** Problems from before, such as unreadable files; they are thrown along with those found here. */
  readonly problems?: readonly ConfigProblem[];
  /** The most hits that a request asks for, for warnings; default 1. */
  readonly cost?: number;
  /** Told of every level as it is written: children before their parents. */
  readonly onLevel?: (level: DeclaredLevel) => void;
}

export interface Examined {
  /** Made of what has no problem. Requests may be decided by it only if `list` is empty. */
  readonly ruleSet: RuleSet;
  readonly list: ProblemList;
}

/** Pure. Throws ConfigError, and nothing else, on any text. */
export function compileConfig(options: CompileOptions): RuleSet {
  return lastOf(compileInSteps(options));
}

/** Pure. As `compileConfig`, for who wants the problems and warnings themselves: never throws on any text. */
export function examineConfig(options: CompileOptions): Examined {
  return lastOf(examineInSteps(options));
}

function lastOf<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** As `compileConfig`, with a rest between steps in which something else may be done. */
export function* compileInSteps(options: CompileOptions): Generator<undefined, RuleSet> {
  const { ruleSet, list } = yield* examineInSteps(options);
  list.throwIfAny();
  return ruleSet;
}

function* examineInSteps(options: CompileOptions): Generator<undefined, Examined> {
  const { files, mergeDomainConfig = false, generation, problems = [] } = options;
  const list = new ProblemList();
  for (const problem of problems) list.add(problem);
  const domains = new Map<string, Domain>();
  const firsts = new Map<string, RootSpec>();
  const unfinished = new Map<string, Beginning>();
  const lint = new Lint(options);
  function* finish(beginning: Beginning): Generator<undefined, void> {
    const domain = yield* finishDomain(beginning);
    domains.set(domain.name, domain);
  }
  for (const file of files) {
    const parsed = openDocument(file, list);
    const spec = parsed.root && (yield* readDomain(parsed.root, parsed.problems));
    if (spec === undefined) continue;
    const { descriptors, ...root } = spec;
    const name = root.name.value;
    const first = firsts.get(name);
    if (first === undefined) firsts.set(name, root);
    else (mergeDomainConfig ? reportIfDifferent : reportTaken)(root, first);
    const beginning = unfinished.get(name) ?? beginDomain(root, { options, lint });
    // Even if the domain is taken: its own problems are wanted too.
    yield* beginning.compiler.add(descriptors);
    // What a file says is held only as long as another may add to it.
    if (mergeDomainConfig) unfinished.set(name, beginning);
    else yield* finish(beginning);
  }
  for (const beginning of unfinished.values()) yield* finish(beginning);
  lint.finish();
  return { ruleSet: { generation, domains, warnings: list.warningLines() }, list };
}

/** What the file says of the domain itself. */
type RootSpec = Omit<DomainSpec, 'descriptors'>;

/** A domain that is being made, and what its first file says of it. */
interface Beginning {
  readonly root: RootSpec;
  readonly compiler: DomainCompiler;
  readonly defaults: Pick<Domain, 'defaultAlgorithm' | 'calendarMonth' | 'defaultOverdraft'>;
}

function beginDomain(root: RootSpec, { options, lint }: { readonly options: CompileOptions; readonly lint: Lint }): Beginning {
  const { defaultAlgorithm: sourceDefault, defaultOverdraft: overdraftOfSource = false, calendarMonth = false } = options;
  const counting = { defaultAlgorithm: root.algorithm?.value ?? sourceDefault, calendarMonth };
  const defaultOverdraft = root.overdraft?.value ?? overdraftOfSource;
  const defaults = { ...counting, ...(defaultOverdraft && { defaultOverdraft: {} }) };
  const compiler = new DomainCompiler({
    ...counting,
    defaultOverdraft,
    failureMode: root.failureMode?.value,
    responseHeaders: root.responseHeaders?.value,
    onLevel: (level) => lint.look(root.name.value, level),
  });
  return { root, compiler, defaults };
}

function* finishDomain({ root: { name, hashTag, failureMode, responseHeaders, problems }, compiler, defaults }: Beginning): Generator<undefined, Domain> {
  const { root, specs, headerModes, hasReservations } = yield* compiler.finish();
  if (hashTag !== undefined && !isKeyOf(specs, hashTag.value)) {
    const message = `has no effect, as no descriptor has the key ${show(hashTag.value)}; name the key whose values spread the buckets, or remove it`;
    problems.warn({ offset: hashTag.offset, path: 'hash_tag', message });
  }
  const optional = {
    ...(hashTag && { hashTag: toByteString(hashTag.value) }),
    ...(failureMode && { failureMode: failureMode.value }),
    ...(responseHeaders && { responseHeaders: responseHeaders.value }),
    ...(headerModes.length > 0 && { headerModes }),
    ...(hasReservations ? { hasReservations } : {}),
  };
  return { name: toByteString(name.value), ...defaults, root, ...optional };
}

/** Whether some descriptor, on any level, has this key. One with a star may match it. */
function isKeyOf(descriptors: readonly DescriptorSpec[], name: string): boolean {
  return descriptors.some(({ key, descriptors: children }) => key === name || key.includes('*') || isKeyOf(children, name));
}

function reportTaken({ name, problems }: RootSpec, first: RootSpec): void {
  const message = `${problems.file} and ${first.problems.file} both configure it; put all of a domain into one file, or set MERGE_DOMAIN_CONFIG=true`;
  problems.report({ offset: name.offset, path: 'domain', message });
}

/** What is said of the domain itself holds for all its files, so the first of them says it. */
function reportIfDifferent({ algorithm, failureMode, responseHeaders, overdraft, hashTag, problems }: RootSpec, first: RootSpec): void {
  const said = {
    algorithm: [algorithm, first.algorithm],
    failure_mode: [failureMode, first.failureMode],
    response_headers: [responseHeaders, first.responseHeaders],
    overdraft: [overdraft, first.overdraft],
    hash_tag: [hashTag, first.hashTag],
  } as const;
  for (const [path, [here, there]] of Object.entries(said)) {
    if (here === undefined || here.value === there?.value) continue;
    const message = `holds for the whole domain, and ${first.problems.file}, the first of its files, ${there === undefined ? 'does not say it' : `says ${show(String(there.value))}`}; say it there`;
    problems.report({ offset: here.offset, path, message });
  }
}
