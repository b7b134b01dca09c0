/** Reads a Lua script and puts its includes in place. */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Where the scripts are, seen from `src/store` and `dist/store` alike. */
export const LUA_DIR = path.join(__dirname, '..', '..', 'lua');

export interface Script {
  readonly text: string;
  /** SHA-1 of the text: the name that EVALSHA knows it by. */
  readonly sha: string;
}

export interface LoadScriptOptions {
  /** Folders searched for includes, the first that has one wins. Default: `lua/include`. */
  readonly includeDirs?: readonly string[];
}

const INCLUDE_LINE = /^--- @(include|load) "([^"]+)"$/;

/**
 * Loads `lua/<name>.lua`. A line `--- @include "x-y"` is replaced by the text of `x-y.lua`, which may not include
 * anything itself: the list at the head of a script is all there is. `--- @load "x-y"` is replaced by a function
 * `load_x_y` around that text, for what most runs have no need of: a run makes all functions of the text anew.
 *
 * @throws Error naming file and line, if an include is missing, nested or named twice
 */
export function loadScript(name: string, { includeDirs = [path.join(LUA_DIR, 'include')] }: LoadScriptOptions = {}): Script {
  const file = path.join(LUA_DIR, `${name}.lua`);
  const names = new Set<string>();
  const lines = readFileSync(file, 'utf8').split('\n');
  const text = lines
    .map((line, i) => {
      const [, how, include] = INCLUDE_LINE.exec(line) ?? [];
      if (include === undefined) return line;
      const where = `${file}:${i + 1}`;
      if (names.has(include)) throw new Error(`${where}: "${include}" is included twice; keep the first`);
      names.add(include);
      const included = readInclude({ include, includeDirs, where });
      return how === 'load' ? `local function load_${include.replaceAll('-', '_')}()\n${included}end` : included;
    })
    .join('\n');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

function readInclude({ include, includeDirs, where }: ReadIncludeInput): string {
  const file = includeDirs.map((dir) => path.join(dir, `${include}.lua`)).find((candidate) => existsSync(candidate));
  if (file === undefined) throw new Error(`${where}: no "${include}.lua" in ${includeDirs.join(', ')}`);
  const text = readFileSync(file, 'utf8');
  const nested = text.split('\n').findIndex((line) => INCLUDE_LINE.test(line));
  if (nested >= 0) throw new Error(`${file}:${nested + 1}: an include may not include; name it in the script itself`);
  return text;
}

interface ReadIncludeInput {
  readonly include: string;
  readonly includeDirs: readonly string[];
  readonly where: string;
}
