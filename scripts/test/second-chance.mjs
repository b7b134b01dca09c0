/** The second chance: test files that failed, and stages that were stopped, run once more, alone. What then passes is listed as flaky. */

/** All repetitions together; what has no time left stays failed. */
const TOTAL_S = 20 * 60;
/** Lines of a first failure that the summary shows. */
const TEXT_LINES_MAX = 12;
const COLUMNS_MAX = 200;

/** @typedef {import('./result.mjs').StageResult} StageResult */
/** @typedef {import('./result.mjs').Outcome} Outcome */
/** @typedef {import('./stages.mjs').Stage} Stage */

/**
 * What runs again: a file of a stage, or, without one, all of the stage. `seconds` is what it took before.
 *
 * @typedef {{ readonly stage: Stage, readonly file?: string, readonly seconds: number }} Chance
 */

/**
 * @typedef {object} Repeating
 * @property {(chance: { stage: Stage, file: string | undefined, limitS: number }) => Promise<Outcome>} repeat Runs it again, for `limitS` at most.
 * @property {(line: string) => void} [print]
 * @property {number} [totalS]
 * @property {() => number} [nowMs]
 */

/**
 * Takes the results of all stages, and resolves to the results after the second run. Tests that failed once and then passed are
 * counted as `flaky` and described in `flakyTests`. The shortest files come first, so that as many as possible have their chance.
 *
 * @param {readonly StageResult[]} results
 * @param {Repeating} repeating
 */
export async function giveSecondChance(results, { repeat, print = console.log, totalS = TOTAL_S, nowMs = () => performance.now() }) {
  const chances = results.flatMap(chancesOf).toSorted((a, b) => a.seconds - b.seconds);
  if (chances.length === 0) return results;
  print('\n=== second chance: what failed, once more, alone, with the same seed');
  const endMs = nowMs() + totalS * 1000;
  /** @type {Map<Chance, Outcome>} */
  const repeated = new Map();
  for (const chance of chances) {
    const limitS = (endMs - nowMs()) / 1000;
    if (limitS <= 0) break;
    const outcome = await repeat({ stage: chance.stage, file: chance.file, limitS });
    repeated.set(chance, outcome);
    print(`... ${nameOf(chance)}: ${isPassed(outcome) ? 'passed' : `failed again: ${whyFailed(outcome)}`}`);
  }
  const left = chances.filter((chance) => !repeated.has(chance));
  if (left.length > 0) print(`... not repeated, because ${totalS / 60} minutes have passed: ${left.map(nameOf).join(', ')}`);
  return results.map((result) => afterwards(result, repeated));
}

/**
 * A stage that failed otherwise, such as a linter that found something, would fail again.
 *
 * @param {StageResult} result
 * @returns {readonly Chance[]}
 */
function chancesOf({ stage, failures = [], tests = [], seconds, stopped = false }) {
  if (stopped) return [{ stage, seconds }];
  return [...new Set(failures.map(({ file }) => file))].map((file) => ({
    stage,
    file,
    seconds: tests.filter((test) => test.file === file).reduce((sum, test) => sum + test.seconds, 0),
  }));
}

/** @param {Chance} chance */
function nameOf({ stage, file = `all of ${stage.name}` }) {
  return file;
}

/** @param {Outcome} outcome */
function isPassed({ passed, failed }) {
  return failed === 0 && passed > 0;
}

/** @param {Outcome} outcome */
function whyFailed({ note, failures = [] }) {
  const [first] = failures;
  return note ?? (first === undefined ? 'it ran no test' : `${first.test}: ${linesOf(first.text)[0] ?? ''}`);
}

/**
 * @param {StageResult} result
 * @param {ReadonlyMap<Chance, Outcome>} repeated
 * @returns {StageResult}
 */
function afterwards(result, repeated) {
  const own = [...repeated].filter(([{ stage }]) => stage === result.stage);
  const whole = own.find(([{ file }]) => file === undefined)?.[1];
  if (whole !== undefined) return isPassed(whole) ? passedLater(result, whole) : result;
  const files = own.filter(([, outcome]) => isPassed(outcome)).map(([{ file }]) => file);
  return withFlaky(result, files);
}

/**
 * A stage that was stopped, and passed when it had the machine for itself.
 *
 * @param {StageResult} result
 * @param {Outcome} outcome
 * @returns {StageResult}
 */
function passedLater(result, { passed, failed, skipped, tests = [] }) {
  const text = `${result.name}: ${result.note ?? 'was stopped'}; it passed when it was repeated alone`;
  return { ...result, note: undefined, stopped: false, passed, failed, skipped, tests, flaky: 1, flakyTests: [text] };
}

/**
 * @param {StageResult} result
 * @param {readonly (string | undefined)[]} passedFiles
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
  const lines = linesOf(text);
  const shown = lines.length > TEXT_LINES_MAX ? [...lines.slice(0, TEXT_LINES_MAX), '…'] : lines;
  return [`${file}: ${test}`, ...shown.map((line) => `    ${line.slice(0, COLUMNS_MAX)}`)].join('\n');
}

/** @param {string} text */
function linesOf(text) {
  return text.split('\n').filter((line) => line.trim() !== '' && !line.includes('node_modules'));
}
