/** Exceptions in force are listed with their effect, found by text, kind, domain and author, and read in slices. */

import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { exceptionsIn } from '../../../src/administration/admin/exceptions/exception-kinds';
import { listExceptions } from '../../../src/administration/admin/exceptions/list-exceptions';
import { ControlData } from '../../../src/state/control/control-data';
import { keyOf, type ControlRecord } from '../../../src/state/control/control-record';
import { rulesOf, startAdminServer, TOKENS, type AdminHarness } from '../../support/admin/admin-server';
import { callAdmin } from '../../support/admin/admin-client';
import { loadControlCommand } from '../../support/admin/control-command';
import { runControl } from '../../../src/program/cli/control/control-command';

const YAML = `
domain: payments
plans:
  free:
    rate_limit: { name: free_plan, unit: minute, requests_per_unit: 100 }
  enterprise:
    rate_limits:
      - { name: enterprise_plan, unit: minute, requests_per_unit: 5000 }
      - { name: enterprise_day, unit: day, requests_per_unit: 1000000 }
descriptors:
  - { key: merchant, tenant: true, default_plan: free }
  - { key: user, rate_limit: { unit: minute, requests_per_unit: 10 } }
`;

let server: AdminHarness;

beforeEach(async () => {
  server = await startAdminServer({ yaml: YAML, pageMax: 1_000 });
});

afterEach(async () => {
  expect(server.errors).toEqual([]);
  await server.close();
});

interface Item {
  readonly kind: string;
  readonly name: string;
  readonly until?: string;
  readonly effect: string;
  readonly rules: readonly string[];
  readonly warnings: readonly { readonly code: string; readonly effect: string; readonly message: string }[];
}

interface Page {
  readonly items: readonly Item[];
  readonly next?: string;
}

async function list(query = '', url = server.url): Promise<Page> {
  const { status, json, body } = await callAdmin(url, { method: 'GET', path: '/v1/exceptions', query, token: TOKENS.viewer });
  expect({ status, body }).toEqual({ status: 200, body });
  return json as Page;
}

async function names(query = ''): Promise<readonly string[]> {
  return (await list(query)).items.map(({ name }) => name);
}

async function write(path: string, body: object, token = TOKENS.admin): Promise<void> {
  const { status, body: text } = await callAdmin(server.url, { method: 'PUT', path: `/v1/${path}`, token, body });
  expect({ status, text }).toEqual({ status: 200, text });
}

const limit = (requests: number) => ({ requests_per_unit: requests, unit: 'minute' });
const user = (value: string) => [{ key: 'user', value }];
const inHours = (hours: number): string => new Date(Date.now() + 3_600_000 * hours).toISOString();

async function writeAll(): Promise<void> {
  await write('overrides/payments/more', { entries: user('ann'), limit: limit(50), until: inHours(5), reason: 'Sale' });
  await write('overrides/payments/stray', { entries: [{ key: 'usr', value: 'ann' }], limit: limit(50) }, TOKENS.support);
  await write('overrides/payments/try', { entries: user('bob'), limit: limit(5), candidate: true, until: inHours(3) });
  await write('blocks/payments/fraud', { entries: user('eve'), until: inHours(1) });
  await write('blocks/payments/penalty-1', { entries: user('mallory'), until: inHours(2) });
  await write('passes/payments/test', { entries: user('eve') });
  await write('plans/payments/free', { limits: [limit(200)], until: inHours(6) });
  await write('tenants/payments/m1', { plan: 'enterprise', until: inHours(4) });
  await write('tenants/payments/m2', { plan: 'enterprise' });
}

test('every kind, what ends first at the top, with its effect now', async () => {
  await writeAll();
  const { items, next } = await list();
  expect(next).toBeUndefined();
  expect(items.map(({ kind, name, effect }) => `${kind} ${name} ${effect}`)).toEqual([
    'block fraud in_force',
    'penalty penalty-1 in_force',
    'candidate try in_force',
    'tenant m1 in_force',
    'override more in_force',
    'plan free in_force',
    'override stray none',
    'pass test none',
  ]);
  const stray = items.find(({ name }) => name === 'stray')!;
  expect(stray).toMatchObject({ rules: [], domain: 'payments', author: 'support-1', entries: [{ key: 'usr', value: 'ann' }] });
  expect(stray.warnings).toMatchObject([{ code: 'unknown_key', effect: 'none' }]);
  expect(stray.warnings[0]!.message).toContain('did you mean "user"?');
  const { warnings } = items.find(({ name }) => name === 'test')!;
  expect(warnings).toMatchObject([{ code: 'hidden_by_block', effect: 'none' }]);
  expect(warnings[0]!.message).toContain('the block fraud denies these requests');
  expect(items.find(({ name }) => name === 'more')).toMatchObject({ rules: ['user'], limit: limit(50), reason: 'Sale', warnings: [] });
});

