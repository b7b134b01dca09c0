/** `weir check`: reports every error and warning of a configuration at once, for people, programs and GitHub. */

import { LISTED_PROBLEMS_MAX, type ConfigProblem } from '../../configuration/problems/config-error';
import type { UnwrappedFile } from '../../configuration/source/files/config-map';
import { examineConfig } from '../../configuration/compile/compile';
import type { DeclaredLevel } from '../../configuration/compile/lint/declared-level';
import type { ProblemList } from '../../configuration/problems/problem-list';
import type { Rule } from '../../domain/rule/rule';
import type { RuleSet } from '../../domain/rule/rule-set';
import { ruleName, rulesOf } from '../../domain/rule/tree';
import { show } from '../../lib/quote';
import { describeRules } from '../../configuration/source/describe-rules';
import { WARNING_RULES, type WarningRule } from '../../configuration/problems/warning-rules';
import { problemsOfStart } from '../app/start/read-start';
import type { Environment } from '../../configuration/settings/table/settings';
import { SettingsError, type SettingProblem } from '../../configuration/settings/table/settings-error';
import { HITS_MAX } from '../../domain/descriptor/descriptor';
import { FINDINGS_FORMATS, isOk, type Findings } from './check-report';
import { readConfiguration, type Configuration, type ReadConfigurationInput } from './configuration';
import { readArgs } from './read-args';
import { readChoice, readWhole, UsageError } from './usage-error';

export const CHECK_USAGE = `weir check [FILE|DIR] [--strict] [--settings] [--tests] [--format text|json|github] [--cost N] [--ignore RULE] [--merge-domains]

  FILE|DIR         a YAML file, or a directory of them (default: what weir serve would load here)
  --strict         fail on warnings, too
  --settings       also check the settings and the files that they name, as weir settings does
  --tests          also run the tests beside the configuration, as weir test does; warns about rules that none reaches
  --format         text (default), json, or github: annotations of GitHub Actions
  --cost N         maximum hits of one request (default 1); warns about limits that hold fewer
  --ignore RULE    suppress the warnings of a rule; may be repeated
  --merge-domains  same as MERGE_DOMAIN_CONFIG=true: several files may configure one domain

Exit codes: 0 the configuration loads, 1 it does not, a setting is invalid or a test fails, 2 invalid arguments.`;

export const CHECK_OPTIONS = {
  strict: { type: 'boolean' },
  settings: { type: 'boolean' },
  tests: { type: 'boolean' },
  format: { type: 'string' },
  cost: { type: 'string' },
  ignore: { type: 'string', multiple: true },
  'merge-domains': { type: 'boolean' },
} as const;

/** The most errors, and the most warnings, that are listed beyond the first of each file: about 20 MiB of text. The others are counted. */
export const CHECKED_PROBLEMS_MAX = 100_000;

/** Which rules the tests beside a configuration reach, as `domain.path`, and what is wrong with the tests. */
export interface TestsBeside {
  readonly reached: ReadonlySet<string>;
  readonly problems: readonly ConfigProblem[];
}

export interface CheckInput {
  readonly args: readonly string[];
  readonly env: Environment;
  /** Called with `--tests`. */
  readonly runTestsBeside: (input: { readonly configuration: string; readonly env: Environment }) => Promise<TestsBeside>;
}

/** Where problems of settings are. */
const ENVIRONMENT = 'environment';

/**
 * Resolves to the exit code.
 *
 * @throws UsageError or SettingsError
 */
export async function check({ args, env, runTestsBeside }: CheckInput): Promise<number> {
  const { values, positionals } = readArgs(args, {
    command: 'weir check',
    usage: CHECK_USAGE,
    options: CHECK_OPTIONS,
    operand: 'one FILE or DIR',
    adviseOnOption: adviseOnConfig,
  });
  if (positionals[0] === '') throw new UsageError('weir check: FILE is empty; name a YAML file or a directory of YAML files');
  const format = readChoice('--format', values.format, ['text', 'json', 'github']);
  const cost = readWhole('--cost', values.cost, { min: 1, max: HITS_MAX, otherwise: 1 });
  const ignored = (values.ignore ?? []).map(readRule);
  const isStrict = values.strict === true;
  if (values.tests === true && positionals[0] === undefined) throw new UsageError('weir check: --tests needs FILE or DIR');
  const place = { path: positionals[0], env, mergesDomains: values['merge-domains'] === true };
  const problems = values.settings === true ? await problemsOfStart(env) : [];
  const findings = await findIn({ ...place, cost, ignored, ...(values.tests === true && { runTestsBeside }) }, problems);
  process.stdout.write(FINDINGS_FORMATS[format](findings, { isStrict }));
  return isOk(findings, { isStrict }) ? 0 : 1;
}

