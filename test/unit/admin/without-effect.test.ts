/** A write with little or no effect says so in the dry run and in the answer, and `strict` refuses it. */

import { startAdminServer, TOKENS, type AdminHarness } from '../../support/admin/admin-server';
import { callAdmin, type AdminResponse } from '../../support/admin/admin-client';

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
  - key: endpoint
    rate_limit: { unit: second, requests_per_unit: 10000 }
  - key: merchant
    tenant: true
    default_plan: free
  - key: merchant
    value: merchant_7
    rate_limit: { name: contract_7, unit: minute, requests_per_unit: 20000 }
  - key: partner
    value: acme_*
    tenant: true
    default_plan: free
  - key: health
    rate_limit: { unlimited: true }
  - key: slow
    rate_limit: { algorithm: sliding_window_log, unit: minute, requests_per_unit: 10 }
  - key: route
    descriptors:
      - key: user
        rate_limit: { name: of_user, unit: minute, requests_per_unit: 10 }
---
domain: plain
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 10 }
`;

let server: AdminHarness;

beforeEach(async () => {
  server = await startAdminServer({ yaml: YAML.split('---')[0]! });
});

afterEach(async () => {
  expect(server.errors).toEqual([]);
  await server.close();
});

interface Reply {
  readonly warnings: readonly { readonly code: string; readonly effect: string; readonly message: string }[];
  readonly changes: readonly object[];
}

async function call(method: string, path: string, body?: object, query = ''): Promise<AdminResponse> {
  return callAdmin(server.url, { method, path: `/v1/${path}`, query, token: TOKENS.admin, ...(body && { body }) });
}

async function write(path: string, body: object, query = ''): Promise<Reply> {
  const { status, json, body: text } = await call('PUT', path, body, query);
  expect({ status, text }).toEqual({ status: 200, text });
  return json as Reply;
}

const limit = (requests: number, more: object = {}) => ({ requests_per_unit: requests, unit: 'minute', ...more });

const override = (entries: string, values: object) => ({ entries: entriesOf(entries), limit: values });

function entriesOf(text: string): readonly object[] {
  return text.split(',').map((each) => {
    const [key, value] = each.split('=');
    return { key, ...(value !== undefined && { value }) };
  });
}

interface Case {
  readonly title: string;
  readonly path: string;
  readonly body: object;
  /** Written before. */
  readonly before?: readonly (readonly [path: string, body: object])[];
  readonly expected: readonly (readonly [code: string, effect: string, says: RegExp])[];
}

const NAMED = { name: 'free_plan' };

const cases: readonly Case[] = [
  { title: 'an override with an effect', path: 'overrides/payments/a', body: override('merchant=m1', limit(300)), expected: [] },
  {
    title: 'an override for a key that no rule has',
    path: 'overrides/payments/a',
    body: override('merchent=m1', limit(300)),
    expected: [['unknown_key', 'none', /has the key "merchent", so the override changes nothing; did you mean "merchant"\?/]],
  },
  {
    title: 'an override for entries that no rule has together',
    path: 'overrides/payments/a',
    body: override('merchant=m1,endpoint=/pay', limit(300)),
    expected: [['no_rule', 'none', /merchant=m1, endpoint=\/pay, so the override changes nothing/]],
  },
  {
    title: 'an override without a name where the plan has several limits',
    before: [['tenants/payments/m9', { plan: 'enterprise' }]],
    path: 'overrides/payments/a',
    body: override('merchant=m9', limit(300)),
    expected: [['needs_name', 'none', /the plan enterprise has 2 limits.*name one of "enterprise_plan", "enterprise_day"/]],
  },
  {
    title: 'an override of any tenant without a name, where one of the plans has several limits',
    path: 'overrides/payments/a',
    body: override('merchant', limit(300)),
    expected: [['needs_name', 'partial', /the plan enterprise has 2 limits/]],
  },
  {
    title: 'an override of any tenant by the name of a limit of one plan',
    path: 'overrides/payments/a',
    body: override('merchant', limit(300, NAMED)),
    expected: [],
  },
  {
    title: 'an override with a misspelled name',
    path: 'overrides/payments/a',
    body: override('merchant=m1', limit(300, { name: 'free_paln' })),
    expected: [['unknown_limit', 'none', /the plan free has no limit "free_paln"; did you mean "free_plan"\?/]],
  },
  {
    title: 'an override of an unlimited rule',
    path: 'overrides/payments/a',
    body: override('health=x', limit(300)),
    expected: [['nothing_to_replace', 'none', /the rule health has no rate limit/]],
  },
  {
    title: 'an override of any tenant beside one of a single tenant',
    before: [['overrides/payments/own', override('merchant=m1', limit(200))]],
    path: 'overrides/payments/a',
    body: override('merchant', limit(300, NAMED)),
    expected: [],
  },
  {
    title: 'an override below one with more entries',
    before: [['overrides/payments/both', override('route=r,user=u', limit(200))]],
    path: 'overrides/payments/a',
    body: override('user=u', limit(300)),
    expected: [],
  },
  {
    title: 'an override of the same descriptor that one with more values hides',
    before: [['overrides/payments/both', override('route,user=u', limit(200))]],
    path: 'overrides/payments/a',
    body: override('user=u', limit(300)),
    expected: [['hidden_by_override', 'none', /the override both wins/]],
  },
  {
    title: 'an override with values that the algorithm cannot count',
    path: 'overrides/payments/a',
    body: override('slow=s', limit(4_000_000_000)),
    expected: [['impossible_values', 'none', /sliding_window_log/]],
  },
  {
    title: 'an override that makes two limits share a window',
    before: [['tenants/payments/m9', { plan: 'enterprise' }]],
    path: 'overrides/payments/a',
    body: override('merchant=m9', { ...limit(300), name: 'enterprise_day' }),
    expected: [['shared_window', 'none', /the plan enterprise/]],
  },
  {
    title: 'an override under a block',
    before: [['blocks/payments/fraud', { entries: entriesOf('merchant=m1') }]],
    path: 'overrides/payments/a',
    body: override('merchant=m1', limit(300)),
    expected: [['hidden_by_block', 'none', /the block fraud denies these requests, and a block wins/]],
  },
  {
    title: 'an override under a pass',
    before: [['passes/payments/vip', { entries: entriesOf('merchant=m1') }]],
    path: 'overrides/payments/a',
    body: override('merchant=m1', limit(300)),
    expected: [['hidden_by_pass', 'none', /the pass vip/]],
  },
  {
    title: 'an override equal to what is in force',
    path: 'overrides/payments/a',
    body: override('merchant=m1', limit(100)),
    expected: [['no_change', 'none', /the plan free has this limit already/]],
  },
  {
    title: 'the same override again, with another end',
    before: [['overrides/payments/a', override('merchant=m1', limit(300))]],
    path: 'overrides/payments/a',
    body: { ...override('merchant=m1', limit(300)), until: '2100-01-01T00:00:00Z' },
    expected: [],
  },
  {
    title: 'a candidate of a misspelled name',
    path: 'overrides/payments/a',
    body: { ...override('merchant=m1', limit(300, { name: 'x' })), candidate: true },
    expected: [['unknown_limit', 'none', /it has "free_plan"/]],
  },
  {
    title: 'a candidate beside an override of the same limit',
    before: [['overrides/payments/own', override('merchant=m1', limit(200))]],
    path: 'overrides/payments/a',
    body: { ...override('merchant=m1', limit(300)), candidate: true },
    expected: [],
  },
  {
    title: 'a plan for a tenant with a contract',
    path: 'tenants/payments/merchant_7',
    body: { plan: 'enterprise' },
    expected: [['has_limits_of_its_own', 'none', /the tenant has the contract merchant_merchant_7 .* at limits\.yaml:\d+/]],
  },
  {
    title: 'a plan for a tenant that only one descriptor has',
    path: 'tenants/payments/acme_1',
    body: { plan: 'enterprise' },
    expected: [],
  },
  {
    title: 'a plan that an override hides',
    before: [['overrides/payments/own', override('merchant=m1', limit(200))]],
    path: 'tenants/payments/m1',
    body: { plan: 'free' },
    expected: [['hidden_by_override', 'none', /the override own replaces every limit of the plan/]],
  },
  {
    title: 'a plan for a blocked tenant',
    before: [['blocks/payments/fraud', { entries: entriesOf('merchant=m1') }]],
    path: 'tenants/payments/m1',
    body: { plan: 'enterprise' },
    expected: [['hidden_by_block', 'none', /the block fraud/]],
  },
  {
    title: 'values of a plan by place, of limits with names',
    path: 'plans/payments/enterprise',
    body: { limits: [limit(6000)] },
    expected: [],
  },
  {
    title: 'values of a plan for more limits than it has',
    path: 'plans/payments/free',
    body: { limits: [limit(200), limit(5)] },
    expected: [['unknown_place', 'partial', /the plan free has 1 limit\(s\), so the values at place 2 replace none/]],
  },
  {
    title: 'values of a plan with a misspelled name',
    path: 'plans/payments/enterprise',
    body: { limits: [limit(200, { name: 'enterprise_plam' })] },
    expected: [['unknown_limit', 'none', /did you mean "enterprise_plan"\?/]],
  },
  {
    title: 'values of a plan that has them already',
    path: 'plans/payments/free',
    body: { limits: [limit(100)] },
    expected: [['no_change', 'none', /the plan free has these limits already/]],
  },
  {
    title: 'values of an unlimited plan',
    path: 'plans/payments/open',
    body: { limits: [limit(100)] },
    expected: [['nothing_to_replace', 'none', /because it is unlimited/]],
  },
  {
    title: 'values that make two limits of a plan share a window',
    path: 'plans/payments/enterprise',
    body: { limits: [limit(1, { name: 'enterprise_day' })] },
    expected: [['shared_window', 'none', /the plan enterprise/]],
  },
  {
    title: 'a pass under a block',
    before: [['blocks/payments/fraud', { entries: entriesOf('merchant=m1'), until: '2100-01-01T00:00:00Z' }]],
    path: 'passes/payments/vip',
    body: { entries: entriesOf('merchant=m1') },
    expected: [['hidden_by_block', 'none', /denies these requests until 2100-01-01T00:00:00Z, and a block wins/]],
  },
  {
    title: 'a pass for an unlimited rule',
    path: 'passes/payments/vip',
    body: { entries: entriesOf('health=x') },
    expected: [['no_change', 'none', /the rule health is unlimited already/]],
  },
  {
    title: 'a pass beside one that ends later',
    before: [['passes/payments/all', { entries: entriesOf('merchant') }]],
    path: 'passes/payments/vip',
    body: { entries: entriesOf('merchant=m1'), until: '2100-01-01T00:00:00Z' },
    expected: [['no_change', 'none', /the pass all selects the same requests, and ends later/]],
  },
  { title: 'a block', path: 'blocks/payments/b', body: { entries: entriesOf('merchant=m1') }, expected: [] },
  { title: 'a block of a deep descriptor', path: 'blocks/payments/b', body: { entries: entriesOf('user=u') }, expected: [] },
  {
    title: 'a block for a key that no rule has',
    path: 'blocks/payments/b',
    body: { entries: entriesOf('merchnat=m1') },
    expected: [['unknown_key', 'partial', /so the block denies only requests that bring such a descriptor; did you mean "merchant"\?/]],
  },
  {
    title: 'a block beside one that ends later',
    before: [['blocks/payments/all', { entries: entriesOf('merchant') }]],
    path: 'blocks/payments/b',
    body: { entries: entriesOf('merchant=m1'), until: '2100-01-01T00:00:00Z' },
    expected: [['no_change', 'none', /the block all selects the same requests/]],
  },
];

test.each(cases)('$title', async ({ before = [], path, body, expected }) => {
  for (const [at, earlier] of before) await write(at, earlier);
  const logged = server.withoutEffect.length;
  const dry = await write(path, body, 'dry_run=true');
  expect(server.withoutEffect).toHaveLength(logged);
  const said = dry.warnings.map(({ code, effect }) => [code, effect]);
  expect(said).toEqual(expected.map(([code, effect]) => [code, effect]));
  for (const [i, [, , says]] of expected.entries()) expect(dry.warnings[i]!.message).toMatch(says);

  if (expected.length > 0) {
    const refused = await call('PUT', path, body, 'strict=true');
    expect(refused).toMatchObject({ status: 409, json: { type: 'urn:weir:problem:without-effect', warnings: dry.warnings } });
    expect(await call('PUT', path, body, 'strict=true&dry_run=true')).toMatchObject({ status: 409 });
  }
  const isThere = before.some(([at]) => at === path);
  if (!isThere && !path.startsWith('plans/')) expect(await call('GET', path)).toMatchObject({ status: 404 });

  const written = await write(path, body, expected.length === 0 ? 'strict=true' : '');
  expect(written.warnings).toEqual(dry.warnings);
  expect(written.changes).toEqual(dry.changes);
  // Again: its own record is no reason.
  expect((await write(path, body)).warnings).toEqual(dry.warnings);
  expect(server.withoutEffect.slice(logged)).toHaveLength(expected.length === 0 ? 0 : 2);
});

test('a change shows what is in force before and after it, and its end the way back', async () => {
  await write('tenants/payments/m9', { plan: 'enterprise' });
  const path = 'overrides/payments/a';
  const body = override('merchant=m9', limit(9_000, { name: 'enterprise_plan' }));
  const of = (requests: number) => ({
    kind: 'limit',
    name: 'enterprise_plan',
    requests_per_unit: requests,
    unit: 'minute',
    unit_multiplier: 1,
  });
  const change = { rule: 'merchant', from: of(5_000), to: of(9_000) };
  expect((await write(path, body, 'dry_run=true')).changes).toEqual([change]);
  await write(path, body);
  const { json } = await call('DELETE', path, undefined, 'dry_run=true');
  expect(json).toMatchObject({ changes: [{ ...change, from: change.to, to: change.from }], warnings: [] });
  const block = await write('blocks/payments/b', { entries: entriesOf('merchant=m9') }, 'dry_run=true');
  expect(block.changes).toMatchObject([
    { from: of(9_000), to: { kind: 'denied' } },
    { from: { kind: 'limit', name: 'enterprise_day' }, to: { kind: 'none' } },
  ]);
});

test('a promoted candidate shows the change, and a hidden one its warning', async () => {
  await write('overrides/payments/a', { ...override('merchant=m1', limit(60)), candidate: true });
  const promote = (query: string) => call('POST', 'overrides/payments/a/promote', {}, query);
  expect(await promote('dry_run=true')).toMatchObject({
    json: { warnings: [], changes: [{ from: { requests_per_unit: 100 }, to: { kind: 'limit', requests_per_unit: 60 } }, {}] },
  });
  await write('blocks/payments/fraud', { entries: entriesOf('merchant=m1') });
  expect(await promote('strict=true')).toMatchObject({ status: 409, json: { warnings: [{ code: 'hidden_by_block' }] } });
  expect(await promote('')).toMatchObject({ status: 200, json: { changed: true, warnings: [{ code: 'hidden_by_block' }] } });
});

test('the end of a record that does not exist', async () => {
  const path = 'blocks/payments/fruad';
  expect(await call('DELETE', path, undefined, 'strict=true')).toMatchObject({ status: 409 });
  expect(await call('DELETE', path)).toMatchObject({
    status: 200,
    json: { changed: false, warnings: [{ code: 'no_such_record', effect: 'none' }] },
  });
  expect(server.withoutEffect).toMatchObject([{ author: 'admin-1', subject: 'block payments/fruad' }]);
});

test('a credit for a full bucket', async () => {
  const body = { domain: 'payments', entries: entriesOf('merchant=m1'), hits: 50 };
  const warnings = [{ code: 'bucket_full', effect: 'none', message: expect.stringContaining('takes 0 of 50 hits') as string }];
  expect(await call('POST', 'credits', body, 'dry_run=true')).toMatchObject({ json: { warnings } });
  expect(await call('POST', 'credits', body, 'strict=true')).toMatchObject({ status: 409 });
  expect((await call('GET', 'audit')).json).toEqual({ items: [] });
  expect(await call('POST', 'credits', body)).toMatchObject({ json: { warnings } });
  expect(server.withoutEffect).toHaveLength(1);
});

test('a plan in a domain without tenants, and a record that was written ahead of its domain', async () => {
  const plain = await startAdminServer({
    yaml: `${YAML.split('---')[1]!}plans:\n  free: { rate_limit: { unit: hour, requests_per_unit: 1 } }\n`,
  });
  try {
    const put = (path: string, body: object, query = '') =>
      callAdmin(plain.url, { method: 'PUT', path: `/v1/${path}`, body, query, token: TOKENS.admin });
    expect(await put('tenants/plain/m1', { plan: 'free' })).toMatchObject({ json: { warnings: [{ code: 'no_tenants' }] } });
    expect(await put('plans/plain/free', { limits: [limit(1)] })).toMatchObject({ json: { warnings: [{ code: 'no_tenants' }] } });
    expect(await put('tenants/next/m1', { plan: 'free' }, 'ahead=true')).toMatchObject({ json: { warnings: [] } });
  } finally {
    await plain.close();
  }
});
