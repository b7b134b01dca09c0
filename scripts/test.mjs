// `npm test [-- stage… --long]`: installs what is missing, runs the named stages (all, when none is named) side by side on two cores, and counts their tests.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { build } from './build.mjs';
import { installEnvoy } from './install-envoy.mjs';
import { installGoClient } from './install-go-client.mjs';
import { installGrpcio } from './install-grpcio.mjs';
import { installH2load } from './install-h2load.mjs';
import { installH2spec } from './install-h2spec.mjs';
import { installNodeVersions } from './install-node-versions.mjs';
import { installNpm } from './install-npm.mjs';
import { installRedis } from './install-redis.mjs';
import { installRedisVersions } from './install-redis-versions.mjs';
import { ROOT, exitMissing, run } from './process.mjs';
import { STAGES } from './stages.mjs';

/** What a stage may need beside the npm packages: how it is had, and the variable that tells the tests where it is, if they need one. */
const TOOLS = {
  redis: { install: installRedis, variable: 'WEIR_REDIS_SERVER' },
  // The tests find them where they are, and each says for itself when its version is missing.
  redisVersions: { install: installRedisVersions },
  // A stage with it runs on this Node, and so does what it starts.
  nodeVersions: { install: installNodeVersions, isRuntime: true },
  envoy: { install: installEnvoy, variable: 'WEIR_ENVOY' },
  h2spec: { install: installH2spec, variable: 'WEIR_H2SPEC' },
  goClient: { install: installGoClient, variable: 'WEIR_GO_CLIENT' },
  grpcio: { install: installGrpcio, variable: 'WEIR_GRPCIO' },
  h2load: { install: installH2load, variable: 'WEIR_H2LOAD' },
};
/** Of the machine, that the stages share. */
const CORES = 2;
const SLOWEST_TESTS = 20;
const BEGIN_MS = Date.now();
const isCi = !['', '0', 'false'].includes(process.env.CI ?? '');

/** A stage of one test, that passed or failed. */
const ONE_PASSED = { passed: 1, failed: 0, skipped: 0 };
const ONE_FAILED = { passed: 0, failed: 1, skipped: 0 };

/** Where jest leaves what became of the tests, once there is one. */
let resultsPath;

const args = process.argv.slice(2);
await main({ names: args.filter((arg) => arg !== '--long'), isLong: args.includes('--long') });

async function main({ names, isLong }) {
  if (names[0] === '--list') {
    console.log(STAGES.map(({ name }) => name).join('\n'));
    return;
  }
  const unknown = names.find((name) => STAGES.every((stage) => stage.name !== name));
  if (unknown !== undefined) exitMissing(`There is no stage ${unknown}. The stages are: ${STAGES.map(({ name }) => name).join(', ')}.`);
  const missing = await installNpm();
  if (missing !== undefined) exitMissing(missing);

  const stages = STAGES.filter(({ name }) => names.length === 0 || names.includes(name)).map((stage) => (isLong ? toLong(stage) : stage));
  const results = await runStages(stages);
  const slowest = slowestTests(results.flatMap(({ tests = [] }) => tests));
  if (slowest !== '') console.log(`\n=== slowest tests\n${slowest}`);
  summarize(results);
}

/** The long form of a stage: all cases of each test, and where that takes longer, the time for it. */
function toLong({ long = {}, ...stage }) {
  return { ...stage, ...long, env: { WEIR_TEST_FORM: 'long' } };
}

/** Runs the stages in their order, each as soon as there are cores for it. */
async function runStages(stages) {
  const tools = await installTools(stages);
  const results = new Map();
  const build = stages.find((stage) => stage.build === true);
  if (build !== undefined) results.set(build, await timed(build, { isAlone: true, tools }));
  if ((results.get(build)?.failed ?? 0) > 0) {
    console.log('The later stages are left out: they need a build.');
    return [...results.values()];
  }
  const waiting = stages.filter((stage) => stage !== build);
  const running = new Map();
  while (waiting.length > 0 || running.size > 0) {
    const free = CORES - [...running.keys()].reduce((sum, { cores }) => sum + cores, 0);
    const [next] = waiting;
    if (next !== undefined && next.cores <= free) {
      waiting.shift();
      const isAlone = next.cores === CORES || stages.length === 1;
      if (!isAlone) console.log(`... ${next.name} begins`);
      running.set(next, timed(next, { isAlone, tools }).then((result) => ({ stage: next, result })));
    } else {
      const { stage, result } = await Promise.race(running.values());
      running.delete(stage);
      results.set(stage, result);
    }
  }
  return stages.map((stage) => results.get(stage));
}

/** What the stages need, one after the other: two installers at once may disturb each other. Resolves to what became of each. */
async function installTools(stages) {
  const tools = new Map();
  for (const need of new Set(stages.flatMap(({ needs = [] }) => needs))) {
    if (need !== 'build') tools.set(need, await TOOLS[need].install());
    else if (stages.every((stage) => stage.build !== true)) tools.set(need, { failure: await build() });
  }
  return tools;
}

/** Beside others, what a stage says is shown once it has ended. */
async function timed(stage, { isAlone, tools }) {
  if (isAlone) console.log(`\n=== ${stage.name}`);
  const begin = Date.now();
  const { output = '', ...outcome } = await runStage(stage, { show: isAlone ? 'inherit' : 'pipe', tools });
  const result = { name: stage.name, ...outcome, seconds: (Date.now() - begin) / 1000 };
  console.log(isAlone ? `--- ${line(result)}` : `\n=== ${stage.name}\n${output}--- ${line(result)}`);
  return result;
}

