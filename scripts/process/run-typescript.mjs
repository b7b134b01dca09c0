/** Runs a TypeScript program of the repository without a build, and takes over its exit code. */
import { exitWith } from './repository.mjs';
import { run } from './run.mjs';

/**
 * The npm packages must be installed.
 *
 * @param {string} program Its path in the repository.
 * @param {{ args: readonly string[], flags?: readonly string[], env?: NodeJS.ProcessEnv, timeoutS: number }} options `flags` are those of Node.
 */
export async function runTypeScript(program, { args, flags = [], env, timeoutS }) {
  const node = [...flags, '--require', './scripts/process/load-typescript.cjs', program, ...args];
  const { code, timedOut } = await run(process.execPath, node, { timeoutS, env });
  if (timedOut) exitWith(`${program} did not end within ${timeoutS} s and was stopped.`);
  process.exitCode = code;
}
