/** `weir check`: every error and warning of a configuration at once, for people, programs and GitHub. */

import { parseArgs } from 'node:util';
import { examineConfig } from '../config/compile';
import { describeRules } from '../config/describe-rules';
import { WARNING_RULES, type WarningRule } from '../config/warning-rules';
import type { Environment } from '../config/settings';
import { HITS_MAX } from '../descriptor/descriptor';
import { FINDINGS_FORMATS, type Findings } from './findings';
import { readConfiguration, type ReadConfigurationInput } from './configuration';
import { readChoice, readWhole, UsageError } from './usage-error';

export const CHECK_USAGE = `weir check [FILE|DIR] [--strict] [--format text|json|github] [--cost N] [--ignore RULE] [--merge-domains]

  FILE|DIR         a YAML file, or a directory of them (default: what weir serve would serve here)
  --strict         warnings fail, too
  --format         text (default), json, or github: annotations of GitHub Actions
  --cost N         the most hits that a request asks for (default 1), for warnings
  --ignore RULE    leaves out the warnings of a rule; may be repeated
  --merge-domains  as MERGE_DOMAIN_CONFIG=true: a domain may be in several files

Exits with 0 if it is fine, 1 if it is not, 2 if the question makes no sense.`;

export const CHECK_OPTIONS = {
  strict: { type: 'boolean' },
  format: { type: 'string' },
  cost: { type: 'string' },
  ignore: { type: 'string', multiple: true },
  'merge-domains': { type: 'boolean' },
} as const;

/**
 * Resolves with the exit code.
 *
 * @throws UsageError or SettingsError
 */
export async function check({ args, env }: { readonly args: readonly string[]; readonly env: Environment }): Promise<number> {
  const { values, positionals } = parseArgs({ args: [...args], options: CHECK_OPTIONS, allowPositionals: true });
  if (positionals.length > 1) throw new UsageError('weir check takes one FILE or DIR');
  const format = readChoice('--format', values.format, ['text', 'json', 'github']);
  const cost = readWhole('--cost', values.cost, { min: 1, max: HITS_MAX, otherwise: 1 });
  const ignored = (values.ignore ?? []).map(readRule);
  const findings = await findIn({ path: positionals[0], env, mergesDomains: values['merge-domains'] === true, cost, ignored });
  process.stdout.write(FINDINGS_FORMATS[format](findings));
  const failed = findings.errors.length > 0 || (values.strict === true && findings.warnings.length > 0);
  return failed ? 1 : 0;
}

interface FindInput extends ReadConfigurationInput {
  readonly cost: number;
  readonly ignored: readonly WarningRule[];
}

async function findIn({ cost, ignored, ...input }: FindInput): Promise<Findings> {
  const { options } = await readConfiguration(input);
  const { ruleSet, list } = examineConfig({ ...options, cost });
  const places = new Map(options.files.map(({ name }, index) => [name, index]));
  const inOrder = <T extends Place>(found: readonly T[]) => [...found].sort((one, other) => compare(one, other, places));
  return {
    files: options.files.length,
    domains: ruleSet.domains.size,
    limits: describeRules(ruleSet).length,
    errors: inOrder(list.found().kept),
    errorsOmitted: list.found().omitted,
    warnings: inOrder(list.warned().kept.filter(({ rule }) => !ignored.includes(rule))),
    warningsOmitted: list.warned().omitted,
  };
}

interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** By file as they are read (what is no such file, as a folder, first), then from top to bottom. */
function compare(one: Place, other: Place, places: ReadonlyMap<string, number>): number {
  const byFile = (places.get(one.file) ?? -1) - (places.get(other.file) ?? -1);
  if (byFile !== 0) return byFile;
  return one.line === other.line ? one.column - other.column : one.line - other.line;
}

function readRule(word: string): WarningRule {
  const rule = Object.keys(WARNING_RULES).find((each) => each === word);
  if (rule === undefined) throw new UsageError(`--ignore: ${JSON.stringify(word)} is no rule; use ${Object.keys(WARNING_RULES).join(', ')}`);
  return rule as WarningRule;
}
