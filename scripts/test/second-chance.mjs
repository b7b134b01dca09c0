/** The second chance: test files that failed run once more, alone. Those that then pass are listed as flaky. */

/** When more files fail, a busy machine is not the cause. */
const FILES_MAX = 3;
/** Lines of a first failure that the summary shows. */
const TEXT_LINES_MAX = 12;

/** @typedef {import('./result.mjs').StageResult} StageResult */
/** @typedef {{ readonly stage: import('./stages.mjs').Stage, readonly file: string }} FileOfStage */

/**
 * Takes the results of all stages, and resolves to the results after the second run. Tests that failed once and then passed are
 * counted as `flaky` and described in `flakyTests`. `repeat` runs one file again. If a failure remains that a second run cannot clear,
 * no file is repeated, because the run fails anyway.
 *
 * @param {readonly StageResult[]} results
 * @param {{ repeat: (file: FileOfStage) => Promise<{ passed: number, failed: number }>, print?: (line: string) => void }} options
 * @returns {Promise<readonly StageResult[]>}
 */
export async function giveSecondChance(results, { repeat, print = console.log }) {
  const failed = results.filter((result) => result.failed > 0);
  const files = failed.flatMap(({ stage, failures = [] }) =>
    [...new Set(failures.map(({ file }) => file))].map((file) => ({ stage, file })),
  );
  if (files.length === 0 || files.length > FILES_MAX || !failed.every(mayPassLater)) return results;

  print('\n=== second chance: each failed file once more, alone, with the same seed');
  /** @type {FileOfStage[]} */
  const passed = [];
  for (const { stage, file } of files) {
    print(`... ${file}`);
    const outcome = await repeat({ stage, file });
    if (outcome.failed === 0 && outcome.passed > 0) passed.push({ stage, file });
  }
  return results.map((result) =>
    withFlaky(
      result,
      passed.filter(({ stage }) => stage === result.stage).map(({ file }) => file),
    ),
  );
}

/**
 * Whether only tests failed, in a stage whose tests depend on real time.
 *
 * @param {StageResult} result
 */
function mayPassLater({ stage, note, failures = [] }) {
  return stage.secondChance === true && note === undefined && failures.length > 0;
}

/**
 * @param {StageResult} result
 * @param {readonly string[]} passedFiles
 * @returns {StageResult}
 */
function withFlaky(result, passedFiles) {
  const flaky = (result.failures ?? []).filter(({ file }) => passedFiles.includes(file));
  if (flaky.length === 0) return result;
  const tests = (result.tests ?? []).map((test) =>
    test.status === 'failed' && passedFiles.includes(test.file) ? { ...test, status: 'flaky' } : test,
  );
  return { ...result, tests, failed: result.failed - flaky.length, flaky: flaky.length, flakyTests: flaky.map(describe) };
}

/** @param {import('./result.mjs').TestFailure} failure */
function describe({ file, test, text }) {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.includes('node_modules'));
  const shown = lines.length > TEXT_LINES_MAX ? [...lines.slice(0, TEXT_LINES_MAX), '…'] : lines;
  return [`${file}: ${test}`, ...shown.map((line) => `    ${line}`)].join('\n');
}
