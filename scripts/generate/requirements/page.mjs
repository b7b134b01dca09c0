/** docs/generated/requirements.md: a row for each test file with the promise at its head and what its last run showed. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { sectionsOf } from './sections.mjs';

/** Below the root of the repository. */
export const PAGE = 'docs/generated/requirements.md';

const INTRODUCTION = `# Promises and their tests

Each row is the promise at the head of a test file, the file, and what its last run showed: the number of tests that ran, and the first figures that they recorded (\`+2\`: two more).
The titles in the file are the finer promises. A file that has not run since it was added has a dash.

\`node scripts/generate/requirements.mjs\` writes this page from the test files and keeps the last column. \`npm run test:long\` fills it in.
\`npm run test:all\` fails if a test file did not run, except those of the long form.
`;

const TABLE = '| promise | test | tests in the last run |\n|---|---|---|';

/** `| promise | [name](../../test/name.test.ts) | last run |`. */
const ROW = /^\| .* \| \[[^\]]*\]\((?:\.\.\/)+(test\/[^)]+)\) \| (.*) \|$/;

const RUN = /^Last run: .*$/m;

/** The last run of a file that has not run since it was added. */
const NO_RUN = '-';

/** A row shows the first figures, at most this many in at most this many characters; `+n` stands for n others. */
const FIGURES_MAX = 2;
const FIGURES_CHARACTERS_MAX = 60;

const RANDOM_CASES = /^([\d,]+) random cases$/;

/** @typedef {import('../../test/result.mjs').TestResult} TestResult */
/** @typedef {import('../../test/requirements.mjs').KeptRun} KeptRun */

/**
 * Every test file of the repository, sorted.
 *
 * @param {string} root
 */
export function testFilesOf(root) {
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/${name.replaceAll('\\', '/')}`)
    .toSorted();
}

/**
 * The page with the promises of the test files. A file without results keeps the last column of the present page.
 *
 * @param {{ root: string, page: string, results?: KeptRun }} options
 */
export function requirementsPage({ root, page, results: { run, tests } = { run: undefined, tests: [] } }) {
  const before = lastRunsOf(page);
  const ran = oncePerName(tests);
  const files = testFilesOf(root);
  const sections = sectionsOf(files).map(({ title, files: own }) => {
    const rows = own.map((file) => {
      const results = ran.filter((test) => test.file === file);
      const lastRun = results.length === 0 ? (before.get(file) ?? NO_RUN) : showTests(results);
      return `| ${promiseOf(root, file)} | ${linkTo(file)} | ${lastRun} |`;
    });
    return [`## ${title}`, '', TABLE, ...rows, ''].join('\n');
  });
  const line = run === undefined ? (RUN.exec(page)?.[0] ?? 'Last run: none.') : describeResults({ run, tests }, files.length);
  return [INTRODUCTION, `${line}\n`, ...sections].join('\n');
}

/**
 * The first paragraph of the comment that opens the file.
 *
 * @param {string} root
 * @param {string} file
 */
function promiseOf(root, file) {
  const [, comment = ''] = /^\/\*\*([\s\S]*?)\*\//.exec(readFileSync(join(root, file), 'utf8')) ?? [];
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\* ?/, '').trim());
  const [paragraph = ''] = lines.join('\n').trim().split('\n\n');
  return paragraph.replaceAll('\n', ' ').replaceAll('|', '\\|');
}

/** @param {string} file */
function linkTo(file) {
  return `[${file.slice('test/'.length, -'.test.ts'.length)}](${posix.relative(posix.dirname(PAGE), file)})`;
}

/** @param {string} page */
function lastRunsOf(page) {
  return new Map(
    page.split('\n').flatMap((line) => {
      const [, file, lastRun] = ROW.exec(line) ?? [];
      return file === undefined || lastRun === undefined ? [] : [[file, lastRun]];
    }),
  );
}

/**
 * A test that ran on two versions of Node is one test.
 *
 * @param {readonly TestResult[]} tests
 */
function oncePerName(tests) {
  return [...new Map(tests.map((test) => [`${test.file}: ${test.name}`, test])).values()];
}

/**
 * `12; 6,000 random cases`.
 *
 * @param {readonly TestResult[]} tests
 */
function showTests(tests) {
  const skipped = tests.filter(({ status }) => !isPassed(status)).length;
  const ran = tests.length - skipped;
  const numbers = `${ran.toLocaleString('en')}${skipped === 0 ? '' : `, ${skipped} skipped`}`;
  return [numbers, ...showFigures(tests.flatMap(({ figures }) => figures))].join('; ');
}

/** @param {string} status */
export function isPassed(status) {
  return status === 'passed' || status === 'flaky';
}

/**
 * Random cases are added up; an equal figure of several tests is shown once, with their number.
 *
 * @param {readonly string[]} figures
 */
function showFigures(figures) {
  const cases = figures.reduce((sum, text) => sum + Number((RANDOM_CASES.exec(text)?.[1] ?? '0').replaceAll(',', '')), 0);
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const text of figures) if (!RANDOM_CASES.test(text)) counts.set(text, (counts.get(text) ?? 0) + 1);
  const all = [...counts].map(([text, count]) => (count === 1 ? text : `${count} x ${text}`).replaceAll('|', '\\|'));
  if (cases > 0) all.unshift(`${cases.toLocaleString('en')} random cases`);
  const shown = all.filter((_, index) => index < FIGURES_MAX && all.slice(0, index + 1).join('').length <= FIGURES_CHARACTERS_MAX);
  return shown.length < all.length ? [...shown, `+${all.length - shown.length}`] : shown;
}

/**
 * The line on the run.
 *
 * @param {KeptRun} results
 * @param {number} fileCount The number of all test files.
 */
function describeResults({ run, tests }, fileCount) {
  const files = new Set(tests.map(({ file }) => file)).size;
  const passed = tests.filter(({ status }) => isPassed(status)).length;
  const others = files < fileCount ? ' The rows of the other files show an earlier run.' : '';
  return `Last run: commit ${run?.commit}, ${run?.date}, Node ${run?.node}, ${run?.form} form; ${passed.toLocaleString('en')} tests in ${files} files passed.${others}`;
}
