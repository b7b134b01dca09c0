/** The files that `lua/take.lua` is put together from, and scripts put together with one of them changed. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { loadScript, LUA_DIR, type Script } from '../../src/store/script-loader';
import { loadClockedScripts } from '../support/clocked-script';

export interface LuaPart {
  /** Seen from `lua/`. */
  readonly file: string;
  readonly text: string;
}

/** The one file that a clocked script replaces. */
export const CLOCK_FILE = 'include/server-time.lua';

/** Every file of the script that serves. */
export function loadParts(): readonly LuaPart[] {
  const main = readPart('take.lua');
  const includes = [...main.text.matchAll(/^--- @include "(.+)"$/gm)].map((match) => readPart(`include/${match[1]!}.lua`));
  return [main, ...includes];
}

/** The script with `text` in place of this part's own; on the tests' clock, unless the part is the clock itself. */
export function scriptWith({ part, text }: { readonly part: LuaPart; readonly text: string }): Script {
  const whole = (part.file === CLOCK_FILE ? loadScript('take') : loadClockedScripts().take).text;
  // The main file is in there in pieces, the includes between them.
  const pieces = part.file === 'take.lua' ? mainPieces(part.text, text) : [[part.text, text] as const];
  const mutated = pieces.reduce((script, [from, to]) => replaceOnce(script, from, to), whole);
  return { text: mutated, sha: createHash('sha1').update(mutated).digest('hex') };
}

function mainPieces(from: string, to: string): readonly (readonly [string, string])[] {
  const split = (text: string) => text.split(/^--- @include ".+"$/m);
  const replacements = split(to);
  return split(from).flatMap((piece, i) => (piece === replacements[i] ? [] : [[piece, replacements[i]!] as const]));
}

function replaceOnce(whole: string, from: string, to: string): string {
  const around = whole.split(from);
  if (around.length !== 2) throw new Error(`${around.length - 1} times in the script, not once:\n${from}`);
  return around.join(to);
}

function readPart(file: string): LuaPart {
  return { file, text: readFileSync(path.join(LUA_DIR, file), 'utf8') };
}
