/** Runs a command to its end, with a small environment, and keeps what it said. */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { hangLimitMs } from '../clock/hang-limit';

const ROOT = resolve(__dirname, '..', '..', '..');

/** The arguments of Node with which a Weir of a test starts in less time. A benchmark starts it without them. */
export const CODE_CACHE = process.env.JEST_WORKER_ID === undefined ? [] : ['--require', resolve(__dirname, 'code-cache.cjs')];

const WEIR = [...CODE_CACHE, resolve(ROOT, 'dist', 'main.js')];
const TIMEOUT_MS = 60_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** On a quiet machine. */
  readonly timeoutMs?: number;
}

/** The exit code is -1 when it did not end by itself. */
export function runCommand(
  command: string,
  args: readonly string[],
  { env = {}, cwd = ROOT, timeoutMs = TIMEOUT_MS }: CommandOptions = {},
): Promise<CommandResult> {
  const options = {
    cwd,
    timeout: hangLimitMs(timeoutMs),
    maxBuffer: OUTPUT_BYTES_MAX,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
  };
  return new Promise((done) => {
    execFile(command, [...args], options, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      done({ exitCode, stdout, stderr });
    });
  });
}

/** `weir …`, from dist/. */
export function runWeir(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  return runCommand(process.execPath, [...WEIR, ...args], options);
}
