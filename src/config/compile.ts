/** Makes the rule set of configuration files: text in, immutable rules out, or every problem at once. */

import { toByteString } from '../descriptor/byte-string';
import type { Algorithm } from '../rule/limit';
import type { Domain, RuleSet } from '../rule/rule-set';
import { DomainCompiler, type DomainCompilerOptions } from './compile-domain';
import { openDocument, type ConfigDocument } from './config-document';
import type { ConfigProblem } from './config-error';
import { warnOfCost } from './lint/cost-never-fits';
import type { DeclaredLevel } from './lint/declared-level';
import { warnOfLongWindow } from './lint/long-window-alone';
import { warnOfUnboundedMetric } from './lint/unbounded-metric';
import { ReplacedNames } from './lint/unknown-replaces';
import { warnOfUnreachable } from './lint/unreachable-descriptor';
import { ProblemList, type FileProblems } from './problem-list';
import { readDomain, type DomainSpec } from './schema';

export interface CompileOptions {
  /** In load order. */
  readonly files: readonly ConfigDocument[];
  /** What counts where neither the limit nor its domain says. */
  readonly defaultAlgorithm: Algorithm;
  /** `USE_CALENDAR_MONTH_RATE_LIMIT`; default false. */
  readonly calendarMonth?: boolean;
  readonly generation: number;
  /** Problems from before, such as unreadable files; they are thrown along with those found here. */
  readonly problems?: readonly ConfigProblem[];
  /** The most hits that a request asks for, for warnings; default 1. */
  readonly cost?: number;
  /** Told of every level as it is written: children before their parents. */
  readonly onLevel?: (level: DeclaredLevel) => void;
}

export interface Examined {
  /** Of what is right; to be decided by only if there is no problem. */
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

/** The same, with a rest between steps in which something else may be done. */
export function* compileInSteps(options: CompileOptions): Generator<undefined, RuleSet> {
  const { ruleSet, list } = yield* examineInSteps(options);
  list.throwIfAny();
  return ruleSet;
}

function* examineInSteps(options: CompileOptions): Generator<undefined, Examined> {
  const { files, defaultAlgorithm, calendarMonth = false, generation, problems = [] } = options;
  const list = new ProblemList();
  for (const problem of problems) list.add(problem);
  const domains = new Map<string, Domain>();
  const fileOfDomain = new Map<string, string>();
  const replacedNames = new ReplacedNames();
  for (const file of files) {
    const parsed = openDocument(file, list);
    const spec = parsed.root && (yield* readDomain(parsed.root, parsed.problems));
    if (spec === undefined) continue;
    // Compiled even if the domain is a duplicate: its own problems are wanted too.
    const domain = yield* compileDomain(spec, { defaultAlgorithm, calendarMonth, problems: parsed.problems, onLevel: linting(options) });
    reportIfTaken(spec, { takenBy: fileOfDomain.get(domain.name), problems: parsed.problems });
    domains.set(domain.name, domain);
    fileOfDomain.set(domain.name, file.name);
    replacedNames.add(domain.name, { descriptors: spec.descriptors, problems: parsed.problems });
  }
  replacedNames.warn();
  return { ruleSet: { generation, domains, warnings: list.warningLines() }, list };
}

/** The rules of warnings that look at one level. */
function linting({ cost = 1, onLevel }: CompileOptions): (level: DeclaredLevel) => void {
  return (level) => {
    warnOfUnreachable(level);
    warnOfCost(level, { cost });
    warnOfLongWindow(level);
    warnOfUnboundedMetric(level);
    onLevel?.(level);
  };
}

function* compileDomain(
  spec: DomainSpec,
  { defaultAlgorithm, calendarMonth, problems, onLevel }: DomainCompilerOptions,
): Generator<undefined, Domain> {
  const algorithm = spec.algorithm ?? defaultAlgorithm;
  const { failureMode } = spec;
  const compiler = new DomainCompiler({ defaultAlgorithm: algorithm, calendarMonth, failureMode, problems, onLevel });
  const hashTag = spec.hashTag === undefined ? {} : { hashTag: toByteString(spec.hashTag) };
  const root = yield* compiler.compileRoot(spec.descriptors);
  return { name: toByteString(spec.name.value), defaultAlgorithm: algorithm, calendarMonth, root, ...hashTag, ...(failureMode && { failureMode }) };
}

function reportIfTaken(
  { name }: DomainSpec,
  { takenBy, problems }: { takenBy: string | undefined; problems: FileProblems },
): void {
  if (takenBy === undefined) return;
  const message = `${problems.file} and ${takenBy} both configure it; put all of a domain into one file`;
  problems.report({ offset: name.offset, path: 'domain', message });
}
