/** Runs the test files of a stage with jest, and reads the result of each test from its report. */
import { existsSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { parseJson } from '../process/parse-json.mjs';
import { ROOT } from '../process/repository.mjs';
import { run } from '../process/run.mjs';
import { outcomeOf, stoppedAfter } from './result.mjs';

/** @typedef {import('./result.mjs').Outcome} Outcome */

const REPORTERS = ['brief-reporter.cjs', 'progress-reporter.cjs'];

/**
 * How a stage runs: its Node and its environment, where jest writes its report and what the failures say, and when it is stopped.
 *
 * @typedef {object} JestOptions
 * @property {string} node
 * @property {NodeJS.ProcessEnv} env
 * @property {import('../process/run.mjs').Output} show
 * @property {boolean} [isBrief] Only failures are shown.
 * @property {string} resultsFolder
 * @property {string} failuresFile
 * @property {number} limitS
 */

/**
 * The part of jest's report that is read.
 *
 * @typedef {object} Report
 * @property {number} numPassedTests
 * @property {number} numPendingTests
 * @property {number} numTodoTests
 * @property {readonly FileReport[]} testResults
 */

/** @typedef {{ name: string, status: string, message: string, assertionResults: readonly TestReport[] }} FileReport */
/** @typedef {{ fullName: string, status: string, duration?: number | null, failureMessages: readonly string[] }} TestReport */
/** @typedef {{ file: string, name: string, text: string }} Figure */

/**
 * Runs the `folders` and `files` of a stage.
 *
 * @param {import('./stages.mjs').Stage} stage
 * @param {JestOptions} options
 * @returns {Promise<Outcome>}
 */
export async function runJest(stage, { node, env, show, isBrief = false, resultsFolder, failuresFile, limitS }) {
  const { name, folders = [], files = [], onlyLong = [], leftOut = [], titles = [], workers = 1 } = stage;
  /** @param {string} path */
  const isAbsent = (path) => !existsSync(join(ROOT, path));
  const absent = [...folders, ...files].filter(isAbsent);
  const present = [...folders, ...files].filter((path) => !isAbsent(path));
  const without = new Set([...onlyLong, ...leftOut]);
  const paths = present.flatMap(testFilesOf).filter((file) => !without.has(file));
  // All of them had passed before.
  if (paths.length === 0 && leftOut.length > 0) return { passed: 0, failed: 0, skipped: 0, tests: [] };
  const absentNote = absent.length === 0 ? undefined : `missing: ${absent.join(', ')}`;
  if (absent.length === folders.length + files.length) return outcomeOf(absentNote ?? 'it has no tests');

  const resultFile = join(resultsFolder, `${name}.json`);
  // An earlier run of the stage may have left its report.
  rmSync(resultFile, { force: true });
  const figuresFile = join(resultsFolder, `${name}.figures`);
  rmSync(figuresFile, { force: true });
  const args = [
    // Files, and no options of jest's configuration: what jest makes of a file depends on them, and is kept for all stages.
    '--runTestsByPath',
    ...new Set(paths),
    // jest takes files below its roots alone, and the stage of a test may be elsewhere.
    ...paths.filter((path) => !path.startsWith('test/')).flatMap((path) => ['--roots', `<rootDir>/${dirname(path)}`]),
    ...REPORTERS.map((reporter) => `--reporters=<rootDir>/scripts/test/${reporter}`),
    // Otherwise jest prints what the tests of a single file log by itself.
    '--verbose=false',
    // Node may clean up for ever when it ends by itself: after the tests of other proxies it did, with a busy core.
    '--forceExit',
    '--json',
    `--outputFile=${resultFile}`,
    workers === 1 ? '--runInBand' : `--maxWorkers=${workers}`,
    ...(titles.length === 0 ? [] : [`--testNamePattern=${titles.join('|')}`]),
  ];
  const nodeFirst = { PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}` };
  const { code, timedOut, output } = await run(node, [join('node_modules', 'jest', 'bin', 'jest.js'), ...args], {
    timeoutS: limitS,
    env: {
      ...nodeFirst,
      WEIR_PROGRESS_FILE: join(resultsFolder, `${name}.progress`),
      WEIR_FAILURES_FILE: failuresFile,
      WEIR_FIGURES_FILE: figuresFile,
      ...(isBrief ? { WEIR_SHOWN: 'failures' } : {}),
      ...env,
    },
    output: show,
  });
  const outcome = {
    ...(timedOut ? stoppedAfter(limitS) : readReport({ resultFile, figuresFile, code, isPart: titles.length > 0 })),
    output,
  };
  return absentNote === undefined ? outcome : { ...outcome, failed: outcome.failed + 1, note: absentNote };
}

/**
 * The test files in a folder, or the file itself.
 *
 * @param {string} path
 * @returns {string[]}
 */
function testFilesOf(path) {
  if (!statSync(join(ROOT, path)).isDirectory()) return [path];
  return readdirSync(join(ROOT, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() || entry.name.endsWith('.test.ts'))
    .flatMap(({ name }) => testFilesOf(`${path}/${name}`));
}

/**
 * Where only a part of the tests ran, jest's report counts the others as skipped; here they do not count.
 *
 * @param {{ resultFile: string, figuresFile: string, code: number, isPart: boolean }} ended
 * @returns {Outcome}
 */
function readReport({ resultFile, figuresFile, code, isPart }) {
  if (!existsSync(resultFile)) return outcomeOf(`jest wrote no report (exit code ${code})`);
  const report = /** @type {Report} */ (parseJson(readFileSync(resultFile, 'utf8')));
  const failures = report.testResults.flatMap(failuresOf);
  const figures = readFigures(figuresFile);
  const outcome = {
    passed: report.numPassedTests,
    failed: failures.length,
    skipped: isPart ? 0 : report.numPendingTests + report.numTodoTests,
    failures,
    tests: report.testResults.flatMap((file) => testsOf(file, figures)).filter(({ status }) => !isPart || status !== 'pending'),
  };
  return code !== 0 && failures.length === 0 ? { ...outcome, failed: 1, note: `jest ended with exit code ${code}` } : outcome;
}

/**
 * A file that fails outside of its tests counts as one failed test.
 *
 * @param {FileReport} file
 */
function failuresOf({ name, status, message, assertionResults }) {
  const file = relative(ROOT, name);
  const failures = assertionResults
    .filter((test) => test.status === 'failed')
    .map(({ fullName, failureMessages }) => ({ file, test: fullName, text: stripVTControlCharacters(failureMessages.join('\n')) }));
  return status === 'failed' && failures.length === 0
    ? [{ file, test: '(outside of its tests)', text: stripVTControlCharacters(message) }]
    : failures;
}

/**
 * @param {FileReport} file
 * @param {readonly Figure[]} figures
 */
function testsOf({ name, assertionResults }, figures) {
  const file = relative(ROOT, name);
  return assertionResults.map(({ fullName, status, duration }) => ({
    file,
    name: fullName,
    status,
    seconds: (duration ?? 0) / 1000,
    figures: figures.filter((figure) => figure.file === file && figure.name === fullName).map(({ text }) => text),
  }));
}

/**
 * Tests write a line of JSON for each figure.
 *
 * @param {string} file
 */
function readFigures(file) {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => /** @type {Figure} */ (parseJson(line)));
}

/**
 * The outcome of all files of a stage: a title that no test has any more is a failure.
 *
 * @param {import('./stages.mjs').Stage} stage
 * @param {Outcome} outcome
 * @returns {Outcome}
 */
export function withAllTitles({ titles = [] }, outcome) {
  const gone = titles.filter((title) => !(outcome.tests ?? []).some(({ name }) => name.includes(title)));
  if (gone.length === 0 || outcome.note !== undefined) return outcome;
  return { ...outcome, failed: outcome.failed + 1, note: `no test has the title: ${gone.join('; ')}` };
}
