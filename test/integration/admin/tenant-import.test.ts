/** An import of tenants goes on after a kill where it stopped, and names each refused line with its reason. */

import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createClient } from '@redis/client';
import { PAYMENTS, tokenLine, TOKENS } from '../../support/admin/admin-server';
import { until } from '../../support/clock/until';
import { runWeir, type CommandResult } from '../../support/processes/command';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { isLong } from '../../support/random/form';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { freePort } from '../../support/servers/ports';

const TENANTS = isLong ? 100_000 : 5_000;
const START_MS = 60_000;
const END = '2035-01-31T12:00:00.000Z';
const BATCH = 50;
const TENANT_KEY = 'weir:control:1{weir:control}record:tenant';

let folder: string;
let redis: RedisServer;
let client: ReturnType<typeof createClient>;
let weir: WeirProcess;
let env: Readonly<Record<string, string>>;

const inFolder = (name: string): string => path.join(folder, name);
const planOf = (i: number): string => (i % 3 === 0 ? 'gold' : 'enterprise');
const field = (i: number): string => `payments/m%20${i}`;

/** Every tenth tenant has an end. */
function csvOf(count: number): string {
  const lines = Array.from({ length: count }, (_, i) => `m ${i},${planOf(i)},${i % 10 === 0 ? END : ''}\r\n`);
  return `tenant,plan,until\r\n${lines.join('')}`;
}

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-import-'));
  writeFileSync(inFolder('limits.yaml'), PAYMENTS);
  writeFileSync(inFolder('tokens'), tokenLine('ann', 'support', TOKENS.support) + tokenLine('vic', 'viewer', TOKENS.viewer));
  for (const role of ['support', 'viewer'] as const) writeFileSync(inFolder(role), `${TOKENS[role]}\n`);
  writeFileSync(inFolder('tenants.csv'), csvOf(TENANTS));
  redis = await startRedis();
  client = createClient({ url: `redis://127.0.0.1:${redis.port}` });
  await client.connect();
  const port = await freePort();
  weir = await startWeir({
    config: inFolder('limits.yaml'),
    env: {
      REDIS_URL: `127.0.0.1:${redis.port}`,
      REDIS_OP_TIMEOUT: '1s',
      CONTROL_DATA: 'true',
      ADMIN_PORT: String(port),
      ADMIN_TOKENS_FILE: inFolder('tokens'),
    },
  });
  env = { WEIR_ADMIN_URL: `http://localhost:${port}`, WEIR_ADMIN_TOKEN_FILE: inFolder('support') };
  await until(async () => (await run('instances')).exitCode === 0);
}, START_MS);

afterAll(async () => {
  await weir.stop();
  client.destroy();
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

const containing = (text: string): string => expect.stringContaining(text) as string;

function run(...args: readonly string[]): Promise<CommandResult> {
  return runWeir(args, { env, timeoutMs: 600_000 });
}

function importFile(name: string, ...args: readonly string[]): Promise<CommandResult> {
  return run('tenant', 'import', inFolder(name), '--domain', 'payments', ...args);
}

async function countsOf(result: Promise<CommandResult>) {
  const { exitCode, stdout, stderr } = await result;
  expect({ exitCode, stderr: stderr.replace(/^weir tenant import: line .*\n/gm, '') }).toEqual({ exitCode: 0, stderr: '' });
  return JSON.parse(stdout) as { written: number; same: number; refused: number };
}

const tenantsInRedis = (): Promise<number> => client.hLen(TENANT_KEY);

interface AuditItem {
  readonly action: string;
  readonly author: string;
  readonly reason?: string;
  readonly details?: { readonly source: string; readonly written: number; readonly same: number; readonly refused: number };
}

async function auditItems(): Promise<readonly AuditItem[]> {
  const { stdout } = await run('audit', 'list', '--json', '--order', 'oldest', '--count', '10000');
  return (JSON.parse(stdout) as { items: readonly AuditItem[] }).items;
}

test('a dry run writes nothing; a kill in the middle loses nothing; the same command goes on; a third one finds all the same', async () => {
  expect(await countsOf(importFile('tenants.csv', '--dry-run', '--json'))).toMatchObject({ written: TENANTS, same: 0, refused: 0 });
  expect(await tenantsInRedis()).toBe(0);
  expect(await auditItems()).toEqual([]);

  const args = ['dist/main.js', 'tenant', 'import', inFolder('tenants.csv'), '--domain', 'payments', '--reason', 'from the old system'];
  const killed = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: 'ignore' });
  const ended = once(killed, 'exit');
  await until(async () => (await tenantsInRedis()) >= TENANTS / 10, { timeoutMs: START_MS });
  killed.kill('SIGKILL');
  await ended;
  // What the server still had is written as a whole, or not at all.
  await until(async () => {
    const before = await tenantsInRedis();
    await run('instances');
    return (await tenantsInRedis()) === before;
  });
  const written = await tenantsInRedis();
  expect(written % BATCH).toBe(0);
  expect(written).toBeLessThan(TENANTS);

  const again = await countsOf(importFile('tenants.csv', '--reason', 'from the old system', '--json'));
  expect(again).toMatchObject({ tenants: TENANTS, written: TENANTS - written, same: written, refused: 0, without_effect: 0 });
  expect(await tenantsInRedis()).toBe(TENANTS);

  const log = await auditItems();
  expect(log).toHaveLength(TENANTS / BATCH);
  expect(log.reduce((sum, { details }) => sum + (details?.written ?? 0), 0)).toBe(TENANTS);
  expect(log[0]).toMatchObject({
    action: 'import',
    author: 'ann',
    reason: 'from the old system',
    details: { domain: 'payments', kind: 'tenant', source: 'tenants.csv, lines 2 to 51', written: BATCH, same: 0, refused: 0 },
  });
  for (const i of [0, 1, TENANTS - 1]) {
    const stored = String(await client.hGet(TENANT_KEY, field(i)));
    expect(JSON.parse(stored.slice(stored.indexOf(' ')))).toMatchObject({
      tenant: `m ${i}`,
      plan: planOf(i),
      author: 'ann',
      reason: 'from the old system',
      ...(i % 10 === 0 && { until: END }),
    });
  }

  const { exitCode, stdout } = await importFile('tenants.csv', '--reason', 'again');
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(new RegExp(`^${TENANTS} tenants in [\\d.]+ s: 0 written, ${TENANTS} the same, 0 refused\\.\n$`));
  expect(await auditItems()).toHaveLength(TENANTS / BATCH);
});

