/** Where Weir counts in its own memory, every way in which it is shipped says how much V8 may hold for young objects; an operator may say otherwise. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DEPLOY } from './manifests';

const home = mkdtempSync(join(tmpdir(), 'weir-young-'));

beforeAll(() => {
  mkdirSync(join(home, 'dist'));
  writeFileSync(join(home, 'dist', 'main.js'), "console.log(require('node:v8').getHeapStatistics().heap_size_limit)");
});

afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

interface Started {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: { readonly NODE_OPTIONS?: string; readonly REDIS_URL?: string; readonly BACKEND_TYPE?: string };
}

/** The limit of the heap of a node that is started so: the most for young objects is a part of it. */
function heapLimit({ command, args = [], env = {} }: Started): number {
  return Number(execFileSync(command, args, { env: { PATH: process.env.PATH, ...env, WEIR_HOME: home }, encoding: 'utf8' }));
}

function heapLimitWith(...flags: string[]): number {
  return heapLimit({ command: process.execPath, args: [...flags, join(home, 'dist', 'main.js')] });
}

test.each(['ratelimit', 'weir'])('/bin/%s says 4 MiB without Redis, nothing with it, and NODE_OPTIONS of an operator wins', (name) => {
  const command = resolve(DEPLOY, 'bin', name);
  const shipped = heapLimitWith('--max-semi-space-size=4');
  const asked = heapLimitWith('--max-semi-space-size=32');
  const usual = heapLimitWith();
  expect(new Set([shipped, asked, usual]).size).toBe(3);
  expect(heapLimit({ command })).toBe(shipped);
  expect(heapLimit({ command, env: { REDIS_URL: 'redis:6379', BACKEND_TYPE: 'memory' } })).toBe(shipped);
  expect(heapLimit({ command, env: { REDIS_URL: 'redis:6379' } })).toBe(usual);
  expect(heapLimit({ command, env: { NODE_OPTIONS: '--no-warnings' } })).toBe(shipped);
  expect(heapLimit({ command, env: { NODE_OPTIONS: '--max-semi-space-size=32' } })).toBe(asked);
});

test('npm start says the same', () => {
  const flag = /--max-semi-space-size=\d+ /;
  const [ofImage] = flag.exec(readFileSync(resolve(DEPLOY, 'bin', 'weir'), 'utf8')) ?? [];
  const [ofStart] = flag.exec(readFileSync(resolve(DEPLOY, '..', 'scripts', 'start.mjs'), 'utf8')) ?? [];
  expect(ofImage).toBeDefined();
  expect(ofStart).toBe(ofImage);
});
