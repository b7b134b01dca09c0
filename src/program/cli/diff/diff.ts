/** `weir diff`: compares two configurations by meaning. */

import { compareRuleSets } from '../../../configuration/diff/compare-rule-sets';
import type { ConfigurationDiff, Direction } from '../../../configuration/diff/change';
import { examineConfig } from '../../../configuration/compile/compile';
import type { RuleSet } from '../../../domain/rule/rule-set';
import type { Environment } from '../../../configuration/settings/table/settings';
import { readConfiguration } from '../configuration';
import { readArgs } from '../read-args';
import { readChoice, UsageError } from '../usage-error';
import { DIFF_FORMATS } from './diff-report';

export const DIFF_USAGE = `weir diff OLD NEW [--format text|json|markdown] [--merge-domains]

  OLD, NEW         two configurations, each a YAML file or a directory of them
  --format         text (default), json, or markdown for a merge request
  --merge-domains  same as MERGE_DOMAIN_CONFIG=true: several files may configure one domain

Compares by meaning: order, comments and file names make no difference.

Exit codes: 0 the same requests are admitted, 10 only more, 11 fewer, or other ones, 1 a configuration does not load, 2 invalid arguments.`;

export const DIFF_OPTIONS = { format: { type: 'string' }, 'merge-domains': { type: 'boolean' } } as const;

const EXIT_CODES: Readonly<Record<Direction, number>> = { none: 0, looser: 10, stricter: 11, both: 11 };

interface Examined {
  readonly ruleSet: RuleSet;
  /** Rules that no request reaches. */
  readonly unreachable: readonly string[];
}

/**
 * Resolves to the exit code.
 *
 * @throws UsageError or SettingsError; ConfigError for a configuration that does not load
 */
export async function diff({ args, env }: { readonly args: readonly string[]; readonly env: Environment }): Promise<number> {
  const { values, positionals } = readArgs(args, {
    command: 'weir diff',
    usage: DIFF_USAGE,
    options: DIFF_OPTIONS,
    operand: 'OLD and NEW',
    takesSeveral: true,
  });
  const format = readChoice('--format', values.format, ['text', 'json', 'markdown']);
  const [old, next, ...more] = positionals;
  if (old === undefined || next === undefined || more.length > 0)
    throw new UsageError(`weir diff: ${positionals.length} configurations are given; give two, OLD and NEW`);
  const mergesDomains = values['merge-domains'] === true;
  const [from, to] = [await examine({ path: old, env, mergesDomains }), await examine({ path: next, env, mergesDomains })];
  const known = new Set(from.unreachable);
  const found: ConfigurationDiff = {
    ...compareRuleSets(from.ruleSet, to.ruleSet),
    unreachable: to.unreachable.filter((each) => !known.has(each)),
  };
  process.stdout.write(DIFF_FORMATS[format](found));
  return EXIT_CODES[found.direction];
}

async function examine(place: Parameters<typeof readConfiguration>[0]): Promise<Examined> {
  const { options } = await readConfiguration(place);
  const { ruleSet, list } = examineConfig(options);
  list.throwIfAny();
  const warnings = list.warned().kept.filter(({ rule }) => rule === 'unreachable-descriptor');
  return { ruleSet, unreachable: warnings.map(({ path, message }) => `${path}: ${message}`) };
}
