/** Compares the rows of docs/requirements.md with the tests that ran, and fills in what the run showed. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseJson } from '../process/parse-json.mjs';
import { ROOT } from '../process/repository.mjs';
import { outcomeOf } from './result.mjs';

export const PAGE = join(ROOT, 'docs', 'requirements.md');

/** Each stage of jest leaves the results of its last run here. */
export const RESULTS_FOLDER = join(ROOT, '.cache', 'test-results');

const BEGIN = '<!-- begin run: written by `node scripts/generate/requirements.mjs` -->';
const END = '<!-- end run -->';

/** How many different figures a row shows; "and n more" stands for the others. */
const FIGURES_MAX = 3;

/** `| promise | file: part of a title | last run |`; `fillRequirements` writes the last cell. */
const ROW = /^\| (.*?) ?\| `(test\/[^`]+)`(?:: (.*?))? \| .*\|$/;

/**
 * What the failures of a stage say in full.
 *
 * @param {string} stage
 */
export function failuresFileOf(stage) {
  return join(RESULTS_FOLDER, `${stage}.failures.txt`);
}

/** @typedef {import('./result.mjs').TestResult} TestResult */
/** @typedef {{ readonly commit: string, readonly date: string, readonly node: string, readonly form: 'short' | 'long' }} Run */
/** @typedef {{ readonly stage: string, readonly run: Run, readonly tests: readonly TestResult[] }} KeptStage */
/** @typedef {{ readonly run: Run | undefined, readonly tests: readonly TestResult[] }} KeptRun */

/**
 * The commit, day, Node and form of a run that begins now.
 *
 * @param {Pick<Run, 'form'>} run
 * @returns {Run}
 */
export function describeRun({ form }) {
  const { status, stdout } = git('rev-parse', '--short=10', 'HEAD');
  const isChanged = status === 0 && git('status', '--porcelain', '--untracked-files=no').stdout !== '';
  return {
    commit: status === 0 ? `${stdout.trim()}${isChanged ? ' with local changes' : ''}` : 'unknown',
    date: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    form,
  };
}

/** @param {...string} args */
function git(...args) {
  return spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' });
}

/**
 * Keeps the tests of each stage of jest for `readResults`. A stage without results loses those of its last run; a run of all stages
 * replaces everything, also the results of stages that are gone.
 *
 * @param {readonly Pick<import('./result.mjs').StageResult, 'name' | 'tests'>[]} results
 * @param {{ run: Run, isComplete: boolean }} options
 */
export function keepResults(results, { run, isComplete }) {
  mkdirSync(RESULTS_FOLDER, { recursive: true });
  const kept = new Set(results.map(({ name }) => basename(failuresFileOf(name))));
  for (const name of isComplete ? readdirSync(RESULTS_FOLDER) : [])
    if (!kept.has(name)) rmSync(join(RESULTS_FOLDER, name), { force: true });
  for (const { name, tests } of results) {
    const file = join(RESULTS_FOLDER, `${name}.json`);
    // A new file, because a copy of the cache may be linked to the old one.
    rmSync(file, { force: true });
    if (tests !== undefined) writeFileSync(file, JSON.stringify({ stage: name, run, tests }));
  }
}

/**
 * The last run of each stage. All of them have to be of one commit and one form.
 *
 * @param {string} folder
 * @returns {KeptRun & { readonly problems: readonly string[] }}
 */
export function readResults(folder) {
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
  /** @type {KeptStage[]} */
  const stages = [];
  /** @type {string[]} */
  const problems = [];
  for (const name of names) {
    const kept = readKept(join(folder, name));
    if (kept === undefined)
      problems.push(`${join(folder, name)} is not complete, or of an older version. Run its stage again, or remove it.`);
    else stages.push(kept);
  }
  const lines = stages.map(({ stage, run }) => ({ stage, text: `commit ${run.commit}, ${run.form} form` }));
  if (names.length === 0) problems.push(`No results in ${folder}. Run \`npm run test:long\`.`);
  if (new Set(lines.map(({ text }) => text)).size > 1) {
    const list = lines.map(({ stage, text }) => `${stage}: ${text}`).join('\n');
    problems.push(`The results are of several runs. Run all stages on one commit and in one form.\n${list}`);
  }
  return { run: stages[0]?.run, tests: stages.flatMap(({ tests }) => tests), problems };
}

/**
 * Undefined: the file has not all fields that are read here.
 *
 * @param {string} file
 * @returns {KeptStage | undefined}
 */
