/**
 * A reporter of jest: a line for each file, or with WEIR_SHOWN=failures only for those that failed, and of each failure at most a hundred lines,
 * once. The file WEIR_FAILURES_FILE gets all of the text: a diff of two Buffers may have a quarter of a million lines.
 */

const { appendFileSync } = require('node:fs');
const path = require('node:path');
const { stripVTControlCharacters } = require('node:util');

/** The beginning of a text says what was expected, its end where. */
const LINES = { first: 70, last: 29 };
/** After as many failures of a run, the others are shown with a few lines. */
const SHOWN_WHOLE = 10;
const FEW_LINES = { first: 8, last: 1 };
const COLUMNS_MAX = 400;

/**
 * The parts of jest's results that are read.
 *
 * @typedef {{ readonly fullName: string, readonly status: string, readonly failureMessages: readonly string[] }} Assertion
 * @typedef {{ readonly message: string }} Logged
 * @typedef {{ readonly start: number, readonly end: number }} PerfStats
 */
/**
 * @typedef {object} FileResult
 * @property {string} testFilePath
 * @property {readonly Assertion[]} testResults
 * @property {string | null} [failureMessage]
 * @property {readonly Logged[]} [console]
 * @property {PerfStats} perfStats
 */

module.exports = class BriefReporter {
  failures = 0;

  /** @param {{ readonly rootDir: string }} config */
  constructor({ rootDir }) {
    this.rootDir = rootDir;
  }

  /**
   * @param {unknown} _test
   * @param {FileResult} result
   */
  onTestResult(_test, { testFilePath, testResults, failureMessage, console: logged = [], perfStats }) {
    const failed = testResults.filter(({ status }) => status === 'failed');
    const isBroken = failed.length === 0 && typeof failureMessage === 'string';
    if (process.env.WEIR_SHOWN === 'failures' && failed.length === 0 && !isBroken) return;
    const file = path.relative(this.rootDir, testFilePath);
    const seconds = ((perfStats.end - perfStats.start) / 1000).toFixed(1);
    print(`${failed.length > 0 || isBroken ? 'FAIL' : 'PASS'} ${file} (${seconds} s)`);
    for (const { message } of logged) print(shorten(message, FEW_LINES));
    for (const { fullName, failureMessages } of failed) this.tell(`${file}: ${fullName}`, failureMessages.join('\n'));
    if (isBroken) this.tell(`${file}: (outside of its tests)`, failureMessage);
  }

  /**
   * @param {string} title
   * @param {string} text
   */
  tell(title, text) {
    this.failures += 1;
    const plain = stripVTControlCharacters(text);
    const file = process.env.WEIR_FAILURES_FILE;
    if (file !== undefined) appendFileSync(file, `● ${title}\n\n${plain}\n\n`);
    const whole = file === undefined ? '' : `; all of it is in ${path.relative(this.rootDir, file)}`;
    print(`● ${title}\n${shorten(plain, this.failures > SHOWN_WHOLE ? FEW_LINES : LINES, whole)}\n`);
  }
};

/**
 * Without the lines of other packages in a stack, and without the middle of a long text.
 *
 * @param {string} text
 * @param {{ readonly first: number, readonly last: number }} kept
 * @param {string} [whole] Where the rest is.
 */
function shorten(text, { first, last }, whole = '') {
  const lines = text.split('\n').filter((line) => !/^\s+at .*[/\\]node_modules[/\\]/.test(line));
  const left = lines.length - first - last;
  const shown = left > 1 ? [...lines.slice(0, first), `… ${left} lines left out${whole} …`, ...lines.slice(-last)] : lines;
  return shown.map((line) => (line.length > COLUMNS_MAX ? `${line.slice(0, COLUMNS_MAX)}…` : line)).join('\n');
}

/** @param {string} text */
function print(text) {
  process.stderr.write(`${text}\n`);
}
