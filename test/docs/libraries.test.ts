/** Every program of docs/libraries.md runs as it is printed, with the packages as npm installs them. */

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { until } from '../support/clock/until';
import { httpRequest } from '../support/clients/http-client';
import { fencedBlocks } from '../support/docs/markdown';
import { installPackages, LIBRARIES } from '../support/library/installed-package';
import { startChild, type Child } from '../support/processes/child-process';
import { runCommand } from '../support/processes/command';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { startRedis } from '../support/redis/redis-server';
import { freePort } from '../support/servers/ports';

const PAGE = 'docs/libraries.md';

/** On a busy machine a call takes longer than the default. */
const WEIR_TIMEOUT_MS = '20000';

/** npm installs the packages, and builds them before if a source is newer. */
const INSTALL_MS = 600_000;

let folder: string;
let weir: WeirProcess;

beforeAll(async () => {
  folder = installPackages({ others: ['express', 'fastify', '@redis/client'] });
  for (const block of [...fencedBlocks(PAGE, 'js'), ...fencedBlocks(PAGE, 'yaml')]) {
    const [, name] = /^(?:\/\/|#) (\S+\.\w+)\n/.exec(block) ?? [];
    if (name !== undefined) writeFileSync(path.join(folder, name), block);
  }
  weir = await startWeir({ config: path.join(folder, 'limits.yaml'), env: { BACKEND_TYPE: 'memory' } });
}, INSTALL_MS);

afterAll(async () => {
  await weir.stop();
  rmSync(folder, { recursive: true });
});

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      resolve(false);
    });
  });
}

async function startProgram(name: string): Promise<{ readonly child: Child; readonly port: number }> {
  const port = await freePort();
  const child = startChild({
    command: process.execPath,
    args: [name],
    cwd: folder,
    env: { PORT: String(port), WEIR_ADDRESS: `127.0.0.1:${weir.grpcPort}`, WEIR_TIMEOUT_MS },
  });
  await until(async () => {
    if (!child.isRunning()) throw new Error(child.output());
    return isOpen(port);
  });
  return { child, port };
}

test.each(['express', 'fastify'])('the program with %s limits its clients', async (name) => {
  const { child, port } = await startProgram(`${name}.mjs`);
  const statuses: number[] = [];
  let last;
  // The addresses of one machine are one client to a limiter, and not to a dual-stack server: only this one asks.
  for (let n = 0; n < 4; n += 1) {
    last = await httpRequest(`http://127.0.0.1:${port}/`);
    statuses.push(last.status);
  }
  expect({ statuses, output: child.output() }).toEqual({ statuses: [200, 200, 200, 429], output: '' });
  expect(last?.headers['retry-after']).toMatch(/^(?:20|1\d)$/);
  await child.stop();
});

test('the program that waits answers requests beyond its limit later instead of denying them', async () => {
  const { child, port } = await startProgram('wait.mjs');
  const answers = await Promise.all(Array.from({ length: 4 }, () => httpRequest(`http://127.0.0.1:${port}/`)));
  expect({ statuses: answers.map(({ status }) => status), output: child.output() }).toEqual({ statuses: [200, 200, 200, 200], output: '' });
  await child.stop();
});

test('the program with a client prints what the page shows', async () => {
  const [shown = ''] = fencedBlocks(PAGE, 'text');
  // A slow machine takes seconds for the calls before.
  const withoutWait = (text: string) => text.replace(/for \d+ s/, 'for … s');
  const { stdout, stderr } = await runCommand(process.execPath, ['client.mjs'], {
    cwd: folder,
    env: { WEIR_ADDRESS: `127.0.0.1:${weir.grpcPort}`, WEIR_TIMEOUT_MS },
  });
  expect({ stdout: withoutWait(stdout), stderr }).toEqual({ stdout: withoutWait(shown), stderr: '' });
});

test('the program that decides in its process does so with both stores', async () => {
  const redis = await startRedis();
  for (const env of [{}, { REDIS_URL: `redis://127.0.0.1:${redis.port}` }] as Readonly<Record<string, string>>[]) {
    const { stdout, stderr } = await runCommand(process.execPath, ['in-process.mjs'], { cwd: folder, env });
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^2\ndomain shop\n/);
    expect(stdout).toContain('limit: 3 per minute');
  }
  await redis.stop();
});

test('the page names every library package with each of its exports', () => {
  const page = readFileSync(PAGE, 'utf8');
  for (const library of LIBRARIES) {
    const manifest = readFileSync(path.join(folder, 'node_modules', '@weir-rls', library, 'package.json'), 'utf8');
    const { name, exports } = JSON.parse(manifest) as { name: string; exports: Record<string, unknown> };
    expect(page).toContain(`| \`${name}\``);
    for (const each of Object.keys(exports).filter((part) => !['.', './package.json'].includes(part)))
      expect(page).toContain(`\`${name}${each.slice(1)}\``);
  }
});
