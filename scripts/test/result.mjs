/** The result of a stage of `npm test`, and its lines in the summary. */

/** How many of the slowest tests the summary lists. */
const SLOWEST_TESTS = 20;

/** @typedef {{ readonly file: string, readonly test: string, readonly text: string }} TestFailure */

/**
 * The result of a test. `status` is jest's, or 'flaky'; `figures` are those that the test recorded (test/support/docs/figure.ts).
 *
 * @typedef {object} TestResult
 * @property {string} file
 * @property {string} name
 * @property {string} status
 * @property {number} seconds
 * @property {readonly string[]} figures
 */

/**
 * @typedef {object} Outcome
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {number} [flaky]
 * @property {readonly string[]} [flakyTests]
 * @property {readonly TestFailure[]} [failures]
 * @property {readonly TestResult[]} [tests]
 * @property {string} [output] What the program printed, unless the user has seen it.
 * @property {string | undefined} [note] What the numbers do not show.
 */

/** @typedef {Outcome & { readonly name: string, readonly stage: import('./stages.mjs').Stage, readonly seconds: number }} StageResult */

/**
 * The outcome of a stage that is one test; `failure` is why it failed.
 *
 * @param {string | undefined} failure
 * @returns {Outcome}
 */
export function outcomeOf(failure) {
  return failure === undefined ? { passed: 1, failed: 0, skipped: 0 } : { passed: 0, failed: 1, skipped: 0, note: failure };
}

/** @param {number} timeoutS */
export function timeoutNote(timeoutS) {
  return `did not end within ${timeoutS} s and was stopped`;
}

/** @param {Omit<StageResult, 'stage'>} result */
export function lineOf({ name, seconds, note, ...counts }) {
  return `${name.padEnd(12)} ${seconds.toFixed(1).padStart(6)} s   ${numbersOf(counts)}${note === undefined ? '' : `   (${note})`}`;
}

/**
 * Prints the slowest tests, a line for each stage, and the total.
 *
 * @param {readonly StageResult[]} results
 * @param {{ seconds: number }} run
 */
export function printSummary(results, { seconds }) {
  const slowest = results
    .flatMap(({ tests = [] }) => tests)
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, SLOWEST_TESTS)
    .map((each) => `${each.seconds.toFixed(1).padStart(6)} s   ${each.file}: ${each.name}`);
  if (slowest.length > 0) console.log(`\n=== slowest tests\n${slowest.join('\n')}`);
  console.log(`\n=== summary\n${results.map(lineOf).join('\n')}\nall stages   ${seconds.toFixed(1).padStart(6)} s`);
  for (const text of results.flatMap(({ flakyTests = [] }) => flakyTests)) console.log(`flaky: ${text}`);
  const total = {
    passed: sumOf(results, 'passed'),
    failed: sumOf(results, 'failed'),
    flaky: sumOf(results, 'flaky'),
    skipped: sumOf(results, 'skipped'),
  };
  console.log(`total: ${numbersOf(total)}`);
}

/**
 * @param {readonly Outcome[]} results
 * @param {'passed' | 'failed' | 'flaky' | 'skipped'} field
 */
export function sumOf(results, field) {
  return results.reduce((total, result) => total + (result[field] ?? 0), 0);
}

/** @param {Pick<Outcome, 'passed' | 'failed' | 'flaky' | 'skipped'>} counts */
function numbersOf({ passed, failed, flaky = 0, skipped }) {
  return `${passed} passed, ${failed} failed${flaky === 0 ? '' : `, ${flaky} flaky`}${skipped === 0 ? '' : `, ${skipped} skipped`}`;
}
