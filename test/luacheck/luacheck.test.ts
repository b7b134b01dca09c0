/** No Lua script has a finding of luacheck, alone or as it runs. */

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { LUA_DIR, loadScript, neededBy } from '../../src/state/store/redis/script-loader';
import { hangLimitMs } from '../support/clock/hang-limit';

const LUACHECK = process.env.WEIR_LUACHECK ?? 'luacheck';
// take.lua turns the digits of ARGV into numbers.
const REDIS_OPTIONS = ['--std', 'lua51', '--globals', 'ARGV', '--read-globals', 'redis', 'KEYS', 'struct', 'cjson', '--no-max-line-length'];
// Includes share one scope, where an argument may have the name of a value of the whole run.
const SHADOWED_UPVALUES = '431';

interface LuaFile {
  /** Without `.lua`. */
  readonly name: string;
  readonly text: string;
  /** Includes whose names it may use. */
  readonly uses: readonly string[];
  /** Names that others may use. */
  readonly offers: readonly string[];
}

const SCRIPTS = readFolder(LUA_DIR).map(({ name, text }): LuaFile => ({ name, text, uses: includedBy(text), offers: [] }));
const INCLUDES = readFolder(path.join(LUA_DIR, 'include')).map(({ name, text }): LuaFile => ({
  name,
  text,
  uses: neededBy(text),
  offers: offeredBy(name, text),
}));

function readFolder(folder: string): readonly { readonly name: string; readonly text: string }[] {
  return readdirSync(folder).flatMap((file) =>
    file.endsWith('.lua') ? [{ name: file.replace(/\.lua$/, ''), text: readFileSync(path.join(folder, file), 'utf8') }] : [],
  );
}

function includedBy(text: string): readonly string[] {
  return Array.from(text.matchAll(/^--- @(?:include|load) "(.+)"$/gm), ([, name]) => name!);
}

/** Of a file that returns something, the function that loads it; of any other, its locals. */
function offeredBy(name: string, text: string): readonly string[] {
  if (/^return /m.test(text)) return [`load_${name.replaceAll('-', '_')}`];
  return Array.from(text.matchAll(/^local (?:function (\w+)|([\w, ]+?)(?: =|$))/gm), ([, one, many]) => one ?? many!).flatMap((names) =>
    names.split(', '),
  );
}

/** A line for each finding. */
function luacheck(text: string, options: readonly string[]): readonly string[] {
  const input = { input: text, encoding: 'utf8', timeout: hangLimitMs(20_000) } as const;
  const { error, stdout, stderr } = spawnSync(LUACHECK, [...options, '--no-color', '--formatter', 'plain', '-'], input);
  if (error !== undefined) throw error;
  return (stdout + stderr).split('\n').filter((line) => line !== '');
}

function luacheckAlone({ text, uses }: LuaFile): readonly string[] {
  const known = INCLUDES.filter(({ name }) => uses.includes(name)).flatMap(({ offers }) => offers);
  return luacheck(text, known.length === 0 ? REDIS_OPTIONS : [...REDIS_OPTIONS, '--read-globals', ...known]);
}

/** Whether it says that a name is unused which others use, as far as they say so. */
function isUsedElsewhere(finding: string, { name, offers }: LuaFile): boolean {
  const unused = /(?:unused (?:function|variable)|variable) '(\w+)'(?: is never accessed)?$/.exec(finding)?.[1];
  if (unused === undefined || !offers.includes(unused)) return false;
  return [...SCRIPTS, ...INCLUDES].some(({ text, uses }) => uses.includes(name) && new RegExp(`\\b${unused}\\b`).test(text));
}

test.each([...SCRIPTS, ...INCLUDES].map((file) => [file.name, file] as const))('luacheck has no finding in %s.lua alone', (_name, file) => {
  expect(luacheckAlone(file).filter((finding) => !isUsedElsewhere(finding, file))).toEqual([]);
});

test.each(SCRIPTS.map(({ name }) => [name]))('luacheck has no finding in %s.lua as Redis runs it', (name) => {
  const findings = luacheck(loadScript(name).text, [...REDIS_OPTIONS, '--ignore', SHADOWED_UPVALUES]);
  // Not every script uses each name of an include that it shares with another.
  const offered = INCLUDES.flatMap(({ offers }) => offers);
  expect(findings.filter((finding) => !offered.includes(/unused (?:function|variable) '(\w+)'$/.exec(finding)?.[1] ?? ''))).toEqual([]);
});

test.each(['deploy/haproxy/weir.lua', 'deploy/apache/weir.lua'])('luacheck has no finding in %s', (file) => {
  const options = ['--std', 'lua53', '--read-globals', 'core', 'apache2', '--globals', 'check', '--no-max-line-length'];
  expect(luacheck(readFileSync(file, 'utf8'), options)).toEqual([]);
});

test('luacheck finds a global, an unused variable, and a name of a file that is not needed', () => {
  const findings = luacheckAlone({
    name: 'wrong',
    text: 'count = 1\nlocal unused = 2\nengine_of(ceil(1.5))\n',
    uses: ['numbers'],
    offers: [],
  }).join('\n');
  expect(findings).toContain("global variable 'count'");
  expect(findings).toContain("unused variable 'unused'");
  expect(findings).toContain("accessing undefined variable 'engine_of'");
  expect(findings).not.toContain("'ceil'");
});
