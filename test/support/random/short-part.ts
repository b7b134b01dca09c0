/** How many of the mutants the short form tries: many when the last commit, or a local change, touches what is mutated or its twin. */

import { spawnSync } from 'node:child_process';
import path from 'node:path';

const ROOT = path.resolve(__dirname, '..', '..', '..');

/** The scripts, what decides the same in TypeScript, and what kills the mutants. */
const SOURCES = [
  'lua',
  'src/domain/algorithm',
  'src/domain/decide',
  'src/state/reservation',
  'src/state/control',
  'src/state/store',
  'test/mutants',
];

const PART = { changed: 1 / 8, unchanged: 1 / 32 };

export const SHORT_PART = isChanged(ROOT, SOURCES) ? PART.changed : PART.unchanged;

/** Whether files below the paths differ from the commit before the last one. Without its history a repository counts as changed. */
export function isChanged(repository: string, paths: readonly string[]): boolean {
  return spawnSync('git', ['diff', '--quiet', 'HEAD~1', '--', ...paths], { cwd: repository }).status !== 0;
}
