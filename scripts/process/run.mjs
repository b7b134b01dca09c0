/** Runs other programs: with a time limit, each in its own process group, which ends when this process ends. */
import { spawn } from 'node:child_process';
import { ROOT } from './repository.mjs';

/** How long a process group has between SIGTERM and SIGKILL. */
const GRACE_MS = 5_000;

/** The signals that end the scripts, and the exit codes that shells give them. */
export const SIGNAL_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

/** @typedef {keyof typeof SIGNAL_CODES} EndSignal */
/** @typedef {'inherit' | 'pipe'} Output Whether the user sees the output of a program, or the caller gets it. */
/** @typedef {{ readonly code: number, readonly timedOut: boolean, readonly output: string, readonly stdout: string }} Ended `output` has both streams. */

const END_SIGNALS = /** @type {readonly EndSignal[]} */ (Object.keys(SIGNAL_CODES));

/** Programs that run now. On a signal, the last one to end ends this process. */
let runningCount = 0;

/**
 * Runs a program, by default at the root of the repository, and waits until it ends. A program that cannot be started ends with code 127.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ timeoutS: number, env?: NodeJS.ProcessEnv | undefined, output?: Output, cwd?: string | undefined }} options
 * @returns {Promise<Ended>}
 */
export function run(command, args, { timeoutS, env = {}, output = 'inherit', cwd = ROOT }) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', output, output],
      // A group of its own: what the program has started ends with it.
      detached: true,
    });
    runningCount += 1;
    let text = '';
    let stdout = '';
    let timedOut = false;
    /** @type {EndSignal | undefined} */
    let interruptedBy;
    /** @param {Buffer} chunk */
    const keep = (chunk) => {
      text += chunk.toString();
    };
    child.stdout?.on('data', keep);
    child.stdout?.on('data', (/** @type {Buffer} */ chunk) => (stdout += chunk.toString()));
    child.stderr?.on('data', keep);

    const stop = () => {
      killGroup(child.pid, 'SIGTERM');
      setTimeout(() => {
        killGroup(child.pid, 'SIGKILL');
      }, GRACE_MS).unref();
    };
    const timer = setTimeout(() => {
      timedOut = true;
      stop();
    }, timeoutS * 1000);
    /** @param {NodeJS.Signals} signal */
    const onSignal = (signal) => {
      interruptedBy = /** @type {EndSignal} */ (signal);
      stop();
    };
    for (const signal of END_SIGNALS) process.on(signal, onSignal);

    let hasEnded = false;
    /** @param {number} code */
    const finish = (code) => {
      if (hasEnded) return;
      hasEnded = true;
      clearTimeout(timer);
      runningCount -= 1;
      for (const signal of END_SIGNALS) process.off(signal, onSignal);
      if (timedOut || interruptedBy !== undefined) killGroup(child.pid, 'SIGKILL');
      if (interruptedBy !== undefined) {
        if (runningCount === 0) process.exit(SIGNAL_CODES[interruptedBy]);
        return;
      }
      resolve({ code, timedOut, output: text, stdout });
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

/**
 * How a program failed, for a message.
 *
 * @param {string} command
 * @param {Pick<Ended, 'code' | 'timedOut'>} ended
 * @param {number} timeoutS
 */
export function failureOf(command, { code, timedOut }, timeoutS) {
  return timedOut ? `${command} did not end within ${timeoutS} s` : `${command} failed with exit code ${code}`;
}

/**
 * @param {number | undefined} pid
 * @param {NodeJS.Signals} signal
 */
function killGroup(pid, signal) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has already ended.
  }
}
