/** Versions of a program that one of the project's own scripts installs, and what to do where one is missing. */

import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { hangLimitMs } from '../clock/hang-limit';

const SCRIPTS = path.resolve(__dirname, '..', '..', '..', 'scripts');

export interface PinnedVersion {
  readonly name: string;
  readonly binary: string;
  /** That installs it. */
  readonly script: string;
}

/** All of them, installed or not. */
export function listPinned(script: string): PinnedVersion[] {
  const lines = execFileSync(process.execPath, [path.join(SCRIPTS, script), '--list'], { encoding: 'utf8', timeout: hangLimitMs(10_000) })
    .trim()
    .split('\n');
  return lines.map((line) => {
    const space = line.indexOf(' ');
    return { name: line.slice(0, space), binary: line.slice(space + 1), script };
  });
}

/** The tests of one version: where it is missing they are one named skip, or one failure where nobody reads along. */
export function describePinned({ name, binary, script }: PinnedVersion, define: () => void): void {
  describe(name, () => {
    if (isExecutable(binary)) {
      define();
      return;
    }
    const isCi = !['', '0', 'false'].includes(process.env.CI ?? '');
    (isCi ? test : test.skip)(`is installed (node scripts/${script} prints why it is not)`, () => {
      throw new Error(`nothing at ${binary}`);
    });
  });
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
