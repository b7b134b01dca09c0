/** The progress of a stage of `npm test`: a line every 30 seconds, because a stage may take minutes and prints its output at its end. */
import { readFileSync } from 'node:fs';
import { clearInterval, setInterval } from 'node:timers';

const EVERY_MS = 30_000;

/**
 * Options of jest that keep its progress in `file`.
 *
 * @param {string} file
 */
export function progressOptions(file) {
  return { args: ['--reporters=default', '--reporters=<rootDir>/scripts/test/progress-reporter.cjs'], env: { WEIR_PROGRESS_FILE: file } };
}

/**
 * Prints a line for the stage every `everyMs`, until the returned function is called.
 *
 * @param {{ name: string, file: string, everyMs?: number, print?: (line: string) => void }} options
 */
export function reportProgress({ name, file, everyMs = EVERY_MS, print = console.log }) {
  const beginMs = Date.now();
  const timer = setInterval(() => {
    print(`... ${name}: ${[...readProgress(file), duration(Date.now() - beginMs)].join(', ')}`);
  }, everyMs);
  return () => {
    clearInterval(timer);
  };
}

/**
 * Empty before jest begins, and in a stage without jest.
 *
 * @param {string} file
 */
function readProgress(file) {
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
function duration(ms) {
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
