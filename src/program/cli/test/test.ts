/** `weir test`: runs tests of a configuration in virtual time, without a server. */

import type { Environment } from '../../../configuration/settings/table/settings';
import { formatProblems } from '../../../configuration/problems/config-error';
import { ProblemList } from '../../../configuration/problems/problem-list';
import { readArgs } from '../read-args';
import { readChoice } from '../usage-error';
import { readTestFile } from './read-test-file';
import { runTestFile } from './run-test-file';
import type { TestFile } from './test-file';
import { findTestFiles } from './test-files';
import { REPORT_FORMATS, type Report } from './test-report';

export const TEST_USAGE = `weir test [FILE|DIR …] [--format text|tap|junit|json]

  FILE|DIR    files of tests, or directories of files named *.test.yaml (default: the current directory)
  --format    text (default), tap, junit or json

Each test begins with full buckets and sends requests in virtual time to the configuration that its file names.

Exit codes: 0 all tests passed, 1 a test failed, 2 a file or an argument is invalid.`;

export const TEST_OPTIONS = { format: { type: 'string' } } as const;

/**
 * Resolves to the exit code.
 *
 * @throws UsageError or SettingsError; ConfigError for a configuration that does not load
 */
export async function test({ args, env }: { readonly args: readonly string[]; readonly env: Environment }): Promise<number> {
  const { values, positionals } = readArgs(args, {
    command: 'weir test',
    usage: TEST_USAGE,
    options: TEST_OPTIONS,
    operand: 'FILE or DIR',
    takesSeveral: true,
  });
  const format = readChoice('--format', values.format, ['text', 'tap', 'junit', 'json']);
  const list = new ProblemList();
  const texts = await findTestFiles(positionals.length === 0 ? ['.'] : positionals);
  const files = texts.map((text) => readTestFile(text, list)).filter((file): file is TestFile => file !== undefined);
  const { kept, omitted } = list.found();
  if (kept.length > 0) {
    process.stderr.write(`${formatProblems(kept, omitted).join('\n')}\n`);
    return 2;
  }
  const results = [];
  for (const file of files) results.push(await runTestFile(file, env));
  const report: Report = { tests: results.flatMap(({ tests }) => tests), coverage: results };
  process.stdout.write(REPORT_FORMATS[format](report));
  return report.tests.some(({ failure }) => failure !== undefined) ? 1 : 0;
}
