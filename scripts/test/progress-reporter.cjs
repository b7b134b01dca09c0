/** A reporter of jest: writes to the file WEIR_PROGRESS_FILE how many test files are done, and how many there are. */

const { writeFileSync } = require('node:fs');

/**
 * The part of jest's results that is read.
 *
 * @typedef {object} AggregatedResult
 * @property {number} numPassedTestSuites
 * @property {number} numFailedTestSuites
 * @property {number} numPendingTestSuites
 * @property {number} numTotalTestSuites
 */

module.exports = class ProgressReporter {
  /** @param {AggregatedResult} results */
  onRunStart(results) {
    this.write(results);
  }

  /**
   * @param {unknown} _test
   * @param {unknown} _result
   * @param {AggregatedResult} results
   */
  onTestResult(_test, _result, results) {
    this.write(results);
  }

  /** @param {AggregatedResult} results */
  write({ numPassedTestSuites, numFailedTestSuites, numPendingTestSuites, numTotalTestSuites }) {
    const file = process.env.WEIR_PROGRESS_FILE;
    if (file !== undefined)
      writeFileSync(file, `${numPassedTestSuites + numFailedTestSuites + numPendingTestSuites} of ${numTotalTestSuites} files`);
  }
};
