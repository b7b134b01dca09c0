/** The children of a process, by /proc: not every machine has ps. */

import { readdirSync, readFileSync } from 'node:fs';

/** Sorted; none if there is no such process. */
export function childPidsOf(pid: number): number[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  return all.filter((each) => parentOf(each) === pid).sort((one, other) => one - other);
}

/** The field after the state, which follows the name: that may hold anything, and ends with the last parenthesis. */
function parentOf(pid: number): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}
