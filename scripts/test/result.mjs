/** The result of a stage of `npm test`, and its lines in the summary. */

import { availableParallelism } from 'node:os';

/** How many of the slowest tests the summary lists. */
const SLOWEST_TESTS = 20;

/** A stage is called slow if it takes this many times longer than on a quiet machine. */
const SLOW = 3;

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
 * @property {boolean} [stopped] It did not end within its limit.
 */

/**
 * @typedef {object} StageRun
 * @property {string} name
 * @property {import('./stages.mjs').Stage} stage
 * @property {number} seconds
 * @property {number} [processorS] The processor time of its processes, in seconds.
 * @property {number} [load] The highest load average while it ran.
 */

/** @typedef {Outcome & StageRun} StageResult */

/**
 * The outcome of a stage that is one test; `failure` is why it failed.
 *
 * @param {string | undefined} failure
 * @returns {Outcome}
 */
export function outcomeOf(failure) {
  return failure === undefined ? { passed: 1, failed: 0, skipped: 0 } : { passed: 0, failed: 1, skipped: 0, note: failure };
}

/**
 * The outcome of what did not end within its limit.
 *
 * @param {number} limitS
 * @returns {Outcome}
 */
export function stoppedAfter(limitS) {
  return { ...outcomeOf(`did not end within ${Math.round(limitS)} s and was stopped`), stopped: true };
}

/** @param {StageResult} result */
export function lineOf({ name, seconds, processorS, note, stage, stopped = false, load, ...counts }) {
  const isSlow = stopped || (stage.quietS > 0 && seconds > SLOW * stage.quietS);
  const busy = isSlow && load !== undefined ? [describeLoad(seconds / stage.quietS, load)] : [];
  const notes = [...(note === undefined ? [] : [note]), ...busy];
  const times = `${seconds.toFixed(1).padStart(6)} s${processorS === undefined ? '' : `, processor ${processorS.toFixed(0).padStart(4)} s`}`;
  return `${name.padEnd(12)} ${times}   ${numbersOf(counts)}${notes.length === 0 ? '' : `   (${notes.join('; ')})`}`;
}

/**
 * Says whether the machine had other work.
 *
 * @param {number} times
 * @param {number} load
 */
function describeLoad(times, load) {
  return `${times.toFixed(1)} times as long as on a quiet machine; load average up to ${load.toFixed(1)} on ${availableParallelism()} cores`;
}

/**
 * Prints a line for each stage, the longest first, the notes, and the total; before them the slowest tests.
 *
 * @param {readonly StageResult[]} results
 * @param {{ seconds: number, showsSlowest?: boolean, notes?: readonly string[] }} run
 */
export function printSummary(results, { seconds, showsSlowest = true, notes = [] }) {
  const slowest = results
    .flatMap(({ tests = [] }) => tests)
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, SLOWEST_TESTS)
    .map((each) => `${each.seconds.toFixed(1).padStart(6)} s   ${each.file}: ${each.name}`);
  if (showsSlowest && slowest.length > 0) console.log(`\n=== slowest tests\n${slowest.join('\n')}`);
  console.log(
    `\n=== summary\n${results
      .toSorted((a, b) => b.seconds - a.seconds)
      .map(lineOf)
      .join('\n')}\nall stages   ${seconds.toFixed(1).padStart(6)} s`,
  );
  for (const text of results.flatMap(({ flakyTests = [] }) => flakyTests)) console.log(`flaky: ${text}`);
  for (const note of notes) console.log(note);
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