function readKept(file) {
  try {
    const kept = /** @type {Partial<KeptStage>} */ (parseJson(readFileSync(file, 'utf8')));
    const { stage, run, tests } = kept;
    const isTest = (/** @type {Partial<TestResult>} */ { file, name, status, figures }) =>
      [file, name, status].every((text) => typeof text === 'string') && Array.isArray(figures);
    const isWhole = typeof stage === 'string' && typeof run?.commit === 'string' && tests?.every(isTest) === true;
    return isWhole ? /** @type {KeptStage} */ (kept) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}

/**
 * The last line of a run of all stages: whether each row of docs/requirements.md has tests that ran. The long form fills the page in,
 * unless a test that it names was skipped. The tests of a failed or skipped stage are missing, so then nothing is checked.
 *
 * @param {readonly import('./result.mjs').StageResult[]} results
 * @param {{ run: Run, file?: string, print?: (line: string) => void }} options
 * @returns {import('./result.mjs').StageResult}
 */
export function checkRequirements(results, { run, file = PAGE, print = console.log }) {
  const name = 'requirements';
  const ended = { name, stage: { name, quietS: 0 }, seconds: 0 };
  const incomplete = results.filter(({ failed, note }) => failed > 0 || note !== undefined).map((result) => result.name);
  if (incomplete.length > 0) {
    return { ...ended, passed: 0, failed: 0, skipped: 1, note: `not checked, because of ${incomplete.join(', ')}` };
  }
  const tests = results.flatMap((result) => result.tests ?? []);
  const { page, problems, skipped } = fillRequirements(readFileSync(file, 'utf8'), { run, tests });
  for (const line of [...problems, ...skipped]) print(line);
  if (problems.length + skipped.length === 0 && run.form === 'long') writeFileSync(file, page);
  return { ...ended, ...outcomeOf(problems.length === 0 ? undefined : `${problems.length} wrong in docs/requirements.md: see above`) };
}

/**
 * The page with its last column filled; a problem for each row without a test that ran, or with one that failed; and a line for each
 * row with a skipped test.
 *
 * @param {string} page
 * @param {KeptRun} results
 */
export function fillRequirements(page, { run, tests }) {
  /** @type {string[]} */
  const problems = [];
  /** @type {string[]} */
  const skipped = [];
  const lines = page.split('\n').map((line, index) => {
    const [, promise = '', file, title = ''] = ROW.exec(line) ?? [];
    if (file === undefined) return line;
    const named = testsOf({ file, title }, tests);
    const where = `docs/requirements.md:${index + 1}: ${file}${title === '' ? '' : `: ${title}`}`;
    if (named.length === 0) problems.push(`${where}: ${whyNone(file, tests)}`);
    for (const { name, status } of named) {
      if (status === 'failed') problems.push(`${where}: a test failed: ${name}. Fix it, and run its stage again.`);
      else if (!isPassed(status)) skipped.push(`${where}: a test was skipped: ${name}. Install what it needs, or name another test.`);
    }
    return `| ${promise === '' ? '' : `${promise} `}| \`${file}\`${title === '' ? '' : `: ${title}`} | ${showTests(named)} |`;
  });
  return { page: withRun(lines.join('\n'), { run, tests }), problems, skipped };
}

/**
 * Why a row names no test, and what to do.
 *
 * @param {string} file
 * @param {readonly TestResult[]} tests
 */
function whyNone(file, tests) {
  return tests.some((test) => test.file === file)
    ? 'no test of this file that ran has this text in its name. Copy a part of the name of a test.'
    : 'no such test ran: the file is not there, or no stage of scripts/test/stages.mjs runs it. Name a file that a stage runs.';
}

/**
 * The tests of the file whose full name contains the title. A test that ran on two versions of Node is one test.
 *
 * @param {{ file: string, title: string }} row
 * @param {readonly TestResult[]} tests
 */
function testsOf({ file, title }, tests) {
  /** @type {Map<string, TestResult>} */
  const byName = new Map();
  for (const test of tests) {
    if (test.file !== file || !test.name.includes(title)) continue;
    const before = byName.get(test.name);
    byName.set(test.name, before !== undefined && !isPassed(before.status) ? before : test);
  }
  return [...byName.values()];
}

/** @param {string} status */
function isPassed(status) {
  return status === 'passed' || status === 'flaky';
}

/**
 * `12 tests; 6 x 1,000 random cases`.
 *
 * @param {readonly TestResult[]} tests
 */
function showTests(tests) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const text of tests.flatMap(({ figures }) => figures)) counts.set(text, (counts.get(text) ?? 0) + 1);
  const figures = [...counts].map(([text, count]) => (count === 1 ? text : `${count} x ${text}`).replaceAll('|', '\\|'));
  const more = figures.length > FIGURES_MAX ? [`and ${figures.length - FIGURES_MAX} more`] : [];
  return [`${tests.length} ${tests.length === 1 ? 'test' : 'tests'}`, ...figures.slice(0, FIGURES_MAX), ...more].join('; ');
}

/**
 * The page with a line on the run between its markers.
 *
 * @param {string} page
 * @param {KeptRun} results
 */
function withRun(page, { run, tests }) {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (run === undefined || from < 0 || to < from) return page;
  const files = new Set(tests.map(({ file }) => file)).size;
  const passed = tests.filter(({ status }) => isPassed(status)).length;
  const text = `Last run: commit ${run.commit}, ${run.date}, Node ${run.node}, ${run.form} form; ${passed.toLocaleString('en')} tests in ${files} files passed.`;
  return `${page.slice(0, from)}${BEGIN}\n${text}\n${page.slice(to)}`;
}
