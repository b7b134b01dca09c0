/** The CI files for limits run check, test, diff and replay on a change, and the two forges run the same. */

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { runCommand } from '../support/processes/command';

const ROOT = path.resolve(__dirname, '..', '..');
const CI = path.join(ROOT, 'deploy', 'ci');
const WEIR = `${process.execPath} ${path.join(ROOT, 'dist', 'main.js')}`;

interface Job {
  readonly script: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
}

const gitlab = (parse(readFileSync(path.join(CI, 'gitlab-ci.yaml'), 'utf8')) as { readonly limits: Job }).limits;

interface Change {
  readonly folder: string;
  readonly base: string;
}

/** A repository of limits, in which a commit changes one. */
function repositoryWith(change: (limits: string) => string): Change {
  const folder = path.join(mkdtempSync(path.join(tmpdir(), 'weir-ci-')), 'checkout');
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: folder, encoding: 'utf8' }).trim();
  for (const each of ['limits', 'ci']) mkdirSync(path.join(folder, each), { recursive: true });
  cpSync(path.join(ROOT, 'deploy', 'example'), path.join(folder, 'limits'), { recursive: true });
  cpSync(path.join(CI, 'check-limits.sh'), path.join(folder, 'ci', 'check-limits.sh'));
  git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', 'Limits in force');
  const base = git('rev-parse', 'HEAD');
  const file = path.join(folder, 'limits', 'payments.yaml');
  writeFileSync(file, change(readFileSync(file, 'utf8')));
  git('commit', '-qam', 'Change a limit');
  return { folder, base };
}

/** The steps of the job, without the installation of Weir, which is built here. */
async function runJob({ folder, base }: Change, env: Readonly<Record<string, string>> = {}) {
  const script = gitlab.script.filter((line) => !line.startsWith('npm install'));
  expect(script).toHaveLength(gitlab.script.length - 1);
  const variables = { ...gitlab.variables, CI_MERGE_REQUEST_DIFF_BASE_SHA: base, WEIR, ...env };
  const result = await runCommand('sh', ['-euc', script.join('\n')], { cwd: folder, env: variables });
  const read = (name: string) => (existsSync(path.join(folder, name)) ? readFileSync(path.join(folder, name), 'utf8') : '');
  return { ...result, report: read('weir-report.md'), tests: read('weir-tests.xml') };
}

test('the workflow uses the same actions as this repository', () => {
  const own = readFileSync(path.join(ROOT, '.github', 'workflows', 'ci.yml'), 'utf8');
  const workflow = readFileSync(path.join(CI, 'github-actions.yaml'), 'utf8');
  const uses = Array.from(workflow.matchAll(/uses: .*/g), ([used]) => used);
  expect(uses.length).toBe(2);
  for (const used of uses) expect(own).toContain(used);
});

test('both files run the same script on the same folders', () => {
  const workflow = readFileSync(path.join(CI, 'github-actions.yaml'), 'utf8');
  expect(workflow).toContain(`run: ${gitlab.script.at(-1)}`);
  for (const [name, value] of Object.entries(gitlab.variables)) if (name !== 'GIT_DEPTH') expect(workflow).toContain(`${name}: ${value}`);
});

test('a looser limit passes, and the report for the merge request names it', async () => {
  const looser = (limits: string) => limits.replace('requests_per_unit: 20000', 'requests_per_unit: 30000');
  const { exitCode, report, tests } = await runJob(repositoryWith(looser));
  expect([exitCode, tests.includes('<failure')]).toEqual([0, false]);
  expect(report).toContain('Only looser: requests that were denied may be admitted.');
});

test('a change that breaks a test fails, with the test in the report of the forge', async () => {
  const { exitCode, tests } = await runJob(
    repositoryWith((limits) => limits.replace('requests_per_unit: 100\n', 'requests_per_unit: 90\n')),
  );
  expect(exitCode).toBe(1);
  expect(tests).toContain('<failure');
});

test('a stricter change is reported, and fails where it must not pass by itself', async () => {
  const change = repositoryWith((limits) => `${limits}\n  - key: new_key\n    rate_limit: {unit: day, requests_per_unit: 1}\n`);
  const { exitCode, report } = await runJob(change);
  expect([exitCode, report.includes('Stricter: requests that were admitted may be denied.')]).toEqual([0, true]);
  const env = { WEIR, STRICTER: 'fail' };
  const failed = await runCommand('sh', ['ci/check-limits.sh', 'limits', '../old/limits'], { cwd: change.folder, env });
  expect(failed.exitCode).toBe(1);
});

test('a configuration that does not load fails at once', async () => {
  const { exitCode, report } = await runJob(repositoryWith(() => 'domain: ['));
  expect([exitCode, report]).toEqual([1, '']);
});
