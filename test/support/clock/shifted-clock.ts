/** A wall clock that a test sets for a process that runs: a small library, compiled here and preloaded into it. */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const SOURCE = path.join(__dirname, 'clock-shim.c');
const CACHE = path.resolve(__dirname, '..', '..', '..', '.cache', 'clock-shim');
const COMPILER = 'cc';

/** Why there can be no such clock on this machine; undefined if there can. */
export function whyNoShiftedClock(): string | undefined {
  if (process.platform !== 'linux') return 'the clock shim is for Linux';
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  return folders.some((folder) => existsSync(path.join(folder, COMPILER))) ? undefined : 'there is no C compiler (cc)';
}

export interface ShiftedClock {
  /** For the processes that are to have this clock. */
  readonly env: Readonly<Record<string, string>>;
  /** How far it is ahead of the machine's from now on, in milliseconds; it steps. The monotonic clock does not. */
  readonly shift: (aheadMs: number) => void;
  readonly close: () => void;
}

export function makeShiftedClock(): ShiftedClock {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-clock-'));
  const file = path.join(folder, 'offset-us');
  writeFileSync(file, Buffer.alloc(8));
  const descriptor = openSync(file, 'r+');
  return {
    env: { LD_PRELOAD: compileShim(), WEIR_CLOCK_OFFSET_FILE: file },
    shift: (aheadMs) => {
      // One write of eight bytes, so that nobody reads half of a number.
      const bytes = Buffer.from(BigInt64Array.of(BigInt(aheadMs) * 1000n).buffer);
      writeSync(descriptor, bytes, 0, bytes.length, 0);
    },
    close: () => {
      closeSync(descriptor);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The library's path; compiled once for each text of its source. */
function compileShim(): string {
  const digest = createHash('sha256').update(readFileSync(SOURCE)).digest('hex').slice(0, 16);
  const library = path.join(CACHE, `${process.arch}-${digest}.so`);
  if (existsSync(library)) return library;
  mkdirSync(CACHE, { recursive: true });
  const unfinished = `${library}.${process.pid}`;
  execFileSync(COMPILER, ['-O2', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-o', unfinished, SOURCE], { stdio: 'pipe' });
  renameSync(unfinished, library);
  return library;
}
