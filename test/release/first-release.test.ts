/** A project that is ready for its first release, with home, digests, maintainers and an early version, passes the checks of documents and releases. */
import path from 'node:path';
import { runCommand } from '../support/processes/command';
import { copyProject, HOME, pin, settle, type ProjectCopy } from '../support/release/project-copy';

/** Those that need no build of the copy. */
const CHECKS = [
  'test/docs/pages/policy',
  'test/docs/pages/comparison',
  'test/release/home',
  'test/release/version',
  'test/release/community',
];
const OWN_SCOPE = '@team';
const CHECKS_MS = 600_000;

let copy: ProjectCopy;
let early: string;

beforeAll(async () => {
  copy = copyProject();
  expect(await settle(copy, { ...HOME, 'npm-scope': OWN_SCOPE })).toMatchObject({ exitCode: 0, stderr: '' });
  await pin(copy);
  const { version } = JSON.parse(copy.read('package.json')) as { version: string };
  early = `${version.split('-')[0]!}-rc.98`;
  for (const file of ['package.json', 'package-lock.json']) copy.change(file, `"version": "${version}"`, `"version": "${early}"`);
  for (const field of ['version', 'appVersion'])
    copy.change('deploy/helm/weir/Chart.yaml', `\n${field}: ${version}`, `\n${field}: ${early}`);
  copy.change('CHANGELOG.md', `## [${version}] - `, `## [${early}] - 2030-01-01\n\n- ${'Try it. '.repeat(20)}\n\n## [${version}] - `);
  const table = /^\| name \| handle \| contact \| looks after \|\n\|---\|---\|---\|---\|\n/m.exec(copy.read('CONTRIBUTING.md'))![0];
  copy.change('CONTRIBUTING.md', table, `${table}| Ann Example | @ann-example | ann@org.example | everything |\n`);
  expect(await copy.run('scripts/release/people.mjs', '--write')).toMatchObject({ exitCode: 0, stderr: '' });
}, CHECKS_MS);

afterAll(() => {
  copy.remove();
});

test('its tag passes', async () => {
  expect(await copy.run('scripts/release/check-version.mjs', '--repository', HOME.repository, `v${early}`)).toMatchObject({
    exitCode: 0,
    stderr: '',
  });
});

test(
  'its documents and its release pass their tests',
  async () => {
    const jest = path.join(copy.folder, 'node_modules', 'jest', 'bin', 'jest.js');
    const { exitCode, stderr } = await runCommand(process.execPath, [jest, '--ci', '--runInBand', '--forceExit', ...CHECKS], {
      cwd: copy.folder,
      timeoutMs: CHECKS_MS,
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringContaining('Test Suites: 5 passed, 5 total') as string });
  },
  CHECKS_MS,
);
