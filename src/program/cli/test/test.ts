/** `weir test`: runs tests of a configuration in virtual time, without a server. */

import type { Environment } from '../../../configuration/settings/table/settings';
import { formatProblems, ConfigError } from '../../../configuration/problems/config-error';
import { ProblemList } from '../../../configuration/problems/problem-list';
import { readArgs } from '../read-args';
import { readChoice } from '../usage-error';
import { Pace } from './pace';
import { readTestFile } from './file/read-test-file';
import { runTestFile, type FileResult } from './run-test-file';
import type { TestFile } from './file/test-file';
import { findTestFiles } from './test-files';
import { REPORT_FORMATS, type Report, type ReportFormat } from './test-report';
import { watchTests } from './watch-tests';

export const TEST_USAGE = `weir test [FILE|DIR …] [--format text|tap|junit|json] [--watch]

  FILE|DIR    files of tests, or directories of files named *.test.yaml (default: the current directory)
  --format    text (default), tap, junit or json
  --watch     run again whenever a file of tests or a configuration changes, until it is interrupted

Each test begins with full buckets and sends requests in virtual time to the configuration that its file names.

Exit codes: 0 all tests passed, 1 a test failed, 2 a file or an argument is invalid.`;

export const TEST_OPTIONS = { format: { type: 'string' }, watch: { type: 'boolean' } } as const;

/** An invalid file of tests, configuration or argument. */
const EXIT_INVALID = 2;

interface TestRun {
  readonly places: readonly string[];
  readonly format: ReportFormat;
  readonly env: Environment;
}

/**
 * Resolves to the exit code.
 *
 * @throws UsageError or SettingsError
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
  const run = { places: positionals.length === 0 ? ['.'] : positionals, format, env };
  return values.watch === true ? watchTests({ places: run.places, runTests: () => runTests(run) }) : runTests(run);
}

/**
 * Writes the report, or what is wrong with the files; resolves to the exit code.
 *
 * @throws UsageError or SettingsError
 */
async function runTests({ places, format, env }: TestRun): Promise<number> {
  const list = new ProblemList();
  const texts = await findTestFiles(places);
  const files = texts.map((text) => readTestFile(text, list)).filter((file): file is TestFile => file !== undefined);
  try {
    list.throwIfAny();
    const results = await runFiles(files, env);
    const report: Report = { tests: results.flatMap(({ tests }) => tests), coverage: results };
    process.stdout.write(REPORT_FORMATS[format](report));
    return report.tests.some(({ failure }) => failure !== undefined) ? 1 : 0;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${formatProblems(error.problems, error.omitted).join('\n')}\n`);
    return EXIT_INVALID;
  }
}

/** @throws ConfigError if the configuration of a file does not load */
async function runFiles(files: readonly TestFile[], env: Environment): Promise<readonly FileResult[]> {
  const tests = files.reduce((sum, file) => sum + file.tests.length, 0);
  const pace = new Pace({ tests, terminal: process.stderr.isTTY ? process.stderr : undefined });
  try {
    const results = [];
    for (const file of files) results.push(await runTestFile(file, env, { pace }));
    return results;
  } finally {
    pace.end();
  }
}
