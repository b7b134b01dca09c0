/** Loads Lua scripts and resolves their includes. */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../../lib/package-root';

/** Folder of the scripts. */
export const LUA_DIR = path.join(PACKAGE_ROOT, 'lua');

export interface Script {
  readonly text: string;
  /** SHA-1 of the text, for EVALSHA. */
  readonly sha: string;
}

export interface LoadScriptOptions {
  /** Folders with includes; the first match wins. Default: `lua/include`. */
  readonly includeDirs?: readonly string[];
}

const INCLUDE_LINE = /^--- @(include|load) "([^"]+)"$/;
const NEEDS_LINE = /^--- @needs (".+")$/;

/**
 * Loads `lua/<name>.lua`. A line `--- @include "x-y"` is replaced by the text of `x-y.lua`, which may not include
 * other files, so that the head of a script lists everything. `--- @load "x-y"` is replaced by a function
 * `load_x_y` around that text, for parts that most runs do not need: a run creates all functions of the text again.
 * An include says with `--- @needs "x" "y"` which others it uses; they must come before it.
 *
 * @throws Error with file and line, if an include is missing, nested, named twice, or before one that it needs
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
      const included = readInclude({ include, includeDirs, where });
      const missing = neededBy(included).find((needed) => !names.has(needed));
      if (missing !== undefined) throw new Error(`${where}: "${include}" needs "${missing}"; include that before`);
      names.add(include);
      return how === 'load' ? `local function load_${include.replaceAll('-', '_')}()\n${included}end` : included;
    })
    .join('\n');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** The includes that this text says it needs. */
export function neededBy(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => Array.from((NEEDS_LINE.exec(line)?.[1] ?? '').matchAll(/"([^"]+)"/g), ([, name = '']) => name));
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
