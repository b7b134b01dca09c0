/** The root of the repository, and the checks of this Node process that every script needs. */
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const NODE_MAJOR_MIN = 20;

if (Number.parseInt(process.versions.node, 10) < NODE_MAJOR_MIN) {
  exitWith(
    `Weir needs Node ${NODE_MAJOR_MIN} or newer; this is Node ${process.versions.node}. Install a newer one and run the command again.`,
  );
}

/**
 * Whether `node FILE` started the module, instead of an import.
 *
 * @param {string} moduleUrl
 */
export function isMain(moduleUrl) {
  return process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(moduleUrl);
}

/**
 * Ends the script with an error message.
 *
 * @param {string} reason
 * @returns {never}
 */
export function exitWith(reason) {
  console.error(reason);
  process.exit(1);
}
