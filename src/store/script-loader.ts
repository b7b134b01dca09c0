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

const INCLUDE_LINE = /^--- @include "([^"]+)"$/;

/**
 * Loads `lua/<name>.lua`. A line `--- @include "x"` is replaced by the text of `x.lua`, which may not include
 * anything itself: the list at the head of a script is all there is.
 *
 * @throws Error naming file and line, if an include is missing, nested or named twice
 */
export function loadScript(name: string, { includeDirs = [path.join(LUA_DIR, 'include')] }: LoadScriptOptions = {}): Script {
  const file = path.join(LUA_DIR, `${name}.lua`);
  const included = new Set<string>();
  const lines = readFileSync(file, 'utf8').split('\n');
  const text = lines
    .map((line, i) => {
      const include = INCLUDE_LINE.exec(line)?.[1];
      if (include === undefined) return line;
      const where = `${file}:${i + 1}`;
      if (included.has(include)) throw new Error(`${where}: "${include}" is included twice; keep the first`);
      included.add(include);
      return readInclude({ include, includeDirs, where });
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
