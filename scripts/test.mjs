// `npm test [-- stage… --long]`: installs what is missing, runs the named stages (all, when none is named), and counts their tests.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
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

  const results = [];
  for (const stage of STAGES.filter(({ name }) => names.length === 0 || names.includes(name))) {
    console.log(`\n=== ${stage.name}`);
    const begin = Date.now();
    const result = { name: stage.name, ...(await runStage(isLong ? toLong(stage) : stage)), seconds: (Date.now() - begin) / 1000 };
    console.log(`--- ${line(result)}`);
    results.push(result);
    if (stage.build === true && result.failed > 0) {
      console.log('The later stages are left out: they need a build.');
      break;
    }
  }
  summarize(results);
}

/** The long form of a stage that has one. */
function toLong({ long, ...stage }) {
  return long === undefined ? stage : { ...stage, timeoutS: long.timeoutS, env: { [long.variable]: 'long' } };
}

async function runStage(stage) {
  const env = { ...stage.env };
  let node = process.execPath;
  for (const need of stage.needs ?? []) {
    if (need === 'build') {
      const failure = await build();
      if (failure !== undefined) return { ...ONE_FAILED, note: failure };
    } else {
      const { path, missing } = await TOOLS[need].install();
      if (missing !== undefined) return withoutTool(missing);
      if (TOOLS[need].isRuntime === true) node = path;
      else if (path !== undefined) env[TOOLS[need].variable] = path;
    }
  }
  if (stage.build === true) return outcome(await build());
  if (stage.tool !== undefined) return runTool(stage);
  return runJest(stage, { node, env });
}

/** Where nobody reads along, a test that didn't run is a failure; on a person's machine it is named and counted. */
function withoutTool(missing) {
  return isCi ? { ...ONE_FAILED, note: missing } : { passed: 0, failed: 0, skipped: 1, note: `skipped: ${missing}` };
}

async function runTool({ tool: [script, ...args], timeoutS }) {
  const { code, timedOut } = await run(process.execPath, [join('node_modules', script), ...args], { timeoutS });
  if (timedOut) return outcome(timeoutNote(timeoutS));
  return outcome(code === 0 ? undefined : `exit code ${code}`);
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

async function runJest({ name, folders, files = [], workers, timeoutS }, { node, env }) {
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
  const { code, timedOut } = await run(node, [join('node_modules', 'jest', 'bin', 'jest.js'), ...args], { timeoutS, env: { ...nodeFirst, ...env } });
  const counts = timedOut ? { ...ONE_FAILED, note: timeoutNote(timeoutS) } : countJest(resultFile, code);
  return absentNote === undefined ? counts : { ...counts, failed: counts.failed + 1, note: absentNote };
}

/** A file that broke before its first test counts as one failed test, and so does an end that the numbers don't explain. */
function countJest(resultFile, code) {
  if (!existsSync(resultFile)) return { ...ONE_FAILED, note: `jest left no result (exit code ${code})` };
  const result = JSON.parse(readFileSync(resultFile, 'utf8'));
  const failed = result.numFailedTests + result.numRuntimeErrorTestSuites;
  const counts = { passed: result.numPassedTests, failed, skipped: result.numPendingTests + result.numTodoTests };
  return code !== 0 && failed === 0 ? { ...counts, failed: 1, note: `jest ended with exit code ${code}` } : counts;
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
  console.log(`\n=== summary\n${results.map(line).join('\n')}`);
  console.log(`total: ${numbers({ passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') })}`);
  process.exitCode = sum('failed') === 0 ? 0 : 1;
}
