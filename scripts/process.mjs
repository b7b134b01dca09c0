// Running other programs for the scripts: bounded in time, each in its own process group, stopped when we are.
import { spawn } from 'node:child_process';
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

const NODE_MAJOR_MIN = 20;
/** What a process group has between SIGTERM and SIGKILL. */
const GRACE_MS = 5_000;
/** The signals that ask us to end, and a shell's exit codes for them. */
export const SIGNAL_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

if (Number.parseInt(process.versions.node, 10) < NODE_MAJOR_MIN) {
  console.error(`Weir needs Node ${NODE_MAJOR_MIN} or newer; this is Node ${process.versions.node}. Install a newer one and run the command again.`);
  process.exit(1);
}

/** Whether the module was started by `node FILE`, and not imported. */
export function isMain(moduleUrl) {
  return process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(moduleUrl);
}

/** The full path of a program on PATH, or undefined. */
export function which(name) {
  for (const directory of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(directory, name);
    if (directory !== '' && isExecutable(path)) return path;
  }
  return undefined;
}

export function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Programs that run now: on a signal the last of them to end ends this process. */
let runningCount = 0;

/**
 * Runs a program at the root of the repository and waits for its end.
 * `output` is 'inherit' (the person sees it) or 'pipe' (the caller gets it). Resolves to { code, timedOut, output }.
 */
export function run(command, args, { timeoutS, env = {}, output = 'inherit' }) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ['ignore', output, output],
      // A group of its own, so that what the program has started ends with it.
      detached: true,
    });
    runningCount += 1;
    let text = '';
    let timedOut = false;
    let interruptedBy;
    child.stdout?.on('data', (chunk) => (text += chunk));
    child.stderr?.on('data', (chunk) => (text += chunk));

    const stop = () => {
      killGroup(child.pid, 'SIGTERM');
      setTimeout(() => killGroup(child.pid, 'SIGKILL'), GRACE_MS).unref();
    };
    const timer = setTimeout(() => {
      timedOut = true;
      stop();
    }, timeoutS * 1000);
    const onSignal = (signal) => {
      interruptedBy = signal;
      stop();
    };
    for (const signal of Object.keys(SIGNAL_CODES)) process.on(signal, onSignal);

    let hasEnded = false;
    const finish = (code) => {
      if (hasEnded) return;
      hasEnded = true;
      clearTimeout(timer);
      runningCount -= 1;
      for (const signal of Object.keys(SIGNAL_CODES)) process.off(signal, onSignal);
      if (timedOut || interruptedBy !== undefined) killGroup(child.pid, 'SIGKILL');
      if (interruptedBy !== undefined) {
        if (runningCount === 0) process.exit(SIGNAL_CODES[interruptedBy]);
        return;
      }
      resolve({ code, timedOut, output: text });
    };
    child.once('error', (error) => {
      text += error.message;
      finish(127);
    });
    child.once('close', (code) => {
      finish(code ?? 1);
    });
  });
}

function killGroup(pid, signal) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone already: that is what was wanted.
  }
}

/** What a script says when a tool can't be had, and how it ends. */
export function exitMissing(reason) {
  console.error(reason);
  process.exit(1);
}