test('refused lines have numbers and reasons, and all others are written', async () => {
  const lines = [
    { tenant: 'one', plan: 'gold' },
    { tenant: 'two', plan: 'golden' },
    { tenant: 'one', plan: 'basic' },
    { tenant: 'three', plan: 'gold', until: 'tomorrow' },
    { tenant: 'four', plan: 'gold', until: '2001-01-01T00:00:00Z' },
    { tenant: 'five', plann: 'gold' },
    { tenant: 'é'.repeat(128), plan: 'gold' },
    { tenant: 'six' },
    { tenant: 'seven', plan: 'gold', until: null },
  ];
  writeFileSync(inFolder('more.jsonl'), `${lines.map((line) => JSON.stringify(line)).join('\n')}\n{"tenant"\n\n[1]`);
  const { exitCode, stdout, stderr } = await importFile('more.jsonl', '--json');
  expect(exitCode).toBe(1);
  const reply = JSON.parse(stdout) as { refused_lines: readonly { line: number; problem: string }[] };
  expect(reply).toMatchObject({ tenants: 11, written: 2, same: 0, refused: 9 });
  const byLine = Object.fromEntries(reply.refused_lines.map(({ line, problem }) => [line, problem]));
  expect(byLine).toEqual({
    2: expect.stringMatching(/^the configuration in force has no plan "golden"; use one of .*"gold"/) as string,
    3: 'line 1 has this tenant already; remove one of them',
    4: 'until must be a time such as 2030-01-31T12:00:00Z',
    5: 'until: must be in the future',
    6: '"plann" is not a field of a tenant; did you mean plan?',
    7: 'tenant has 256 bytes; at most 255 are allowed',
    8: 'has no plan',
    10: 'is not JSON; write one object in each line',
    12: 'is not an object',
  });
  expect(stderr).toContain('refused: line 3: line 1 has this tenant already; remove one of them\n');
  expect(stderr).toContain('weir tenant import: 9 lines were refused; correct the file, and run the same command again\n');
  expect((await run('tenant', 'show', 'seven', '--domain', 'payments')).stdout).toMatch(/plan +gold/);
  const ahead = await importFile('more.jsonl', '--json', '--ahead');
  expect(JSON.parse(ahead.stdout)).toMatchObject({ written: 1, same: 2, refused: 8 });
});

test('a tenant whose plan has no effect is named, and refused with --strict', async () => {
  const block = ['block', 'set', 'fraud', '--domain', 'payments', '--entries', 'tenant=blocked'];
  expect((await run(...block)).exitCode).toBe(0);
  writeFileSync(inFolder('blocked.csv'), 'plan,tenant\ngold,blocked\ngold,free to go\n');
  const strict = await importFile('blocked.csv', '--strict', '--json');
  expect(JSON.parse(strict.stdout)).toMatchObject({ written: 1, refused: 1, refused_lines: [{ line: 2 }] });
  const { exitCode, stdout, stderr } = await importFile('blocked.csv');
  expect(exitCode).toBe(0);
  expect(stderr).toMatch(/^warning: line 2: the block fraud/);
  expect(stdout).toContain('1 written, 1 the same, 0 refused, 1 without their whole effect.');
});

test.each([
  ['no column', 'tenant,plam\na,b\n', 'line 1: "plam" is not a column of a tenant; did you mean plan?'],
  ['a column is missing', 'tenant,until\n', 'line 1: the column plan is missing;'],
  ['semicolons', 'tenant;plan\na;b\n', 'line 1: "tenant;plan" is not a column of a tenant'],
  ['not UTF-8', Buffer.from([0x74, 0xff]), 'the file is not UTF-8; save it as UTF-8'],
  ['a quote without an end', 'tenant,plan\n"a,gold\nb,gold\n', 'line 2: the last quote is missing'],
  ['empty', '', 'the file is empty; its first line must name the columns'],
])('a file without a table of tenants: %s', async (_, text, message) => {
  writeFileSync(inFolder('bad.csv'), text);
  const { exitCode, stderr } = await importFile('bad.csv');
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: containing(`weir tenant import: ${message}`) });
});

test('a file without a known ending, one that does not exist, a viewer', async () => {
  expect(await importFile('limits.yaml')).toMatchObject({ exitCode: 2, stderr: containing('give --format') });
  expect(await importFile('none.csv')).toMatchObject({ exitCode: 1, stderr: containing("none.csv can't be read (ENOENT)") });
  const viewer = await importFile('tenants.csv', '--token-file', inFolder('viewer'));
  expect(viewer).toMatchObject({ exitCode: 1, stderr: containing('refused with 403') });
});
