/** Keeps the results of a run, and checks and shows them in docs/generated/requirements.md. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseJson } from '../process/parse-json.mjs';
import { ROOT } from '../process/repository.mjs';
import { PAGE, isPassed, requirementsPage, testFilesOf } from '../generate/requirements/page.mjs';
import { ENGINES } from '../install/redis-versions.mjs';
import { outcomeOf } from './result.mjs';
import { STAGES } from './stages.mjs';

/** A test with an older result runs again. */
const REPEATED_AFTER_MS = 3_600_000;

/** Each stage of jest leaves the results of its last run here. */
export const RESULTS_FOLDER = join(ROOT, '.cache', 'test-results');

/**
 * What the failures of a stage say in full.
 *
 * @param {string} stage
 */
export function failuresFileOf(stage) {
  return join(RESULTS_FOLDER, `${stage}.failures.txt`);
}

/** @typedef {import('./result.mjs').TestResult} TestResult */
/**
 * `tree` stands for all files of the repository, `beginMs` is a time of the system clock; runs of older versions have neither.
 *
 * @typedef {{ readonly commit: string, readonly date: string, readonly node: string, readonly form: 'short' | 'long', readonly tree?: string | undefined, readonly beginMs?: number }} Run
 */
/** @typedef {{ readonly stage: string, readonly run: Run, readonly tests: readonly TestResult[] }} KeptStage */
/** @typedef {{ readonly run: Run | undefined, readonly tests: readonly TestResult[] }} KeptRun */

/**
 * The commit, time, Node and form of a run that begins now.
 *
 * @param {Pick<Run, 'form' | 'tree'>} run
 * @returns {Run}
 */
export function describeRun({ form, tree }) {
  const { status, stdout } = git('rev-parse', '--short=10', 'HEAD');
  const isChanged = status === 0 && git('status', '--porcelain', '--untracked-files=no').stdout !== '';
  return {
    commit: status === 0 ? `${stdout.trim()}${isChanged ? ' with local changes' : ''}` : 'unknown',
    date: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    form,
    tree,
    beginMs: Date.now(),
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

export function forgetResults() {
  rmSync(RESULTS_FOLDER, { recursive: true, force: true });
}

/**
 * The results of the test files that a run need not repeat: each of their tests passed less than an hour ago, on the same files. They are by the
 * name of the stage.
 *
 * @param {Run} run
 * @returns {ReadonlyMap<string, readonly TestResult[]>}
 */
export function readPassedTests(run) {
  /** @type {Map<string, readonly TestResult[]>} */
  const passed = new Map();
  if (!existsSync(RESULTS_FOLDER)) return passed;
  for (const name of readdirSync(RESULTS_FOLDER).filter((each) => each.endsWith('.json'))) {
    const kept = readKept(join(RESULTS_FOLDER, name));
    if (kept === undefined || !isRepeatOf(run, kept.run)) continue;
    const failed = new Set(kept.tests.filter(({ status }) => status !== 'passed' && status !== 'pending').map(({ file }) => file));
    passed.set(
      kept.stage,
      kept.tests.filter(({ file }) => !failed.has(file)),
    );
  }
  return passed;
}

/**
 * @param {Run} now
 * @param {Run} before
 */
function isRepeatOf(now, before) {
  const isOfSame = now.tree !== undefined && /** @type {const} */ (['tree', 'node', 'form']).every((field) => now[field] === before[field]);
  return isOfSame && before.beginMs !== undefined && (now.beginMs ?? 0) - before.beginMs < REPEATED_AFTER_MS;
}

/**
 * The last run of each stage. All of them have to be of one commit and one form.
 *
 * @param {string} folder
 * @returns {KeptRun & { readonly problems: readonly string[] }}
 */
export function readResults(folder) {
  const names = existsSync(folder)
    ? readdirSync(folder).filter((name) => name.endsWith('.json') && !isOfEngine(basename(name, '.json')))
    : [];
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
 * The last line of a run of all stages: whether each test file of docs/generated/requirements.md ran. The long form fills the page in,
 * unless all tests of a file were skipped. The tests of a failed or skipped stage are missing, so then nothing is checked.
 *
 * @param {readonly import('./result.mjs').StageResult[]} results
 * @param {{ run: Run, root?: string, print?: (line: string) => void }} options
 * @returns {import('./result.mjs').StageResult}
 */
export function checkRequirements(results, { run, root = ROOT, print = console.log }) {
  const name = 'requirements';
  const ended = { name, stage: { name, quietS: 0 }, seconds: 0 };
  const incomplete = results.filter(({ failed, note }) => failed > 0 || note !== undefined).map((result) => result.name);
  if (incomplete.length > 0) {
    return { ...ended, passed: 0, failed: 0, skipped: 1, note: `not checked, because of ${incomplete.join(', ')}` };
  }
  const tests = results.filter(({ name: stage }) => !isOfEngine(stage)).flatMap((result) => result.tests ?? []);
  const files = testFilesOf(root).filter((file) => run.form === 'long' || !isOfLongForm(file));
  const problems = files
    .filter((file) => tests.every((test) => test.file !== file))
    .map((file) => `${file}: no stage of scripts/test/stages.mjs ran it.`);
  const skipped = files
    .filter((file) => tests.some((test) => test.file === file) && !tests.some((test) => test.file === file && isPassed(test.status)))
    .map((file) => `${file}: all of its tests were skipped. Install what they need.`);
  for (const line of [...problems, ...skipped]) print(line);
  if (problems.length + skipped.length === 0 && run.form === 'long') writeRequirements({ root, results: { run, tests } });
  return {
    ...ended,
    ...outcomeOf(problems.length === 0 ? undefined : `${problems.length} wrong for docs/generated/requirements.md: see above`),
  };
}

/**
 * Its tests are those of other stages; docs/versions.md has their results.
 *
 * @param {string} stage
 */
function isOfEngine(stage) {
  return ENGINES.some((engine) => engine === stage);
}

/**
 * Whether only the long form runs the file.
 *
 * @param {string} file
 */
function isOfLongForm(file) {
  const isBelow = (/** @type {readonly string[]} */ folders) => folders.some((folder) => file.startsWith(`${folder}/`));
  const own = STAGES.filter(({ name }) => !isOfEngine(name));
  const isOfShortForm = own.some(({ folders = [], onlyLong = [] }) => isBelow(folders) && !onlyLong.includes(file));
  return !isOfShortForm && own.some(({ folders = [], long }) => isBelow([...folders, ...(long?.folders ?? [])]));
}

/**
 * Writes docs/generated/requirements.md.
 *
 * @param {{ root: string, results?: KeptRun }} options
 */
export function writeRequirements({ root, results }) {
  const file = join(root, PAGE);
  writeFileSync(file, requirementsPage({ root, page: readFileSync(file, 'utf8'), ...(results === undefined ? {} : { results }) }));
}
