/** The progress of a stage of `npm test`: a line every 30 seconds, because a stage may take minutes and prints its output at its end. */
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { clearInterval, setInterval } from 'node:timers';

const EVERY_MS = 30_000;

/**
 * Prints a line for the stage every `everyMs`, until the returned function is called. That one returns the highest load average.
 *
 * @param {{ name: string, file: string, everyMs?: number, print?: (line: string) => void }} options
 */
export function reportProgress({ name, file, everyMs = EVERY_MS, print = console.log }) {
  const beginMs = Date.now();
  let load = loadNow();
  const timer = setInterval(() => {
    load = Math.max(load, loadNow());
    print(`... ${name}: ${[...readProgress(file), duration(Date.now() - beginMs)].join(', ')}`);
  }, everyMs);
  return () => {
    clearInterval(timer);
    return Math.max(load, loadNow());
  };
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
