/** `/bin/ratelimit_config_check` has the flags, last line and exit codes of envoyproxy/ratelimit. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runCommand } from '../support/processes/command';
import { DEPLOY } from './manifests';

const folder = mkdtempSync(join(tmpdir(), 'weir-check-'));

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function check(...args: readonly string[]) {
  return runCommand(resolve(DEPLOY, 'bin', 'ratelimit_config_check'), args, { env: { WEIR_HOME: resolve(DEPLOY, '..') } });
}

test('a valid directory prints "all rate limit configs ok" and exits with 0', async () => {
  const { exitCode, stdout } = await check('-config_dir', resolve(DEPLOY, 'example'));
  expect(stdout.split('\n').slice(-2)).toEqual(['all rate limit configs ok', '']);
  expect(exitCode).toBe(0);
});

test('an invalid directory prints every error of every file, YAML syntax errors included, and exits with 1', async () => {
  writeFileSync(join(folder, 'a.yaml'), 'domain: a\ndescriptors:\n  - { key: k, rate_limit: { unit: fortnight } }\n');
  writeFileSync(join(folder, 'b.yaml'), 'domain: [\n');
  const { exitCode, stdout } = await check(`-config_dir=${folder}`);
  expect(stdout).toContain(
    `error loading rate limit configs: ${folder}/a.yaml:3:35: descriptors[0].rate_limit.unit: unknown unit "fortnight"`,
  );
  expect(stdout).toContain(`${folder}/b.yaml:2:1: not valid YAML`);
  expect(stdout).not.toContain('configs ok');
  expect(exitCode).toBe(1);
});

test('-merge_domain_configs allows a domain in several files', async () => {
  const both = mkdtempSync(join(tmpdir(), 'weir-check-'));
  for (const key of ['a', 'b']) writeFileSync(join(both, `${key}.yaml`), `domain: d\ndescriptors: [{ key: ${key} }]\n`);
  const [apart, merged] = [await check('-config_dir', both), await check('-config_dir', both, '-merge_domain_configs')];
  rmSync(both, { recursive: true, force: true });
  expect([apart.exitCode, merged.exitCode]).toEqual([1, 0]);
});

test('a missing directory, or none, is an error', async () => {
  expect(await check()).toMatchObject({ exitCode: 2, stderr: '-config_dir is missing; give the directory of the configuration\n' });
  const { exitCode, stdout } = await check('-config_dir', join(folder, 'nowhere'));
  expect({ exitCode, last: stdout.split('\n').at(-2) }).toMatchObject({
    exitCode: 1,
    last: expect.stringMatching(/does not exist; give a directory of \.yaml files$/) as string,
  });
});
