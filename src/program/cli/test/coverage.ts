/** Runs the tests beside a configuration, and says which rules they reach. */

import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Environment } from '../../../configuration/settings/table/settings';
import type { ConfigProblem } from '../../../configuration/problems/config-error';
import { ConfigError } from '../../../configuration/problems/config-error';
import { ProblemList } from '../../../configuration/problems/problem-list';
import { show } from '../../../lib/quote';
import type { TestsBeside } from '../check';
import { readTestFile } from './file/read-test-file';
import { runTestFile, type FileResult } from './run-test-file';
import { testFilesBelow } from './test-files';

interface CoverageInput {
  /** A configuration file, or a directory of them. */
  readonly configuration: string;
  readonly env: Environment;
}

/**
 * Runs the files of tests in the directory of the configuration, and below, that name it.
 *
 * @throws UsageError for a file that cannot be read
 */
export async function runTestsBeside({ configuration, env }: CoverageInput): Promise<TestsBeside> {
  const stats = await stat(configuration).catch(() => undefined);
  const directory = stats?.isDirectory() === true ? configuration : path.dirname(configuration);
  const reached = new Set<string>();
  const problems: ConfigProblem[] = [];
  for (const text of await testFilesBelow(directory)) {
    const list = new ProblemList();
    const file = readTestFile(text, list);
    problems.push(...list.found().kept);
    const places = (file?.configuration ?? []).map((each) => path.resolve(path.dirname(text.name), each));
    if (file === undefined || !places.some((place) => isPartOf(place, configuration) || isPartOf(configuration, place))) continue;
    try {
      const result = await runTestFile(file, env);
      for (const rule of result.reached) reached.add(rule);
      problems.push(...failuresOf(result));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
    }
  }
  return { reached, problems };
}

function failuresOf({ tests }: FileResult): ConfigProblem[] {
  return tests.flatMap(({ file, name, failure }) =>
    failure === undefined
      ? []
      : [{ file, line: failure.line, column: 1, path: '', message: `the test ${show(name)} failed; weir test shows why` }],
  );
}

/** The same place, or one below. */
function isPartOf(place: string, whole: string): boolean {
  const relative = path.relative(path.resolve(whole), path.resolve(place));
  return relative === '' || !(relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative));
}
