/** The short form tries more mutants after a change of the mutated code. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isChanged } from '../../support/random/short-part';

const folder = mkdtempSync(path.join(tmpdir(), 'weir-short-part-'));

afterAll(() => {
  rmSync(folder, { recursive: true });
});

function git(...args: readonly string[]): void {
  execFileSync('git', ['-c', 'user.name=nobody', '-c', 'user.email=nobody@example.org', ...args], { cwd: folder, stdio: 'pipe' });
}

function write(file: string, text: string): void {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  writeFileSync(path.join(folder, file), text);
}

function commit(file: string, text: string): void {
  write(file, text);
  git('add', '.');
  git('commit', '--quiet', '--message', text);
}

test('the last commit, a local change and an unknown history count as a change', () => {
  expect(isChanged(folder, ['lua'])).toBe(true);
  git('init', '--quiet');
  commit('lua/take.lua', 'one');
  expect(isChanged(folder, ['lua'])).toBe(true);
  commit('docs/page.md', 'two');
  expect(isChanged(folder, ['lua'])).toBe(false);
  write('lua/take.lua', 'three');
  expect(isChanged(folder, ['lua'])).toBe(true);
  commit('lua/take.lua', 'three');
  expect(isChanged(folder, ['lua'])).toBe(true);
  expect(isChanged(folder, ['docs'])).toBe(false);
});
