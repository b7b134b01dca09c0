/** Tools of the tests that one of the project's own scripts installs, each for itself. */

import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';

const INSTALL_TIMEOUT_MS = 600_000;

/** Where the tool is: as the stage says, or as the script that installs it does. */
export function installed(variable: string, script: string): string {
  const given = process.env[variable];
  if (given !== undefined && given !== '') return given;
  const output = execFileSync(process.execPath, [resolve(__dirname, '..', '..', '..', 'scripts', script)], {
    encoding: 'utf8',
    timeout: INSTALL_TIMEOUT_MS,
  });
  return output.trim().split('\n').at(-1)!;
}
