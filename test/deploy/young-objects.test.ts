/** Every way in which Weir is shipped says how much V8 may hold for young objects, and an operator may say otherwise. */

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
  /** Absent: none. */
  readonly nodeOptions?: string;
}

/** The limit of the heap of a node that is started so: the most for young objects is a part of it. */
function heapLimit({ command, args = [], nodeOptions }: Started): number {
  return Number(execFileSync(command, args, { env: { ...process.env, NODE_OPTIONS: nodeOptions, WEIR_HOME: home }, encoding: 'utf8' }));
}

function heapLimitWith(flag: string): number {
  return heapLimit({ command: process.execPath, args: [flag, join(home, 'dist', 'main.js')] });
}

test.each(['ratelimit', 'weir'])('/bin/%s says 4 MiB, and NODE_OPTIONS of an operator wins', (name) => {
  const command = resolve(DEPLOY, 'bin', name);
  const shipped = heapLimitWith('--max-semi-space-size=4');
  const asked = heapLimitWith('--max-semi-space-size=32');
  expect(asked).toBeGreaterThan(shipped);
  expect(heapLimit({ command })).toBe(shipped);
  expect(heapLimit({ command, nodeOptions: '--no-warnings' })).toBe(shipped);
  expect(heapLimit({ command, nodeOptions: '--max-semi-space-size=32' })).toBe(asked);
});

test('npm start says the same', () => {
  const flag = /--max-semi-space-size=\d+ /;
  const [ofImage] = flag.exec(readFileSync(resolve(DEPLOY, 'bin', 'weir'), 'utf8')) ?? [];
  const [ofStart] = flag.exec(readFileSync(resolve(DEPLOY, '..', 'scripts', 'start.mjs'), 'utf8')) ?? [];
  expect(ofImage).toBeDefined();
  expect(ofStart).toBe(ofImage);
});