async function runStage(stage, { show, tools }) {
  const env = { ...stage.env };
  let node = process.execPath;
  for (const need of stage.needs ?? []) {
    const { path, missing, failure } = tools.get(need) ?? {};
    if (failure !== undefined) return { ...ONE_FAILED, note: failure };
    if (missing !== undefined) return withoutTool(missing);
    if (TOOLS[need]?.isRuntime === true) node = path;
    else if (path !== undefined) env[TOOLS[need].variable] = path;
  }
  if (stage.build === true) return outcome(await build());
  if (stage.tool !== undefined) return runTool(stage, { show });
  return runJest(stage, { node, env, show });
}

/** Where nobody reads along, a test that didn't run is a failure; on a person's machine it is named and counted. */
function withoutTool(missing) {
  return isCi ? { ...ONE_FAILED, note: missing } : { passed: 0, failed: 0, skipped: 1, note: `skipped: ${missing}` };
}

async function runTool({ tool: [script, ...args], timeoutS }, { show }) {
  const { code, timedOut, output } = await run(process.execPath, [join('node_modules', script), ...args], { timeoutS, output: show });
  const failure = code === 0 ? undefined : `exit code ${code}`;
  return { ...outcome(timedOut ? timeoutNote(timeoutS) : failure), output };
}

/** Gone when this process is. */
function resultsFolder() {
  if (resultsPath === undefined) {
    resultsPath = mkdtempSync(join(tmpdir(), 'weir-test-'));
    // Not in a `finally`: an interrupt ends the process from within a run.
    process.once('exit', () => rmSync(resultsPath, { recursive: true, force: true }));
  }
  return resultsPath;
}

async function runJest({ name, folders, files = [], workers = 1, timeoutS }, { node, env, show }) {
  const isAbsent = (path) => !existsSync(join(ROOT, path));
  const absent = [...folders, ...files].filter(isAbsent);
  const present = folders.filter((folder) => !isAbsent(folder));
  const absentNote = absent.length === 0 ? undefined : `not there: ${absent.join(', ')}`;
  if (present.length === 0) return { ...ONE_FAILED, note: absentNote };

  const resultFile = join(resultsFolder(), `${name}.json`);
  const roots = [...new Set([...present, ...files.map((file) => dirname(file))])];
  // Without files of other folders, all that is in its own.
  const paths = files.length === 0 ? [] : [...present.map((folder) => `./${folder}/`), ...files.map((file) => `./${file}`)];
  const args = [...paths, '--json', `--outputFile=${resultFile}`, workers === 1 ? '--runInBand' : `--maxWorkers=${workers}`, ...roots.flatMap((folder) => ['--roots', `<rootDir>/${folder}`])];
  const nodeFirst = { PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}` };
  const { code, timedOut, output } = await run(node, [join('node_modules', 'jest', 'bin', 'jest.js'), ...args], { timeoutS, env: { ...nodeFirst, ...env }, output: show });
  const counts = { ...(timedOut ? { ...ONE_FAILED, note: timeoutNote(timeoutS) } : countJest(resultFile, code)), output };
  return absentNote === undefined ? counts : { ...counts, failed: counts.failed + 1, note: absentNote };
}

/** A file that broke before its first test counts as one failed test, and so does an end that the numbers don't explain. */
function countJest(resultFile, code) {
  if (!existsSync(resultFile)) return { ...ONE_FAILED, note: `jest left no result (exit code ${code})` };
  const result = JSON.parse(readFileSync(resultFile, 'utf8'));
  const failed = result.numFailedTests + result.numRuntimeErrorTestSuites;
  const counts = { passed: result.numPassedTests, failed, skipped: result.numPendingTests + result.numTodoTests, tests: result.testResults.flatMap(testsOf) };
  return code !== 0 && failed === 0 ? { ...counts, failed: 1, note: `jest ended with exit code ${code}` } : counts;
}

function testsOf({ name: file, assertionResults }) {
  return assertionResults.map(({ fullName, duration }) => ({ file: relative(ROOT, file), name: fullName, seconds: (duration ?? 0) / 1000 }));
}

/** A line for each of the slowest, the slowest first. */
function slowestTests(tests) {
  const slowest = tests.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST_TESTS);
  return slowest.map(({ file, name, seconds }) => `${seconds.toFixed(1).padStart(6)} s   ${file}: ${name}`).join('\n');
}

function outcome(failure) {
  return failure === undefined ? ONE_PASSED : { ...ONE_FAILED, note: failure };
}

function timeoutNote(timeoutS) {
  return `did not end within ${timeoutS} s and was stopped`;
}

function line({ name, passed, failed, skipped, seconds, note }) {
  return `${name.padEnd(12)} ${seconds.toFixed(1).padStart(6)} s   ${numbers({ passed, failed, skipped })}${note === undefined ? '' : `   (${note})`}`;
}

function numbers({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`;
}

function summarize(results) {
  const sum = (field) => results.reduce((total, result) => total + result[field], 0);
  console.log(`\n=== summary\n${results.map(line).join('\n')}\nall stages   ${((Date.now() - BEGIN_MS) / 1000).toFixed(1).padStart(6)} s`);
  console.log(`total: ${numbers({ passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') })}`);
  process.exitCode = sum('failed') === 0 ? 0 : 1;
}
