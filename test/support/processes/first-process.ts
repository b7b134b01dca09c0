/** Starts a program as the first process of a PID namespace, as a container does, where the machine lets us. */

import { spawnSync } from 'node:child_process';
import { hangLimitMs } from '../clock/hang-limit';

const FORK = ['--pid', '--fork', '--kill-child'];

/** A user may make a user namespace, where the machine allows that; root needs none, where it may make namespaces at all. */
const WAYS: readonly (readonly [string, ...string[]])[] = [
  ['unshare', '--user', '--map-root-user', ...FORK],
  ['unshare', ...FORK],
];

export interface FirstProcess {
  /** What to put before the program; undefined: this machine has no way. */
  readonly command: readonly [string, ...string[]] | undefined;
  /** What unshare says of it, on one line. */
  readonly reason: string;
}

export function findFirstProcess(): FirstProcess {
  const reasons: string[] = [];
  for (const [program, ...args] of WAYS) {
    const { status, error, stderr } = spawnSync(program, [...args, 'true'], { encoding: 'utf8', timeout: hangLimitMs(10_000) });
    if (status === 0) return { command: [program, ...args], reason: '' };
    reasons.push((error?.message ?? stderr).trim().split('\n')[0] ?? '');
  }
  return { command: undefined, reason: [...new Set(reasons)].join('; ') };
}
