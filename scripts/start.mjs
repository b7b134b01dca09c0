/** `npm start`: installs and builds what serving needs, serves as the image does, and shows a first request. Signals and the exit code pass through. */
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { buildDist } from './build/build-dist.mjs';
import { installServingPackages } from './install/npm-packages.mjs';
import { ROOT, exitWith } from './process/repository.mjs';
import { SIGNAL_CODES } from './process/run.mjs';

const EXAMPLE = join('deploy', 'example', 'payments.yaml');
/** The port of the example's console, if nobody listens there. */
const ADMIN_PORT = 8090;
/** How long the script waits until the example is served, and how often it looks. */
const READY_MS = 30_000;
const READY_LOOK_MS = 100;
/** A terminal and npm both deliver one Ctrl-C. A second signal within this time is the same key press. */
const SAME_SIGNAL_MS = 500;

/**
 * @param {string} url
 * @param {string} consoleUrl
 */
const nextSteps = (url, consoleUrl) => `
Try it from a second terminal; the fourth call within a minute answers OVER_LIMIT:
  curl -s ${url}/json -d '{"domain":"payments","descriptors":[{"entries":[{"key":"path","value":"/payment"},{"key":"client","value":"10.0.0.7"}]}]}'
See it in the console, from this machine only: ${consoleUrl}
Next: write limits.yaml and run \`npm start -- --config limits.yaml\` (README.md, "Write limits"). \`npm test\` installs the rest and runs all tests.`;

// `npm run build` and `npm test` check the types.
const failure = (await installServingPackages()) ?? (await buildDist({ checksTypes: false }));
if (failure !== undefined) exitWith(failure);
const given = process.argv.slice(2);
if (given.length === 0) {
  console.log(`Serving ${EXAMPLE} (Ctrl-C ends it) …`);
  const adminPort = process.env.ADMIN_PORT ?? String(await consolePort());
  serve(['serve', '--config', EXAMPLE], exampleEnv(adminPort));
  await showNextSteps(adminPort);
} else {
  // `npm start -- --config FILE` serves; any other command runs as it is.
  serve(given[0]?.startsWith('-') === true ? ['serve', ...given] : given);
}

/**
 * The example counts in memory unless the environment names a Redis. Setting it avoids the warning about that. It has a console, for
 * everyone on this machine unless the environment says who may sign in.
 *
 * @param {string} adminPort
 */
function exampleEnv(adminPort) {
  const { REDIS_URL, BACKEND_TYPE, ADMIN_HOST, ADMIN_TOKENS_FILE, ADMIN_JWT_JWKS_FILE } = process.env;
  const isMemory = REDIS_URL === undefined && BACKEND_TYPE === undefined;
  const isOpen = [ADMIN_HOST, ADMIN_TOKENS_FILE, ADMIN_JWT_JWKS_FILE].every((each) => each === undefined);
  return { ADMIN_PORT: adminPort, ...(isMemory ? { BACKEND_TYPE: 'memory' } : {}), ...(isOpen ? { ADMIN_AUTH: 'off' } : {}) };
}

/** Another one if the usual one is in use: a newcomer needs the console, not this number. */
async function consolePort() {
  const port = (await bindable(ADMIN_PORT)) ?? (await bindable(0)) ?? ADMIN_PORT;
  if (port !== ADMIN_PORT) console.log(`Port ${ADMIN_PORT} is in use, so the console is on port ${port} (ADMIN_PORT sets another one).`);
  return port;
}

/**
 * The port that can be bound here; 0 finds any free one. Undefined: somebody listens there.
 *
 * @param {number} port
 * @returns {Promise<number | undefined>}
 */
function bindable(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(undefined);
    });
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        resolve(typeof address === 'object' ? address?.port : undefined);
      });
    });
  });
}

/**
 * Once the example is served.
 *
 * @param {string} adminPort
 */
async function showNextSteps(adminPort) {
  const url = `http://localhost:${process.env.PORT ?? '8080'}`;
  const endMs = Date.now() + READY_MS;
  while (Date.now() < endMs) {
    const isReady = await fetch(`${url}/healthcheck`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) {
      console.log(nextSteps(url, `http://localhost:${adminPort}/`));
      return;
    }
    await pause(READY_LOOK_MS);
  }
}

/**
 * @param {readonly string[]} args
 * @param {Readonly<Record<string, string>>} [exampleSettings]
 */
function serve(args, exampleSettings = {}) {
  const server = spawn(join(ROOT, 'deploy', 'bin', 'weir'), args, {
    cwd: ROOT,
    stdio: 'inherit',
    // Ctrl-C needs no drain. The server runs on this Node, also when PATH names another one.
    env: { DRAIN_DELAY: '0s', ...exampleSettings, ...process.env, WEIR_HOME: ROOT, WEIR_NODE: process.execPath },
    // Its own process group: signals of the terminal reach it once, through this process.
    detached: true,
  });
  let forwardedMs = 0;
  /** @param {NodeJS.Signals} signal */
  const forward = (signal) => {
    const nowMs = Date.now();
    if (nowMs - forwardedMs < SAME_SIGNAL_MS) return;
    forwardedMs = nowMs;
    server.kill(signal);
  };
  process.on('SIGINT', forward).on('SIGTERM', forward);
  // The terminal was closed. Without a signal the server would keep running.
  process.on('SIGHUP', () => {
    forward('SIGTERM');
  });
  server.once('error', (error) => {
    exitWith(`The server could not be started: ${error.message}`);
  });
  // A killed server has no exit code.
  server.once('exit', (code, signal) => process.exit(code ?? exitCodeOf(signal)));
}

/** @param {NodeJS.Signals | null} signal */
function exitCodeOf(signal) {
  const known = Object.entries(SIGNAL_CODES).find(([name]) => name === signal);
  return known?.[1] ?? 1;
}