test('an effect changes with other records, and with the end of the record', async () => {
  await writeAll();
  expect(await names('state=none')).toEqual(['stray', 'test']);
  await callAdmin(server.url, { method: 'DELETE', path: '/v1/blocks/payments/fraud', token: TOKENS.admin });
  await callAdmin(server.url, { method: 'DELETE', path: '/v1/overrides/payments/stray', token: TOKENS.admin });
  expect(await names('state=none')).toEqual([]);
  await write('overrides/payments/any', { entries: [{ key: 'merchant' }], limit: limit(300) });
  expect(await names('state=partial')).toEqual(['any']);
});

test.each([
  ['text=SALE', ['more']],
  ['text=user%3Deve', ['fraud', 'test']],
  ['text=support-1', ['stray']],
  ['text=ENTERPRISE', ['m1']],
  ['text=nothing', []],
  ['kind=override', ['more', 'stray']],
  ['kind=candidate', ['try']],
  ['kind=block', ['fraud']],
  ['kind=penalty', ['penalty-1']],
  ['kind=pass', ['test']],
  ['kind=plan', ['free']],
  ['kind=tenant', ['m1']],
  ['author=support-1', ['stray']],
  ['domain=other', []],
  ['domain=payments&kind=override&state=in_force', ['more']],
] as const)('the filter %s', async (query, expected) => {
  await writeAll();
  expect(await names(query)).toEqual(expected);
});

test('plans that were written ahead of the configuration have no effect yet', async () => {
  const ahead = { method: 'PUT', query: 'ahead=true', token: TOKENS.admin };
  await callAdmin(server.url, { ...ahead, path: '/v1/plans/payments/gold', body: { limits: [limit(9)] } });
  await callAdmin(server.url, { ...ahead, path: '/v1/tenants/payments/m3', body: { plan: 'gold', until: inHours(1) } });
  const { items } = await list('state=none');
  expect(items.map(({ name, warnings }) => [name, warnings[0]?.code, warnings[0]?.message])).toEqual([
    ['m3', 'unknown_plan', 'the configuration has no plan "gold"; the tenant has the default plan until it does'],
    ['gold', 'unknown_plan', 'the configuration has no plan "gold"; no tenant has it'],
  ]);
});

test('the newest first', async () => {
  await write('blocks/payments/one', { entries: user('a') });
  await new Promise((resolve) => setTimeout(resolve, 5));
  await write('blocks/payments/two', { entries: user('a'), until: inHours(1) });
  expect(await names('order=newest')).toEqual(['two', 'one']);
});

test('a changed cursor, an unknown kind', async () => {
  for (const query of ['cursor=x', 'cursor=1.other.a', 'kind=other', 'state=other', 'limit=0']) {
    expect(await callAdmin(server.url, { method: 'GET', path: '/v1/exceptions', query, token: TOKENS.viewer })).toMatchObject({
      status: 400,
      json: { type: 'urn:weir:problem:invalid' },
    });
  }
});

test('the command: a table, and JSON, with the same filters', async () => {
  await writeAll();
  const printed = jest.spyOn(console, 'log').mockImplementation();
  try {
    const run = async (...args: string[]) => {
      printed.mockClear();
      const url = ['--url', server.url, '--token-file', tokenFile];
      expect(await runControl(await loadControlCommand('exceptions'), { args: [...args, ...url], env: {} })).toBe(0);
      return String(printed.mock.calls[0]![0]);
    };
    const tokenFile = join(dirname(server.tokensFile), 'token');
    writeFileSync(tokenFile, TOKENS.viewer);
    const lines = (await run('--kind', 'override')).split('\n').map((line) => line.split(/ {2,}/));
    expect(lines.map((cells) => cells.slice(0, 5))).toEqual([
      ['KIND', 'DOMAIN', 'NAME', 'OF', 'GIVES'],
      ['override', 'payments', 'more', 'user=ann', '50/minute'],
      ['override', 'payments', 'stray', 'usr=ann', '50/minute'],
    ]);
    expect(lines.map((cells) => cells.slice(5))).toEqual([
      ['ENDS IN', 'AUTHOR', 'EFFECT', 'BECAUSE'],
      [expect.stringMatching(/^4h 59m|5h/), 'admin-1', 'in_force', 'Sale'],
      ['never', 'support-1', 'none', expect.stringContaining('has the key "usr"')],
    ]);
    expect(JSON.parse(await run('--state', 'none', '--text', 'USR', '--author', 'support-1', '--json'))).toMatchObject({
      items: [{ name: 'stray' }],
    });
    expect(await run('--domain', 'other')).toBe('There are none.');
    expect(await run('--count', '1')).toContain('There are more; raise --count.');
  } finally {
    printed.mockRestore();
  }
});

