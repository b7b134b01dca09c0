/** Makes the rule set of configuration files: text in, immutable rules out, or every problem at once. */

import { toByteString } from '../descriptor/byte-string';
import type { Algorithm } from '../rule/limit';
import type { Domain, RuleSet } from '../rule/rule-set';
import { DomainCompiler, type DomainCompilerOptions } from './compile-domain';
import { openDocument, type ConfigDocument } from './config-document';
import type { ConfigProblem } from './config-error';
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
}

/** Pure. Throws ConfigError, and nothing else, on any text. */
export function compileConfig(options: CompileOptions): RuleSet {
  const steps = compileInSteps(options);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** The same, with a rest between steps in which something else may be done. */
export function* compileInSteps(options: CompileOptions): Generator<undefined, RuleSet> {
  const { files, defaultAlgorithm, calendarMonth = false, generation, problems = [] } = options;
  const list = new ProblemList();
  for (const problem of problems) list.add(problem);
  const domains = new Map<string, Domain>();
  const fileOfDomain = new Map<string, string>();
  for (const file of files) {
    const parsed = openDocument(file, list);
    const spec = parsed.root && readDomain(parsed.root, parsed.problems);
    yield;
    if (spec === undefined) continue;
    // Compiled even if the domain is a duplicate: its own problems are wanted too.
    const domain = compileDomain(spec, { defaultAlgorithm, calendarMonth, problems: parsed.problems });
    reportIfTaken(spec, { takenBy: fileOfDomain.get(domain.name), problems: parsed.problems });
    domains.set(domain.name, domain);
    fileOfDomain.set(domain.name, file.name);
    yield;
  }
  list.throwIfAny();
  return { generation, domains, warnings: list.warningLines() };
}

function compileDomain(
  spec: DomainSpec,
  { defaultAlgorithm, calendarMonth, problems }: DomainCompilerOptions,
): Domain {
  const algorithm = spec.algorithm ?? defaultAlgorithm;
  const { failureMode } = spec;
  const compiler = new DomainCompiler({ defaultAlgorithm: algorithm, calendarMonth, failureMode, problems });
  const hashTag = spec.hashTag === undefined ? {} : { hashTag: toByteString(spec.hashTag) };
  const root = compiler.compileRoot(spec.descriptors);
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
