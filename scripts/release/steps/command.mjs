/** Runs the tools of a release: a failure ends the step with what the tool said. */
import { failureOf, run } from '../../process/run.mjs';

const TIMEOUT_S = 600;

/** @typedef {{ readonly cwd?: string, readonly env?: NodeJS.ProcessEnv }} CommandOptions */

/**
 * What the program printed, without its warnings.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {CommandOptions} [options]
 */
export async function outputOf(command, args, options = {}) {
  const ended = await attempt(command, args, options);
  if (ended.code !== 0) throw new Error(`${failureOf([command, ...args].join(' '), ended, TIMEOUT_S)}:\n${ended.output.trim()}`);
  return ended.stdout;
}

/**
 * For a program whose failure is an answer.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {CommandOptions} [options]
 */
export function attempt(command, args, { cwd, env } = {}) {
  return run(command, args, { timeoutS: TIMEOUT_S, output: 'pipe', cwd, env });
}