async function printed(command: string, ...args: string[]): Promise<string> {
  const tokenFile = join(dirname(server.tokensFile), 'token');
  writeFileSync(tokenFile, TOKENS.viewer);
  const spy = jest.spyOn(console, 'log').mockImplementation();
  try {
    const url = ['--url', server.url, '--token-file', tokenFile];
    expect(await runControl(await loadControlCommand(command), { args: [...args, ...url], env: {} })).toBe(0);
    return String(spy.mock.calls[0]![0]);
  } finally {
    spy.mockRestore();
  }
}

describe('records without an effect are named', () => {
  test('by weir tenant show, also with another key than the tenant has', async () => {
    await write('overrides/payments/stray', { entries: [{ key: 'merchent', value: 'm1' }], limit: limit(50) });
    await write('overrides/payments/other', { entries: [{ key: 'merchent', value: 'm11' }], limit: limit(50) });
    await write('overrides/payments/good', { entries: [{ key: 'merchant', value: 'm1' }], limit: limit(50) });
    const text = await printed('tenant', 'show', 'm1', '--domain', 'payments');
    expect(text.split('\n').filter((line) => line.startsWith('No effect'))).toEqual([
      expect.stringMatching(/^No effect: override stray: .*has the key "merchent".*did you mean "merchant"\?$/),
    ]);
  });

  test('by weir bucket explain, as far as they select the descriptor', async () => {
    await write('tenants/payments/m1', { plan: 'enterprise' });
    await write('overrides/payments/nameless', { entries: [{ key: 'merchant', value: 'm1' }], limit: limit(50) });
    await write('blocks/payments/fraud', { entries: [{ key: 'merchant', value: 'm1' }] });
    await write('passes/payments/test', { entries: [{ key: 'merchant', value: 'm1' }] });
    const text = await printed('bucket', 'explain', '--domain', 'payments', '--descriptor', 'merchant=m1');
    expect(text).toContain('By block fraud');
    expect(
      text
        .split('\n')
        .filter((line) => line.startsWith('  No effect'))
        .sort(),
    ).toEqual([
      expect.stringMatching(/override nameless: the block fraud denies these requests/),
      expect.stringMatching(/pass test: the block fraud denies these requests/),
    ]);
    expect(await printed('bucket', 'explain', '--domain', 'payments', '--descriptor', 'merchant=m2')).not.toContain('effect');
  });
});

const RECORDS = 100_000;

function fill(records: number): ControlData {
  const data = new ControlData();
  for (let i = 0; i < records; i += 1) {
    const record = {
      kind: i % 2 === 0 ? 'override' : 'block',
      domain: i % 10 === 0 ? 'a.b/ü' : 'payments',
      id: `r.${i}`,
      // One in 1,000 has no effect.
      entries: [{ key: i % 1_000 === 2 ? 'usr' : 'user', value: `u${i}` }],
      limit: { requestsPerUnit: 20, unit: 'minute' },
      untilMs: 4_000_000_000_000 + ((i * 7_919) % 1_000),
      author: i % 100 === 0 ? 'ann' : 'bob',
    } as ControlRecord;
    data.apply({ key: keyOf(record), version: i + 1, record });
  }
  return data;
}

const big = fill(RECORDS);

test('pages of a store: every record once, in their order', async () => {
  const records = 10_000;
  const controlView = fill(records);
  const large = await startAdminServer({ yaml: YAML, pageMax: 1_000, change: (backend) => ({ ...backend, controlView }) });
  try {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await list(`author=ann&limit=30${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`, large.url);
      seen.push(...page.items.map((item) => `${item.until} ${item.name}`));
      cursor = page.next;
    } while (cursor !== undefined);
    expect(seen.length).toBe(records / 100);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.map((each) => each.slice(0, 24))).toEqual(seen.map((each) => each.slice(0, 24)).sort());
    const withoutEffect: string[] = [];
    do {
      const page = await list(
        `state=none&kind=override&domain=payments${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
        large.url,
      );
      withoutEffect.push(...page.items.map(({ name }) => name));
      cursor = page.next;
    } while (cursor !== undefined);
    expect(withoutEffect.length).toBe(records / 1_000);
  } finally {
    await large.close();
  }
});

test('a big store is read in slices: calls are served in between', async () => {
  const input = { controlView: big, effectInput: { rules: rulesOf(YAML), modes: { shadow: false, quota: false }, control: big } };
  let slices = 0;
  const pace = {
    isOver: true,
    nextSlice: () => {
      slices += 1;
      return Promise.resolve();
    },
  };
  const { items } = await listExceptions({ order: 'ends', limit: 100 }, { ...input, pace });
  expect(items.length).toBe(100);
  // One for 64 records that are looked at, and one for each that is examined.
  expect(slices).toBeGreaterThanOrEqual(Math.floor(RECORDS / 64) + items.length);
});

test('only records of the kind are looked at', () => {
  expect([...exceptionsIn(big, 'pass')]).toEqual([]);
  expect([...exceptionsIn(big, 'override')].length).toBe(RECORDS / 2);
});
