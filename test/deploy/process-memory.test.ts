/** With the embedded store garbage does not grow with the table of buckets, and V8's compilers take little memory. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DEPLOY } from './manifests';
import { hangLimitMs } from '../support/clock/hang-limit';

/** A Weir that says how it was started. */
const home = mkdtempSync(join(tmpdir(), 'weir-memory-'));

beforeAll(() => {
  mkdirSync(join(home, 'dist'));
  writeFileSync(
    join(home, 'dist', 'main.js'),
    'console.log(JSON.stringify({ flags: process.execArgv, arenas: process.env.MALLOC_ARENA_MAX, args: process.argv.slice(2) }))',
  );
});

afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

function started(env: Readonly<Record<string, string>>): unknown {
  const said = execFileSync(resolve(DEPLOY, 'bin', 'weir'), ['check', 'a file'], {
    env: { PATH: process.env.PATH, ...env, WEIR_HOME: home },
    encoding: 'utf8',
    timeout: hangLimitMs(10_000),
  });
  return JSON.parse(said);
}

test.each([{}, { REDIS_URL: '' }, { BACKEND_TYPE: 'memory', REDIS_URL: 'redis:6379' }])(
  'garbage does not grow with the table of buckets, and compilers take little memory (%j)',
  (env) => {
    expect(started(env)).toEqual({ flags: ['--heap-growing-percent=50', '--no-maglev'], arenas: '1', args: ['check', 'a file'] });
  },
);

test('an operator may set more arenas', () => {
  expect(started({ MALLOC_ARENA_MAX: '4' })).toMatchObject({ arenas: '4' });
});

test('a process on Redis gets none of these flags, whatever the environment has', () => {
  expect(started({ REDIS_URL: 'redis:6379', flags: '--no-such-flag' })).toEqual({ flags: [], args: ['check', 'a file'] });
});
