/** `weir test` and `weir check --tests` end with the documented codes, follow changes, and end on a signal. */

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { renderTestSchema } from '../../../src/program/cli/test/file/test-schema';
import { until } from '../../support/clock/until';
import { runWeir } from '../../support/processes/command';

const WEIR = path.resolve('dist', 'main.js');

const LIMITS = `domain: d
descriptors:
  - {key: a, rate_limit: {unit: minute, requests_per_unit: 3, algorithm: fixed_window}}
  - {key: b, rate_limit: {unit: minute, requests_per_unit: 3}}
  - key: c
    descriptors: [{key: c, rate_limit: {unit: minute, requests_per_unit: 3}}]
`;

const testOf = (admitted: number) => `configuration: a.yaml
tests:
  - name: three a minute
    requests:
      - {domain: d, descriptors: [{a: x}], times: 9, expect: {admitted: ${admitted}}}
`;

function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-test-process-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  return folder;
}

async function runIn(files: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const cwd = folderOf(files);
  const { exitCode, stdout, stderr } = await runWeir(args, { cwd });
  return { exitCode, stdout: stdout.trimEnd().split('\n'), stderr: stderr.trimEnd().split('\n') };
}

test('exit code 0: all passed; 1: a test failed, with its line; 2: a file, its configuration or an argument is invalid', async () => {
  expect(await runIn({ 'a.yaml': LIMITS, 'a.test.yaml': testOf(3) }, 'test')).toEqual({
    exitCode: 0,
    stdout: ['ok    three a minute', '1 passed, 0 failed', 'Rules that no test reached:', '  d.b', '  d.c.c'],
    stderr: [''],
  });
  const failed = await runIn({ 'a.yaml': LIMITS, 'a.test.yaml': testOf(4) }, 'test', 'a.test.yaml');
  expect(failed.exitCode).toBe(1);
  expect(failed.stdout.slice(0, 5)).toEqual([
    'FAIL  three a minute (a.test.yaml:3)',
    '      a.test.yaml:5: d (a=x), at 2026-01-01T00:00:00Z',
    '        admitted: expected 4, got 3',
    '        answer: OVER_LIMIT',
    '        statuses[0]: OVER_LIMIT, rule d.a, 0 of 3/minute left, reset 60s',
  ]);
  for (const [files, problem] of [
    [{ 'a.test.yaml': 'tests: []' }, 'a.test.yaml:1:1: configuration: is missing'],
    [{ 'a.test.yaml': testOf(3) }, 'a.yaml: does not exist'],
    [{ 'a.yaml': 'domain: 1\nx: 2', 'a.test.yaml': testOf(3) }, 'a.yaml:2:1: x: unknown key'],
    [{ 'a.test.yaml': '\u0000' }, 'a.test.yaml:1:1: '],
    [{ 'a.yaml': LIMITS, 'a.test.yaml': testOf(3).replace('a.yaml', '[a.yaml, b.yaml]') }, 'b.yaml: does not exist'],
    [{ 'a.yaml': LIMITS, 'a.test.yaml': testOf(3).replace('a.yaml', '[a.yaml, a.yaml]') }, 'a.yaml:'],
    [{ 'a.yaml': LIMITS }, 'weir test: . has no file whose name ends with .test.yaml'],
  ] as const) {
    const { exitCode, stderr } = await runIn(files, 'test');
    expect({ exitCode, stderr: stderr[0] }).toEqual({ exitCode: 2, stderr: expect.stringMatching(new RegExp(`^${problem}`)) as string });
  }
});

