/** The audit log is filtered by tenant, descriptor, author, kind and time, in bounded pages. */

import type { AuditEntry, AuditQuery } from '../../../src/state/control/control-store';
import { startAdminServer, TOKENS, type AdminHarness } from '../../support/admin/admin-server';
import { callAdmin } from '../../support/admin/admin-client';

interface Entry {
  readonly id: string;
  readonly at: string;
  readonly author: string;
  readonly kind?: string;
  readonly reason?: string;
}

interface Page {
  readonly items: readonly Entry[];
  readonly next?: string;
}

let server: AdminHarness;

async function write(method: string, path: string, body: object, token = TOKENS.support): Promise<void> {
  expect(await callAdmin(server.url, { method, path, body, token })).toMatchObject({ status: 200 });
}

async function read(query: string): Promise<Page> {
  const { status, json } = await callAdmin(server.url, { path: '/v1/audit', query, token: TOKENS.support });
  expect(status).toBe(200);
  return json as Page;
}

async function reasons(query: string): Promise<readonly (string | undefined)[]> {
  return (await read(query)).items.map(({ reason }) => reason);
}

const limit = { requests_per_unit: 300, unit: 'minute' };

/** The reasons of all entries, the newest first. */
const ALL = ['import of m3', 'override any merchant', 'block m2', 'plan of m1', 'override m1, /charge', 'block m1', 'credit m1'];

beforeAll(async () => {
  server = await startAdminServer();
  const m1 = { key: 'merchant', value: 'm1' };
  await write('POST', '/v1/credits', { domain: 'payments', entries: [m1], hits: 1, reason: 'credit m1' });
  await write('PUT', '/v1/blocks/payments/b1', { entries: [m1], reason: 'block m1' });
  await write('PUT', '/v1/overrides/payments/o1', {
    entries: [m1, { key: 'endpoint', value: '/charge' }],
    limit,
    reason: 'override m1, /charge',
  });
  await write('PUT', '/v1/tenants/payments/m1', { plan: 'gold', reason: 'plan of m1' }, TOKENS.admin);
  await write('PUT', '/v1/blocks/payments/b2', { entries: [{ key: 'merchant', value: 'm2' }], reason: 'block m2' });
  await write('PUT', '/v1/overrides/payments/o2', { entries: [{ key: 'merchant' }], limit, reason: 'override any merchant' });
  await write('POST', '/v1/tenants/payments', {
    items: ['m3', 'm4'].map((tenant) => ({ tenant, plan: 'gold' })),
    source: 'tenants.csv, lines 2 to 3',
    reason: 'import of m3',
  });
});

afterAll(async () => {
  expect(server.errors).toEqual([]);
  await server.close();
});

test.each([
  ['', ALL],
  ['author=admin-1', ['plan of m1']],
  ['kind=tenant', ['import of m3', 'plan of m1']],
  ['tenant=m4', ['import of m3']],
  ['descriptor=merchant%3Dm3', ['import of m3', 'override any merchant']],
  ['kind=block', ['block m2', 'block m1']],
  ['domain=payments', ALL],
  ['domain=other', []],
  ['tenant=m1', ['plan of m1', 'override m1, /charge', 'block m1', 'credit m1']],
  ['tenant=m1&kind=block', ['block m1']],
  ['tenant=m1&author=support-1&kind=tenant', []],
  // An override of two entries does not select a descriptor that has one of them.
  ['descriptor=merchant%3Dm1', ['override any merchant', 'plan of m1', 'block m1', 'credit m1']],
  [
    'descriptor=merchant%3Dm1,endpoint%3D%252Fcharge',
    ['override any merchant', 'plan of m1', 'override m1, /charge', 'block m1', 'credit m1'],
  ],
  ['descriptor=merchant%3Dm2&order=oldest', ['block m2', 'override any merchant']],
  ['since=2100-01-01T00:00:00Z', []],
  ['since=2020-01-01T00:00:00Z', ALL],
] as const)('the filter "%s" finds its entries', async (query, expected) => {
  expect(await reasons(query)).toEqual(expected);
});

test('a time finds the entries from it on, in both orders', async () => {
  const { items } = await read('');
  const { at } = items[2]!;
  const expected = ALL.filter((_, i) => items[i]!.at >= at);
  expect(await reasons(`since=${at}`)).toEqual(expected);
  expect(await reasons(`since=${at}&order=oldest`)).toEqual(expected.toReversed());
});

test('pages of a filter join to the whole, and the last one has no next', async () => {
  const found: (string | undefined)[] = [];
  let cursor = '';
  for (let pages = 0; pages < 10; pages += 1) {
    const page = await read(`tenant=m1&limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`);
    found.push(...page.items.map(({ reason }) => reason));
    if (page.next === undefined) break;
    cursor = page.next;
  }
  expect(found).toEqual(['plan of m1', 'override m1, /charge', 'block m1', 'credit m1']);
});

test('a page searches a bounded part of the log, and its next goes on there', async () => {
  const entries: readonly AuditEntry[] = Array.from({ length: 5_001 }, (_, i) => ({
    id: `${6_000 - i}-0`,
    atMs: 6_000 - i,
    author: i === 5_000 ? 'the first' : 'another',
    action: 'put',
  }));
  const long = await startAdminServer({
    change: (backend) => ({
      ...backend,
      control: Object.assign(Object.create(backend.control) as typeof backend.control, {
        audit: ({ after, limit: count }: AuditQuery) => {
          const from = after === undefined ? 0 : entries.findIndex(({ id }) => id === after) + 1;
          const page = entries.slice(from, from + count);
          return Promise.resolve({ entries: page, ...(from + count < entries.length && { next: page.at(-1)?.id }) });
        },
      }),
    }),
  });
  const look = async (query: string) => (await callAdmin(long.url, { path: '/v1/audit', query, token: TOKENS.support })).json as Page;
  const first = await look('author=the%20first');
  expect(first).toEqual({ items: [], next: '1001-0' });
  expect(await look('author=the%20first&cursor=1001-0')).toMatchObject({ items: [{ author: 'the first' }] });
  await long.close();
});

test.each([
  ['kind=rule', 'query/kind'],
  ['since=yesterday', 'query/since'],
  ['descriptor=merchant', 'query/descriptor'],
  ['descriptor=%3Dm1', 'query/descriptor'],
  ['tenant=', 'query/tenant'],
] as const)('the query "%s" is refused with its field', async (query, field) => {
  const { status, json } = await callAdmin(server.url, { path: '/v1/audit', query, token: TOKENS.support });
  expect(status).toBe(400);
  expect(JSON.stringify(json)).toContain(field);
});
