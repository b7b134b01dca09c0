/** Checks the paths at which Weir creates files: their folders must exist, and Weir must be allowed to write there. */

import { accessSync, constants, statSync, type Stats } from 'node:fs';
import path from 'node:path';
import type { SettingProblem } from './table/settings-error';

export interface NewFile {
  /** The setting that names the path. */
  readonly name: string;
  readonly path: string;
  /** The kind of file that may be at the path already. */
  readonly isUsable: (there: Stats) => boolean;
  /** Completes the sentence "it exists and is not …". */
  readonly kind: string;
}

/** Why Weir could not create or use the file; empty if it could. */
export function problemsOfPath({ name, path: file, isUsable, kind }: NewFile): readonly SettingProblem[] {
  const problem = (message: string): readonly SettingProblem[] => [{ name, message }];
  const there = lookAt(file);
  if (there !== undefined && !isUsable(there)) return problem(`${file} exists and is not ${kind}; remove it, or use another path`);
  const folder = path.dirname(path.resolve(file));
  const about = lookAt(folder);
  if (about === undefined) return problem(`the folder ${folder} does not exist, or Weir may not enter it; create it, or use another path`);
  if (!about.isDirectory()) return problem(`${folder} is not a folder; use another path`);
  const written = there === undefined ? folder : file;
  return mayWrite(written) ? [] : problem(`Weir may not write to ${written}; give its user the permission, or use another path`);
}

/** Undefined: it does not exist, or cannot be looked at. */
function lookAt(place: string): Stats | undefined {
  try {
    return statSync(place, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function mayWrite(place: string): boolean {
  try {
    accessSync(place, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
