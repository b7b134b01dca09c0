/** Children of the tests: started, watched, stopped within a bound, and never left behind when jest ends. */
import { hangLimitMs } from '../clock/hang-limit';
import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';

const OUTPUT_LINES_MAX = 40;
const STOP_TIMEOUT_MS = 30_000;

/**
 * How long to wait between two looks at a start: twice as long each time, because a refused connection costs jest 4 ms of processor time.
 * A benchmark, which may measure a start, has no jest.
 */
const LOOK_MS = { first: 10, max: process.env.JEST_WORKER_ID === undefined ? 20 : 200 };

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface Child {
  readonly pid: number;
  /** The last lines that it wrote, for the message of a failure. */
  output(): string;
  /** Resolves when it has written something or has ended, or after `ms`. */
  news(ms: number): Promise<void>;
  isRunning(): boolean;
  kill(signal: NodeJS.Signals): void;
  /** SIGTERM, then SIGKILL when it takes too long; resolves to the exit code, or null when a signal ended it. */
  stop(): Promise<number | null>;
}

/** Starts a program with a small environment: what a developer has set for other reasons does not reach a test. */
export function startChild({ command, args, env = {}, cwd }: ChildOptions): Child {
  const child = spawn(command, args, {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let lines: string[] = [];
  let onNews: (() => void) | undefined;
  const keep = (chunk: Buffer): void => {
    onNews?.();
    lines = [
      ...lines,
      ...chunk
        .toString()
        .split('\n')
        .filter((text) => text !== ''),
    ].slice(-OUTPUT_LINES_MAX);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);

  let exitCode: number | null = null;
  let running = true;
  const ended = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      keep(Buffer.from(error.message));
      running = false;
      resolve();
    });
    // 'close' and not 'exit': by then its last words have been read.
    child.once('close', (code) => {
      exitCode = code;
      running = false;
      if (child.pid !== undefined) reaper().drop(child.pid);
      onNews?.();
      resolve();
    });
  });
  if (child.pid !== undefined) reaper().add(child.pid);
  // A child that a failed test forgot ends with jest; it must not keep jest from ending.
  child.unref();
  unref(child.stdout);
  unref(child.stderr);

  return {
    pid: child.pid ?? 0,
    output: () => lines.join('\n'),
    news: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        onNews = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
    isRunning: () => running,
    kill: (signal) => child.kill(signal),
    stop: async () => {
      if (running) await terminate(child, ended);
      return exitCode;
    },
  };
}

async function terminate(child: ChildProcess, ended: Promise<void>): Promise<void> {
  child.kill('SIGTERM');
  // A stopped process takes SIGTERM only after SIGCONT.
  child.kill('SIGCONT');
  const timer = setTimeout(() => child.kill('SIGKILL'), hangLimitMs(STOP_TIMEOUT_MS));
  await ended;
  clearTimeout(timer);
}

/** Asks until `isReady` says yes; a child that has ended, or the time being up, is an error that shows its output. */
export async function waitUntilReady(name: string, child: Child, isReady: () => Promise<boolean>, timeoutMs: number): Promise<void> {
  const limitMs = hangLimitMs(timeoutMs);
  const deadline = performance.now() + limitMs;
  let waitMs = LOOK_MS.first;
  while (performance.now() < deadline && child.isRunning()) {
    if (await isReady().catch(() => false)) return;
    // Most programs say that they are ready; some say much.
    await Promise.all([child.news(waitMs), pause(LOOK_MS.first)]);
    waitMs = Math.min(2 * waitMs, LOOK_MS.max);
  }
  const reason = child.isRunning() ? `was not ready within ${limitMs} ms` : 'ended before it was ready';
  await child.stop();
  throw new Error(`${name} ${reason}. Its last lines:\n${child.output()}`);
}

interface Reaper {
  add(pid: number): void;
  drop(pid: number): void;
}

/** Reads "add PID" and "drop PID"; at the end of its input it kills what is left. */
const REAPER_SCRIPT = `
pids=' '
while read -r op pid; do
  case $op in
    add) pids="$pids$pid " ;;
    drop) case $pids in *" $pid "*) pids="\${pids%% $pid *} \${pids#* $pid }" ;; esac ;;
  esac
done
[ "$pids" = ' ' ] || kill -9 $pids
`;

let theReaper: Reaper | undefined;

/**
 * A shell whose input ends when this process does, however it does: jest gives tests a copy of `process`, on which
 * 'exit' never fires, and a killed worker runs no handler at all.
 */
function reaper(): Reaper {
  if (theReaper !== undefined) return theReaper;
  const shell = spawn('/bin/sh', ['-c', REAPER_SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  shell.unref();
  unref(shell.stdin);
  theReaper = {
    add: (pid) => shell.stdin.write(`add ${pid}\n`),
    drop: (pid) => shell.stdin.write(`drop ${pid}\n`),
  };
  return theReaper;
}

/** A pipe of a child is a socket, which its type doesn't say. */
function unref(pipe: Readable | Writable): void {
  (pipe as (Readable | Writable) & { unref(): void }).unref();
}
