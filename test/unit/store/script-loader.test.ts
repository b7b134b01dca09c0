/** The script loader puts includes in place, and reports each mistake with its file and line. */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadScript, LUA_DIR } from '../../../src/state/store/redis/script-loader';

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-lua-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  return folder;
}

test.each([
  ['take', 'local function decide_group'],
  ['adjust', 'local function adjust_bucket'],
])('%s.lua loads whole, named by its SHA-1', (name, part) => {
  const { text, sha } = loadScript(name);
  expect(text).not.toMatch(/^--- @(?:include|load)/m);
  expect(text).toContain(part);
  expect(sha).toMatch(/^[0-9a-f]{40}$/);
});

test('the first folder with an include wins', () => {
  const folder = folderWith({ 'server-time.lua': '-- a clock of its own' });
  const { text } = loadScript('take', { includeDirs: [folder, path.join(LUA_DIR, 'include')] });
  expect(text).toContain('-- a clock of its own');
  expect(text).not.toContain("redis.call('TIME')");
});

test('an include becomes a function, so that it creates nothing before its first call', () => {
  const folder = folderWith({ 'token-bucket.lua': 'return "theirs"\n' });
  const { text } = loadScript('take', { includeDirs: [folder, path.join(LUA_DIR, 'include')] });
  expect(text).toContain('\nlocal function load_token_bucket()\nreturn "theirs"\nend\n');
});

test('a missing include is reported with the line that needs it', () => {
  const folder = folderWith({});
  expect(() => loadScript('take', { includeDirs: [folder] })).toThrow(/take\.lua:\d+: no "server-time\.lua" in /);
});

test('an include with an include is rejected', () => {
  const folder = folderWith({ 'arithmetic.lua': '-- one\n--- @include "other"\n' });
  expect(() => loadScript('take', { includeDirs: [folder, path.join(LUA_DIR, 'include')] })).toThrow(
    /arithmetic\.lua:2: an include may not include; name it in the script itself/,
  );
});

test('an include before one that it needs is rejected', () => {
  const folder = folderWith({ 'read-values.lua': '--- @needs "server-time" "write-each"\n' });
  expect(() => loadScript('take', { includeDirs: [folder, path.join(LUA_DIR, 'include')] })).toThrow(
    /take\.lua:\d+: "read-values" needs "write-each"; include that before/,
  );
});
