/** Each way to start Weir bounds V8's young objects, and an operator's NODE_OPTIONS wins. */

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startChild, waitUntilReady } from '../support/processes/child-process';
import { runCommand } from '../support/processes/command';
import { DEPLOY } from './manifests';
import { hangLimitMs } from '../support/clock/hang-limit';

/** A Weir that says how large its heap may become; and ends as it is told: by an argument, or by a signal. */
const MAIN = `
const [command, code] = process.argv.slice(2);
if (command === 'end') process.exit(Number(code));
if (command === 'wait') {
  const waiting = setTimeout(() => undefined, 60_000);
  process.once('SIGTERM', () => { clearTimeout(waiting); process.exitCode = 15; });
}
console.log(require('node:v8').getHeapStatistics().heap_size_limit);`;

/** A checkout in which all is installed and built, with that Weir for its own. */
const home = mkdtempSync(join(tmpdir(), 'weir-young-'));
const START = join(home, 'scripts', 'start.mjs');

beforeAll(() => {
  for (const folder of ['dist', 'src', 'config', 'node_modules']) mkdirSync(join(home, folder));
  cpSync(resolve(DEPLOY, 'bin'), join(home, 'deploy', 'bin'), { recursive: true });
  cpSync(resolve(DEPLOY, '..', 'scripts'), join(home, 'scripts'), { recursive: true });
  for (const file of [
    'package.json',
    'package-lock.json',
    'node_modules/.package-lock.json',
    'tsconfig.json',
    'config/tsconfig.build.json',
  ])
    writeFileSync(join(home, file), '{"packages":{}}');
  writeFileSync(join(home, 'dist', 'main.js'), MAIN);
  writeFileSync(join(home, 'dist', '.built'), '');
  const nextHour = new Date(Date.now() + 3_600_000);
  utimesSync(join(home, 'dist', '.built'), nextHour, nextHour);
});

afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

interface Started {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The limit of the heap of a node that is started so: the most for young objects is a part of it. */
function heapLimit({ command, args = [], env = {} }: Started): number {
  const output = execFileSync(command, args, {
    env: { PATH: process.env.PATH, ...env, WEIR_HOME: home },
    encoding: 'utf8',
    timeout: hangLimitMs(10_000),
  });
  // `npm start` first writes what it serves.
  return Number(output.trim().split('\n').at(-1));
}

function heapLimitWith(...flags: string[]): number {
  return heapLimit({ command: process.execPath, args: [...flags, join(home, 'dist', 'main.js')] });
}

const shipped = () => heapLimitWith('--max-semi-space-size=4');
const asked = () => heapLimitWith('--max-semi-space-size=8');
const withRedis = () => heapLimitWith('--max-semi-space-size=16');

test('the cases of this file differ from each other', () => {
  expect(new Set([shipped(), asked(), withRedis()]).size).toBe(3);
});

describe.each<Started & { readonly name: string }>([
  { name: '/bin/ratelimit', command: resolve(DEPLOY, 'bin', 'ratelimit') },
  { name: '/bin/weir', command: resolve(DEPLOY, 'bin', 'weir') },
  { name: 'npm start', command: process.execPath, args: [START, 'serve'] },
])('$name', (started) => {
  test.each([
    {},
    { REDIS_URL: '' },
    { BACKEND_TYPE: 'memory' },
    { BACKEND_TYPE: 'memory', REDIS_URL: 'redis:6379' },
    { NODE_OPTIONS: '--no-warnings' },
  ])('V8 gets 4 MiB semi-spaces for the embedded store (%j)', (env) => {
    expect(heapLimit({ ...started, env })).toBe(shipped());
  });

  test.each([{ REDIS_URL: 'redis:6379' }, { BACKEND_TYPE: 'redis', REDIS_URL: 'redis:6379' }])(
    'V8 gets 16 MiB semi-spaces with Redis (%j)',
    (env) => {
      expect(heapLimit({ ...started, env })).toBe(withRedis());
    },
  );

  test('NODE_OPTIONS of an operator wins', () => {
    expect(heapLimit({ ...started, env: { NODE_OPTIONS: '--max-semi-space-size=8' } })).toBe(asked());
  });
});

describe('npm start', () => {
  test('npm start runs Weir with the Node that runs npm start', () => {
    expect(heapLimit({ command: process.execPath, args: [START], env: { PATH: '/nowhere' } })).toBe(shipped());
  });

  test('npm start passes the exit code through', async () => {
    expect(await runCommand(process.execPath, [START, 'end', '7'])).toMatchObject({ exitCode: 7 });
  });

  test('npm start passes signals through', async () => {
    const child = startChild({ command: process.execPath, args: [START, 'wait'] });
    await waitUntilReady('npm start', child, () => Promise.resolve(child.output() !== ''), 10_000);
    expect(await child.stop()).toBe(15);
  });
});
