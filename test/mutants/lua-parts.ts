/** The files that the scripts are put together from, and scripts put together with one of them changed. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { StoreScripts } from '../../src/state/store/redis/redis-store';
import { loadScript, LUA_DIR, type Script } from '../../src/state/store/redis/script-loader';
import { loadClockedScripts } from '../support/redis/clocked-script';

export interface LuaPart {
  /** Seen from `lua/`. */
  readonly file: string;
  readonly text: string;
}

/** The one file that a clocked script replaces. */
export const CLOCK_FILE = 'include/server-time.lua';

/** Runs only where Redis has MSETEX, which the Redis of the mutants has not: `test/lua/write-together.test.ts`. */
const NOT_RUN = 'include/write-together.lua';

/** Every file of the scripts that serve, each once. */
export function loadParts(): readonly LuaPart[] {
  const mains = ['take.lua', 'adjust.lua'].map(readPart);
  const includes = mains.flatMap(({ text }) =>
    Array.from(text.matchAll(/^--- @(?:include|load) "(.+)"$/gm), ([, name]) => `include/${name!}.lua`),
  );
  return [...mains, ...[...new Set(includes)].filter((file) => file !== NOT_RUN).map(readPart)];
}

/** The scripts with `text` in place of this part's own; on the tests' clock, unless the part is the clock itself. */
export function scriptsWith({ part, text }: { readonly part: LuaPart; readonly text: string }): StoreScripts {
  const whole = part.file === CLOCK_FILE ? { take: loadScript('take'), adjust: loadScript('adjust') } : loadClockedScripts();
  if (part.file === 'take.lua') return { ...whole, take: withMain(whole.take, { part, text }) };
  if (part.file === 'adjust.lua') return { ...whole, adjust: withMain(whole.adjust, { part, text }) };
  const [take, adjust] = [whole.take, whole.adjust].map((script) =>
    script.text.includes(part.text) ? replaced(script, [[part.text, text]]) : script,
  );
  return { take: take!, adjust: adjust! };
}

/** A script with `text` in place of its own file. */
export function withMain(script: Script, { part, text }: { readonly part: LuaPart; readonly text: string }): Script {
  return replaced(script, mainPieces(part.text, text));
}

function replaced(script: Script, pieces: readonly (readonly [string, string])[]): Script {
  const text = pieces.reduce((whole, [from, to]) => replaceOnce(whole, from, to), script.text);
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

function mainPieces(from: string, to: string): readonly (readonly [string, string])[] {
  const split = (text: string) => text.split(/^--- @(?:include|load) ".+"$/m);
  const replacements = split(to);
  return split(from).flatMap((piece, i) => (piece === replacements[i] ? [] : [[piece, replacements[i]!] as const]));
}

function replaceOnce(whole: string, from: string, to: string): string {
  const around = whole.split(from);
  if (around.length !== 2) throw new Error(`${around.length - 1} times in the script, not once:\n${from}`);
  return around.join(to);
}

export function readPart(file: string): LuaPart {
  return { file, text: readFileSync(path.join(LUA_DIR, file), 'utf8') };
}
