/**
 * `node scripts/generate/versions.mjs [RESULTS]`: writes the table of engines in docs/versions.md from the list of engines. With RESULTS,
 * `.cache/test-results`, it also fills in what the stages of the engines showed.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENGINES } from '../install/redis-versions.mjs';
import { parseJson } from '../process/parse-json.mjs';
import { ROOT, isMain } from '../process/repository.mjs';
import { ENGINE_STAGES, SUITES } from '../test/engine-stages.mjs';

/** @typedef {import('../test/requirements.mjs').KeptStage} KeptStage */
/** @typedef {(typeof SUITES)[number]} Suite */

const PAGE = join(ROOT, 'docs', 'versions.md');
const BEGIN = '<!-- begin engines: written by `node scripts/generate/versions.mjs` -->';
const END = '<!-- end engines -->';

/** A suite that has not run since its engine was added. */
const NO_RUN = '-';

/** One that the stage of the engine leaves out. */
const LEFT_OUT = 'not run';

/**
 * The page with the table. An engine without results keeps its row.
 *
 * @param {string} page
 * @param {readonly KeptStage[]} [stages]
 */
export function versionsPage(page, stages = []) {
  const [before, rest = ''] = page.split(BEGIN);
  const [table = '', after] = rest.split(END);
  if (after === undefined) throw new Error(`docs/versions.md has no section ${BEGIN}`);
  const header = ['engine', ...SUITES.map(({ title }) => title), 'run on'];
  const rows = ENGINES.map((engine) => {
    const kept = stages.find(({ stage }) => stage === engine);
    const name = titleOf(engine);
    if (kept !== undefined) return [name, ...SUITES.map((suite) => cellOf(engine, suite, kept)), kept.run.date];
    const last = table.split('\n').find((line) => line.startsWith(`| ${name} |`));
    const cells = last?.split('|').slice(2, -1) ?? [];
    return [name, ...header.slice(1).map((_, index) => cells[index]?.trim() ?? NO_RUN)];
  });
  const lines = [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return `${before}${BEGIN}\n\n${lines.join('\n')}\n\n${END}${after}`;
}

/** @param {string} engine */
function titleOf(engine) {
  const [product = '', version = ''] = engine.split('-');
  return `${product[0]?.toUpperCase()}${product.slice(1)} ${version}`;
}

/**
 * How many passed, and in brackets how many were skipped: `22 (7)`.
 *
 * @param {string} engine
 * @param {Suite} suite
 * @param {KeptStage} kept
 */
function cellOf(engine, { paths }, { tests }) {
  const stage = stageOf(engine);
  if (!paths.some((path) => stage.paths.includes(path))) return LEFT_OUT;
  const own = tests.filter(({ file }) => isBelow(file, paths) && !isBelow(file, stage.leftOut));
  const failed = own.find(({ status }) => status === 'failed');
  if (failed !== undefined) throw new Error(`${engine}: a test failed: ${failed.file}: ${failed.name}`);
  const passed = own.filter(({ status }) => status === 'passed' || status === 'flaky').length;
  if (passed === 0) throw new Error(`${engine}: no test of ${paths.join(', ')} passed`);
  const skipped = own.length - passed;
  return `${passed.toLocaleString('en')}${skipped === 0 ? '' : ` (${skipped})`}`;
}

/**
 * Whether the file is one of these, or in one.
 *
 * @param {string} file
 * @param {readonly string[]} paths
 */
function isBelow(file, paths) {
  return paths.some((path) => file === path || file.startsWith(`${path}/`));
}

/**
 * What the long form runs.
 *
 * @param {string} engine
 */
function stageOf(engine) {
  const stage = ENGINE_STAGES.find(({ name }) => name === engine);
  const { folders = [], files = [], leftOut = [] } = { ...stage, ...stage?.long };
  return { paths: [...folders, ...files], leftOut };
}

/** @param {readonly KeptStage[]} stages */
export function writeVersions(stages) {
  writeFileSync(PAGE, versionsPage(readFileSync(PAGE, 'utf8'), stages));
}

if (isMain(import.meta.url)) {
  const [folder] = process.argv.slice(2);
  const files = folder === undefined ? [] : ENGINES.map((engine) => join(folder, `${engine}.json`)).filter((file) => existsSync(file));
  // The short form runs a part.
  const stages = files.map((file) => /** @type {KeptStage} */ (parseJson(readFileSync(file, 'utf8'))));
  writeVersions(stages.filter(({ run }) => run.form === 'long'));
}
