/** The servers of other versions that scripts/install-redis-versions.mjs installs, and what to do where one is missing. */

import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { startRedis, type RedisServer } from './redis-server';

const SCRIPT = path.resolve(__dirname, '..', '..', 'scripts', 'install-redis-versions.mjs');

export interface ServerVersion {
  /** As `redis-6.0.5`: the product, and the version that its INFO has to tell. */
  readonly name: string;
  readonly binary: string;
}

/** All of them, installed or not. */
export function listVersions(): ServerVersion[] {
  const lines = execFileSync(process.execPath, [SCRIPT, '--list'], { encoding: 'utf8', timeout: 10_000 }).trim().split('\n');
  return lines.map((line) => {
    const space = line.indexOf(' ');
    return { name: line.slice(0, space), binary: line.slice(space + 1) };
  });
}

/** The tests of one version: where it is missing they are one named skip, or one failure where nobody reads along. */
export function describeVersion({ name, binary }: ServerVersion, define: (start: () => Promise<RedisServer>) => void): void {
  describe(name, () => {
    if (isExecutable(binary)) {
      define(() => startRedis({ binary }));
      return;
    }
    const isCi = !['', '0', 'false'].includes(process.env.CI ?? '');
    (isCi ? test : test.skip)('is installed (node scripts/install-redis-versions.mjs tells why it is not)', () => {
      throw new Error(`no server at ${binary}`);
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
