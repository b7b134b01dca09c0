/** Plans of the configuration are listed with file and line, beside their values at run time. */

import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runControl } from '../../../src/program/cli/control/control-command';
import { startAdminServer, TOKENS, type AdminHarness } from '../../support/admin/admin-server';
import { callAdmin } from '../../support/admin/admin-client';
import { loadControlCommand } from '../../support/admin/control-command';

const YAML = `
domain: payments
plans:
  free:
    rate_limit: { name: free_plan, unit: minute, requests_per_unit: 100 }
  enterprise:
    rate_limits:
      - { name: enterprise_plan, unit: minute, requests_per_unit: 5000 }
      - { name: enterprise_day, unit: day, requests_per_unit: 1000000 }
  open:
    rate_limit: { unlimited: true }
descriptors:
  - { key: merchant, tenant: true, default_plan: free }
`;

let server: AdminHarness;

beforeEach(async () => {
  server = await startAdminServer({ yaml: YAML });
});

afterEach(async () => {
  expect(server.errors).toEqual([]);
  await server.close();
});

async function run(...args: string[]): Promise<{ readonly code: number; readonly text: string }> {
  const tokenFile = join(dirname(server.tokensFile), 'token');
  writeFileSync(tokenFile, TOKENS.admin);
  const spies = [jest.spyOn(console, 'log').mockImplementation(), jest.spyOn(console, 'error').mockImplementation()];
  try {
    const url = ['--url', server.url, '--token-file', tokenFile];
    const code = await runControl(await loadControlCommand('plan'), { args: [...args, ...url], env: {} });
    return { code, text: spies.flatMap((spy) => spy.mock.calls.map(([line]) => String(line))).join('\n') };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

const cells = (text: string): readonly (readonly string[])[] => text.split('\n').map((line) => line.split(/ {2,}/));

test('plans of the configuration are listed with file and line, though nobody has written any', async () => {
  expect(cells((await run('list')).text).map((row) => row.slice(0, 5))).toEqual([
    ['DOMAIN', 'PLAN', 'LIMITS', 'FROM', 'VALUES AT RUN TIME'],
    ['payments', 'free', 'free_plan=100/minute', 'limits.yaml:4', '-'],
    ['payments', 'enterprise', 'enterprise_plan=5000/minute enterprise_day=1000000/day', 'limits.yaml:6', '-'],
    ['payments', 'open', 'unlimited', 'limits.yaml:10', '-'],
  ]);
  const { code, text } = await run('show', 'enterprise', '--domain', 'payments');
  expect(code).toBe(0);
  expect(text).toContain('limits.yaml:6');
  expect(text).toMatch(/values at run time +none/);
  expect(text).toContain('enterprise_plan=5000/minute');
});

test('values at run time stand beside them, and those of a plan that the configuration lacks say so', async () => {
  expect((await run('set', 'free', '--domain', 'payments', '--limit', '200/minute', '--reason', 'summer')).code).toBe(0);
  expect((await run('set', 'gold', '--domain', 'payments', '--limit', '900/minute', '--ahead')).code).toBe(0);
  const rows = cells((await run('list', '--domain', 'payments')).text);
  expect(rows[1]).toEqual(expect.arrayContaining(['free', 'free_plan=100/minute', '200/minute', 'admin-1']));
  expect(rows[4]).toEqual(expect.arrayContaining(['gold', 'not in the configuration']));
  expect(rows[4]!.join(' ')).toContain('900/minute (no effect: the configuration has no plan "gold"; no tenant has it)');
  const { text } = await run('show', 'free', '--domain', 'payments');
  expect(text).toMatch(/values at run time +200\/minute\n[^]*reason +summer[^]*version +\d+/);
});

test('a plan that is nowhere is refused', async () => {
  expect(await run('show', 'fre', '--domain', 'payments')).toEqual({
    code: 1,
    text: expect.stringContaining('there is no such plan') as string,
  });
});

test('pages and filters', async () => {
  const read = async (query: string) => {
    const { status, json } = await callAdmin(server.url, { path: '/v1/plans-in-force', query, token: TOKENS.viewer });
    return { status, ...(json as { readonly items?: readonly { readonly plan: string }[]; readonly next?: string }) };
  };
  const first = await read('limit=2');
  expect(first.items?.map(({ plan }) => plan)).toEqual(['free', 'enterprise']);
  const second = await read(`limit=2&cursor=${first.next ?? ''}`);
  expect(second).toMatchObject({ items: [{ plan: 'open', unlimited: true, limits: [], configured: true, warnings: [] }] });
  expect(second.next).toBeUndefined();
  expect(await read('domain=other')).toMatchObject({ items: [] });
  expect(await read('cursor=x')).toMatchObject({ status: 400 });
});