/** `--config` is how the other commands take the configuration. */
function adviseOnConfig(option: string, value = 'FILE'): string | undefined {
  return option === 'config' ? `give a file or a directory as weir check ${value}` : undefined;
}

interface FindInput extends ReadConfigurationInput {
  readonly cost: number;
  readonly ignored: readonly WarningRule[];
  /** Absent: no tests are run. */
  readonly runTestsBeside?: CheckInput['runTestsBeside'];
}

/** `settings`: problems that are reported before those of the files. Where they are also in the way of the files, only they are reported. */
async function findIn({ cost, ignored, runTestsBeside, ...input }: FindInput, settings: readonly SettingProblem[]): Promise<Findings> {
  const inSettings = settings.map(({ name: path, message }) => ({ file: ENVIRONMENT, line: 0, column: 0, path, message }));
  let configuration: Configuration;
  try {
    configuration = await readConfiguration({ ...input, problemsMax: CHECKED_PROBLEMS_MAX });
  } catch (error) {
    if (settings.length === 0 || !(error instanceof SettingsError)) throw error;
    return { files: 0, domains: 0, limits: 0, errors: inSettings, errorsOmitted: 0, warnings: [], warningsOmitted: 0 };
  }
  const { options, unwrapped } = configuration;
  const levels: DeclaredLevel[] = [];
  const { ruleSet, list } = examineConfig({ ...options, cost, ...(runTestsBeside && { onLevel: (level) => levels.push(level) }) });
  if (runTestsBeside !== undefined && list.found().kept.length === 0) {
    const { path: configuration = '.', env } = input;
    findInTests(await runTestsBeside({ configuration, env }), { ruleSet, levels, list });
  }
  const places = new Map(options.files.map(({ name }, index) => [name, index]));
  const inOrder = <T extends ConfigProblem>(found: readonly T[]) =>
    [...found].sort((one, other) => compare(one, other, places)).map((each) => inManifest(each, unwrapped.get(each.file)));
  return {
    files: options.files.length,
    domains: ruleSet.domains.size,
    limits: describeRules(ruleSet).length,
    errors: [...inSettings, ...firstOfEachFirst(inOrder(list.found().kept))],
    errorsOmitted: list.found().omitted,
    warnings: inOrder(list.warned().kept.filter(({ rule }) => !ignored.includes(rule))),
    warningsOmitted: list.warned().omitted,
  };
}

interface FindInTestsInput {
  readonly ruleSet: RuleSet;
  readonly levels: readonly DeclaredLevel[];
  readonly list: ProblemList;
}

/** Reports tests that fail, and warns of rules that none reaches. */
function findInTests({ reached, problems }: TestsBeside, { ruleSet, levels, list }: FindInTestsInput): void {
  for (const problem of problems) list.add(problem);
  const names = new Map<Rule, string>();
  for (const { name: domain, root } of ruleSet.domains.values())
    for (const { rule } of rulesOf(root)) names.set(rule, ruleName(domain, rule.path));
  for (const { spec, node } of levels.flatMap(({ declared }) => declared)) {
    const name = node.rule && names.get(node.rule);
    if (name === undefined || reached.has(name)) continue;
    spec.problems.warn({ rule: 'untested-rule', offset: spec.offset, path: spec.path, message: `no test reaches the rule ${show(name)}` });
  }
}

/** The first problem of each file, then all others: a reader of the first screen sees every faulty file. */
function firstOfEachFirst<T extends Place>(found: readonly T[]): readonly T[] {
  if (found.length <= LISTED_PROBLEMS_MAX) return found;
  const isFirst = (problem: T, index: number) => found[index - 1]?.file !== problem.file;
  return [...found.filter(isFirst), ...found.filter((problem, index) => !isFirst(problem, index))];
}

interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Maps a problem of a ConfigMap's entry to its place in the ConfigMap. */
function inManifest<T extends ConfigProblem>(problem: T, entry: Pick<UnwrappedFile, 'file' | 'key'> | undefined): T {
  if (entry === undefined) return problem;
  const { file, key } = entry;
  return { ...problem, file, path: `data.${key}${problem.path === '' ? '' : `: ${problem.path}`}` };
}

/** Orders by file, as the files are read (folders and unknown files first), then from top to bottom. */
function compare(one: Place, other: Place, places: ReadonlyMap<string, number>): number {
  const byFile = (places.get(one.file) ?? -1) - (places.get(other.file) ?? -1);
  if (byFile !== 0) return byFile;
  return one.line === other.line ? one.column - other.column : one.line - other.line;
}

function readRule(word: string): WarningRule {
  const rule = Object.keys(WARNING_RULES).find((each) => each === word);
  if (rule === undefined)
    throw new UsageError(`--ignore: ${JSON.stringify(word)} is not a rule of weir check; use ${Object.keys(WARNING_RULES).join(', ')}`);
  return rule as WarningRule;
}
