/** Runs inside the image: starts its entry point, asks for decisions, and prints what it saw as JSON. */
const { spawn, spawnSync } = require('node:child_process');
const { existsSync, readFileSync, writeFileSync } = require('node:fs');
const { performance } = require('node:perf_hooks');
const { setTimeout: pause } = require('node:timers/promises');

const READY_MS = 60_000;
const LOOK_MS = 10;
const CLIENT = ['-dial_string', 'localhost:8081', '-domain', 'payments', '-descriptors', 'path=/login,client=c'];

/**
 * @typedef {object} Input
 * @property {[string, ...string[]]} entrypoint
 * @property {[string, ...string[]]} healthcheck
 * @property {number} port
 * @property {object} body Of each call to /json.
 * @property {number} calls
 */

const input = /** @type {Input} */ (JSON.parse(process.argv[2] ?? ''));

async function main() {
  const beginMs = performance.now();
  const [program, ...args] = input.entrypoint;
  const server = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (/** @type {Buffer} */ data) => (log += data.toString()));
  const ended = /** @type {Promise<number | string | null>} */ (
    new Promise((resolve) => {
      server.once('close', (code, signal) => {
        resolve(code ?? signal);
      });
    })
  );
  const codes = [await firstAnswer(server, () => log)];
  const firstMs = performance.now() - beginMs;
  for (let call = 1; call < input.calls; call += 1) codes.push(await ask());
  const client = spawnSync('/bin/ratelimit_client', CLIENT, { encoding: 'utf8' });
  const health = runHealthcheck();
  const rssKib = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid ?? 0}/status`, 'utf8'))?.[1]);
  server.kill('SIGTERM');
  const healthDraining = runHealthcheck();
  // A second signal ends a drain.
  server.kill('SIGTERM');
  const exit = await ended;
  const seen = {
    ...{ codes, firstMs, client: client.stdout + client.stderr, rssMiB: rssKib / 1024, log, exit },
    ...{ health, healthDraining, healthAfter: runHealthcheck() },
    ...{ uid: process.getuid?.(), gid: process.getgid?.() },
    writes: ['/x', '/app/x', '/tmp/x', '/bin/x'].map(write),
    hasConsole: existsSync('/app/dist/administration/console/index.html'),
  };
  console.log(JSON.stringify(seen));
}

/**
 * Asks until the server answers.
 *
 * @param {import('node:child_process').ChildProcess} server
 * @param {() => string} log
 */
async function firstAnswer(server, log) {
  const endMs = performance.now() + READY_MS;
  while (performance.now() < endMs && server.exitCode === null) {
    const answer = await ask().catch(() => undefined);
    if (answer !== undefined) return answer;
    await pause(LOOK_MS);
  }
  throw new Error(`no answer:\n${log()}`);
}

/** `200 OK`. */
async function ask() {
  const response = await globalThis.fetch(`http://127.0.0.1:${input.port}/json`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(input.body),
  });
  const { overallCode } = /** @type {{ overallCode?: string }} */ (await response.json());
  return `${response.status} ${overallCode ?? ''}`;
}

function runHealthcheck() {
  const [program, ...args] = input.healthcheck;
  return spawnSync(program, args).status;
}

/**
 * The code of the error.
 *
 * @param {string} file
 */
function write(file) {
  try {
    writeFileSync(file, '');
    return 'written';
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code;
  }
}

void main();
