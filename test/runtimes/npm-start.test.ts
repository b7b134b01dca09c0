/** `npm start` in a fresh checkout installs what serving needs, and serves the example with a console. */

import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startChild, waitUntilReady } from '../support/processes/child-process';
import { runCommand } from '../support/processes/command';
import { httpRequest } from '../support/clients/http-client';
import { until } from '../support/clock/until';
import { freePort } from '../support/servers/ports';

const ROOT = path.resolve(__dirname, '..', '..');
/** What a checkout has, without tests, pages and benchmarks. */
const CHECKOUT = [
  ...['package.json', 'package-lock.json', '.npmrc', 'tsconfig.json', 'config/tsconfig.build.json'],
  ...['deploy', 'lua', 'proto', 'scripts', 'src'],
];
const READY_MS = 240_000;
const TIMEOUT_MS = 300_000;
const PAYMENT = JSON.stringify({
  domain: 'payments',
  descriptors: [
    {
      entries: [
        { key: 'path', value: '/payment' },
        { key: 'client', value: '10.0.0.7' },
      ],
    },
  ],
});

const home = mkdtempSync(path.join(tmpdir(), 'weir-checkout-'));

beforeAll(() => {
  for (const name of CHECKOUT) cpSync(path.join(ROOT, name), path.join(home, name), { recursive: true });
});

afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

/** The same with an npm that always fails, so that only its call is seen. */
function withFailingNpm(): Readonly<Record<string, string>> {
  const bin = path.join(home, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(path.join(bin, 'npm'), '#!/bin/sh\nexit 7\n');
  chmodSync(path.join(bin, 'npm'), 0o755);
  return { PATH: `${bin}:${process.env.PATH ?? ''}` };
}

test(
  'it needs a fifth of the packages, its first decision is right, and it has a console',
  async () => {
    const [http, grpc, debug, admin] = [await freePort(), await freePort(), await freePort(), await freePort()];
    const child = startChild({
      command: 'npm',
      args: ['start'],
      cwd: home,
      env: {
        PORT: String(http),
        GRPC_PORT: String(grpc),
        DEBUG_PORT: String(debug),
        ADMIN_PORT: String(admin),
        npm_config_prefer_offline: 'true',
      },
    });
    await waitUntilReady('npm start', child, () => Promise.resolve(child.output().includes('Try it from a second terminal')), READY_MS);
    const { body } = await httpRequest(`http://127.0.0.1:${http}/json`, { method: 'POST', body: PAYMENT });
    expect(JSON.parse(body)).toMatchObject({ overallCode: 'OK', statuses: [{ limitRemaining: 2 }] });
    expect(child.output()).toContain(`console, from this machine only: http://localhost:${admin}/`);
    const console = () => httpRequest(`http://127.0.0.1:${admin}/`).catch(() => undefined);
    // The admin port opens after those of decisions.
    await until(async () => (await console()) !== undefined);
    expect((await console())?.body).toMatch(/<script type="module" src="\/console-[0-9a-f]+\.js"/);
    expect(child.output()).toMatch(/^Installing .*\nBuilding .*\nServing .*\n.*INFO: Limits/m);
    expect(await child.stop()).toBe(0);

    const isInstalled = (name: string) => existsSync(path.join(home, 'node_modules', name));
    expect(['typescript', 'redis'].filter(isInstalled)).toEqual(['typescript', 'redis']);
    expect(['jest', 'oxlint', '@swc/core', 'unix-dgram'].filter(isInstalled)).toEqual([]);
  },
  TIMEOUT_MS,
);

test('a second start installs and builds nothing', async () => {
  const { exitCode, stdout } = await runCommand('node', ['scripts/start.mjs', 'check', 'deploy/example/payments.yaml'], {
    cwd: home,
    env: withFailingNpm(),
  });
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'ok: 1 domain, 8 limits in 1 file, 0 errors, 0 warnings\n' });
});

test.each(['scripts/build.mjs', 'scripts/test.mjs'])('%s installs the other packages first', async (script) => {
  const { exitCode, stdout, stderr } = await runCommand('node', [script], { cwd: home, env: withFailingNpm() });
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/(?:^|\n)Fetching npm packages \(npm ci, into node_modules; \d+ MB of download, \d+ MB of disk\) …\n$/);
  expect(stderr).toContain('npm ci failed with exit code 7; its output is above.');
});