test('weir check --tests warns of each rule that no test reaches, and a test that fails is an error', async () => {
  const untested = [
    'a.yaml:4:5: warning: descriptors[1]: no test reaches the rule "d.b" [untested-rule]',
    'a.yaml:6:19: warning: descriptors[2].descriptors[0]: no test reaches the rule "d.c.c" [untested-rule]',
  ];
  const other = 'configuration: b.yaml\ntests: [{name: t, requests: [{domain: d, descriptors: [{b: x}]}]}]\n';
  const files = { 'a.yaml': LIMITS, 'a.test.yaml': testOf(3), 'b.test.yaml': other };
  expect(await runIn(files, 'check', 'a.yaml', '--tests')).toMatchObject({
    exitCode: 0,
    stdout: [...untested, 'ok: 1 domain, 3 limits in 1 file, 0 errors, 2 warnings'],
  });
  expect((await runIn(files, 'check', 'a.yaml')).stdout).toEqual(['ok: 1 domain, 3 limits in 1 file, 0 errors, 0 warnings']);
  expect((await runIn(files, 'check', 'a.yaml', '--tests', '--strict')).exitCode).toBe(1);
  expect((await runIn(files, 'check', 'a.yaml', '--tests', '--strict', '--ignore', 'untested-rule')).exitCode).toBe(0);
  expect((await runIn(files, 'check', '--tests')).exitCode).toBe(2);
  const failing = await runIn({ 'a.yaml': LIMITS, 'a.test.yaml': testOf(4) }, 'check', 'a.yaml', '--tests');
  expect(failing.exitCode).toBe(1);
  expect(failing.stdout[0]).toBe('a.test.yaml:5:1: error: the test "three a minute" failed; weir test shows why');
});

test('weir schema --tests prints the schema of a file of tests', async () => {
  expect(await runWeir(['schema', '--tests'])).toEqual({ exitCode: 0, stdout: renderTestSchema(), stderr: '' });
});

test('--watch runs again when a file of tests or a configuration changes, also after an invalid one, and ends on SIGINT', async () => {
  const folder = folderOf({ 'a.yaml': LIMITS, 'a.test.yaml': testOf(3) });
  const child = spawn(process.execPath, [WEIR, 'test', '--watch'], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<readonly [number | null, NodeJS.Signals | null]>((done) =>
    child.once('exit', (...how) => {
      done(how);
    }),
  );
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const runs = () => stderr.split('waiting for changes').length - 1;
  const write = (name: string, text: string) => {
    writeFileSync(path.join(folder, 'new'), text);
    renameSync(path.join(folder, 'new'), path.join(folder, name));
  };
  try {
    await until(() => runs() === 1);
    expect(stdout).toContain('1 passed, 0 failed');
    write('a.yaml', LIMITS.replace('3', '5'));
    await until(() => runs() === 2);
    expect(stdout).toContain('admitted: expected 3, got 5');
    write('a.test.yaml', 'tests: []');
    await until(() => runs() === 3);
    expect(stderr).toContain('a.test.yaml:1:1: configuration: is missing');
    write('a.test.yaml', testOf(5));
    await until(() => runs() === 4);
    expect(stdout.match(/1 passed, 0 failed/g)).toHaveLength(2);
    // Only a terminal is cleared.
    expect(stdout).not.toContain('\u001b');
  } finally {
    child.kill('SIGINT');
  }
  expect(await ended).toEqual([0, null]);
});

test('a long run ends at once on SIGINT', async () => {
  const requests = '      - {domain: d, descriptors: [{a: x}], times: 1000000, every: 1s}\n'.repeat(10);
  const folder = folderOf({ 'a.yaml': LIMITS, 'a.test.yaml': `configuration: a.yaml\ntests:\n  - name: long\n    requests:\n${requests}` });
  const child = spawn(process.execPath, [WEIR, 'test'], { cwd: folder, stdio: ['ignore', 'ignore', 'ignore'] });
  const ended = new Promise<readonly [number | null, NodeJS.Signals | null]>((done) =>
    child.once('exit', (...how) => {
      done(how);
    }),
  );
  // A start takes less than half of this processor time, so the tests run.
  await until(() => processorTicks(child.pid!) > 100);
  child.kill('SIGINT');
  expect(await ended).toEqual([null, 'SIGINT']);
});

/** Hundredths of a second. */
function processorTicks(pid: number): number {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = rest.split(' ').slice(11, 13);
  return Number(user) + Number(system);
}
