// `npm start`: installs and builds what is missing, then serves as the image does; signals and the exit code pass through.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { build } from './build.mjs';
import { installNpm } from './install-npm.mjs';
import { ROOT, SIGNAL_CODES, exitMissing } from './process.mjs';

/** On the embedded store, unless the environment names a Redis. */
const DEFAULT_ARGS = ['serve', '--config', join('deploy', 'example', 'payments.yaml')];
/** A terminal and npm both deliver one Ctrl-C: the second within this time is the same key press. */
const SAME_SIGNAL_MS = 500;

const failure = (await installNpm()) ?? (await build());
if (failure !== undefined) exitMissing(failure);
serve(argsOf(process.argv.slice(2)));

/** `npm start -- --config FILE` means serve; any other command is given as it is. */
function argsOf(given) {
  if (given.length === 0) return DEFAULT_ARGS;
  return given[0].startsWith('-') ? ['serve', ...given] : given;
}

function serve(args) {
  const server = spawn(join(ROOT, 'deploy', 'bin', 'weir'), args, {
    cwd: ROOT,
    stdio: 'inherit',
    // Nobody has to be warned before a Ctrl-C. This very Node, which the PATH need not name.
    env: { DRAIN_DELAY: '0s', ...process.env, WEIR_HOME: ROOT, WEIR_NODE: process.execPath },
    // Its own process group: the terminal's signals reach it once, through here.
    detached: true,
  });
  let forwardedMs = 0;
  const forward = (signal) => {
    const nowMs = Date.now();
    if (nowMs - forwardedMs < SAME_SIGNAL_MS) return;
    forwardedMs = nowMs;
    server.kill(signal);
  };
  process.on('SIGINT', forward).on('SIGTERM', forward);
  // The terminal is gone: without this the server would outlive it, unseen.
  process.on('SIGHUP', () => forward('SIGTERM'));
  server.once('error', (error) => exitMissing(`The server could not be started: ${error.message}`));
  // Killed outright, it has no code of its own.
  server.once('exit', (code, signal) => process.exit(code ?? SIGNAL_CODES[signal] ?? 1));
}
