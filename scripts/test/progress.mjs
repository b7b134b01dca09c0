/** The progress of `npm test`: one line with what runs and what remains, because a stage prints nothing before its end. */
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { clearInterval, setInterval } from 'node:timers';

/** A terminal shows one line that changes; a log has a line every 30 seconds. */
const TERMINAL_MS = 1_000;
const LOG_MS = 30_000;

const CLEAR_LINE = '\r\x1b[K';

/** @typedef {{ readonly done: number, readonly running: readonly { readonly name: string, readonly file: string }[], readonly waiting: readonly string[] }} Progress */

/**
 * Shows what `read` returns, until the returned function is called. That one returns the highest load average.
 *
 * @param {object} options
 * @param {() => Progress} options.read `file` is where the reporter of jest writes the progress of a stage.
 * @param {number} [options.everyMs]
 * @param {(text: string) => void} [options.write]
 * @param {boolean} [options.isTerminal]
 */
export function showProgress({
  read,
  isTerminal = process.stdout.isTTY,
  everyMs = isTerminal ? TERMINAL_MS : LOG_MS,
  write = (text) => process.stdout.write(text),
}) {
  const beginMs = Date.now();
  let load = loadNow();
  const timer = setInterval(() => {
    load = Math.max(load, loadNow());
    const line = lineOf(read(), Date.now() - beginMs);
    write(isTerminal ? `${CLEAR_LINE}${line.slice(0, process.stdout.columns - 1)}` : `${line}\n`);
  }, everyMs);
  return () => {
    clearInterval(timer);
    if (isTerminal) write(CLEAR_LINE);
    return Math.max(load, loadNow());
  };
}

/**
 * @param {Progress} progress
 * @param {number} ms
 */
function lineOf({ done, running, waiting }, ms) {
  const now = running.map(({ name, file }) => [name, ...readFiles(file)].join(' '));
  const parts = [`${done} of ${done + running.length + waiting.length} stages done`];
  if (now.length > 0) parts.push(`running: ${now.join(', ')}`);
  if (waiting.length > 0) parts.push(`then: ${waiting.join(', ')}`);
  return `${duration(ms)}  ${parts.join('; ')}`;
}

/** How many processes ran or waited for a core in the last minute. */
function loadNow() {
  return loadavg()[0] ?? 0;
}

/**
 * Empty before jest begins, and in a stage without jest.
 *
 * @param {string} file
 */
function readFiles(file) {
  try {
    return [readFileSync(file, 'utf8')];
  } catch {
    return [];
  }
}

/**
 * Minutes and seconds.
 *
 * @param {number} ms
 */
export function duration(ms) {
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
