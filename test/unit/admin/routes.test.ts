/** Each admin route refuses roles below its own, and random requests get valid replies and no server error. */

import { once } from 'node:events';
import { connect } from 'node:net';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import fc from 'fast-check';
import { ROLES, type Role } from '../../../src/administration/admin/role';
import type { AdminRoute } from '../../../src/administration/admin/route/route';
import { ADMIN_ROUTES } from '../../../src/administration/admin/routes/routes';
import { startAdminServer, TOKENS, type AdminHarness } from '../../support/admin/admin-server';
import { callAdmin, type AdminRequest } from '../../support/admin/admin-client';
import { seeded } from '../../support/random/random';

let server: AdminHarness;
const secret = 'correct-horse-battery-staple';

beforeAll(async () => {
  server = await startAdminServer({ env: { REDIS_AUTH: secret } });
});

afterAll(async () => {
  expect(server.errors).toEqual([]);
  await server.close();
});

const call = (request: AdminRequest) => callAdmin(server.url, request);

/** A valid request for each operation that needs more than its path. */
const EXAMPLES: Readonly<Record<string, Partial<AdminRequest>>> = {
  putTenant: { body: { plan: 'gold' } },
  importTenants: { body: { items: [{ tenant: 'one', plan: 'gold' }] } },
  putPlan: { query: 'ahead=true', body: { limits: [{ requests_per_unit: 10, unit: 'second' }] } },
  putOverride: { body: { entries: [{ key: 'merchant', value: 'm1' }], limit: { requests_per_unit: 300, unit: 'minute' } } },
  putBlock: { body: { entries: [{ key: 'merchant', value: 'blocked' }], reason: 'fraud' } },
  putPass: { body: { entries: [{ key: 'merchant', value: 'passed' }], until: '2100-01-01T00:00:00Z' } },
  putRollout: { body: { by: 'merchant', percent: 10, stop_if: { denied_above: '2%', for: '5m' } } },
  lookupBuckets: { body: { domain: 'payments', descriptors: [{ entries: [{ key: 'merchant', value: 'm1' }] }] } },
  getUsage: { query: 'domain=payments&tenant=m1' },
  listBuckets: { query: 'domain=payments' },
  resetBuckets: { body: { domain: 'payments', entries: [{ key: 'merchant', value: 'm1' }] } },
  promoteOverride: { body: {} },
  giveCredit: { body: { domain: 'payments', entries: [{ key: 'merchant', value: 'm1' }], hits: 1 } },
  explainRequest: { body: { domain: 'payments', descriptors: [{ entries: [{ key: 'merchant', value: 'm1' }] }] } },
  simulateRequest: {
    body: { domain: 'payments', descriptors: [{ entries: [{ key: 'merchant', value: 'm1' }] }], per_second: 2, for_seconds: 60 },
  },
  listTopKeys: { query: 'question=denied' },
  showDayOfKey: { query: 'domain=payments&entries=merchant%3Dm1' },
  restoreControl: { body: {} },
  discardLostControl: { body: {} },
};

function exampleOf({ id, method, path }: AdminRoute, role: Role | undefined): AdminRequest {
  const filled = path.replace('{domain}', 'payments').replace(/\{\w+\}/, 'one');
  return { method, path: filled, ...(role && { token: TOKENS[role] }), ...EXAMPLES[id] };
}

const cases = ADMIN_ROUTES.flatMap((route) => ROLES.map((role) => ({ id: route.id, needs: route.role, role, route })));

test.each(cases)('$id, which needs $needs, by $role', async ({ needs, role, route }) => {
  const isAllowed = ROLES.indexOf(role) >= ROLES.indexOf(needs);
  const { status, json } = await call({ ...exampleOf(route, role), endAtHeaders: route.id === 'tailDecisions' });
  // Only what an earlier case has not made may be missing.
  const expected = route.condition === 'read' || route.problems?.includes('not-found') === true ? [200, 404] : [200];
  expect(isAllowed ? expected : [403]).toContain(status);
  if (!isAllowed) expect(json).toMatchObject({ type: 'urn:weir:problem:forbidden', status: 403 });
});

test.each(ADMIN_ROUTES.map((route) => ({ id: route.id, route })))('$id without a token, and with a wrong one', async ({ route }) => {
  const strict = await startAdminServer();
  try {
    const missing = await callAdmin(strict.url, exampleOf(route, undefined));
    expect(missing).toMatchObject({ status: 401, json: { type: 'urn:weir:problem:unauthenticated' } });
    expect(missing.headers['www-authenticate']).toContain('Bearer');
    expect(await callAdmin(strict.url, { ...exampleOf(route, undefined), token: `${TOKENS.admin}x` })).toMatchObject({ status: 401 });
  } finally {
    await strict.close();
  }
});

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: object }[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: object } } };
}

/** Values that are valid, nearly valid, or nonsense for a schema of the document. */
function valueOf(schema: object): fc.Arbitrary<unknown> {
  const {
    type,
    properties = {},
    required = [],
    items,
    anyOf,
    minimum = 0,
    maximum = 2 ** 32,
    const: only,
    enum: words,
  } = schema as {
    type?: string;
    properties?: Record<string, object>;
    required?: readonly string[];
    items?: object;
    anyOf?: readonly object[];
    minimum?: number;
    maximum?: number;
    const?: unknown;
    enum?: readonly unknown[];
  };
  const nonsense = fc.oneof(
    fc.constant(null),
    fc.string(),
    fc.double(),
    fc.integer(),
    fc.constant([]),
    fc.constant({}),
    fc.constant('\ud800'),
  );
  const good = (): fc.Arbitrary<unknown> => {
    if (only !== undefined) return fc.constant(only);
    if (words !== undefined) return fc.constantFrom(...words);
    if (anyOf !== undefined) return fc.oneof(...anyOf.map(valueOf));
    if (type === 'integer' || type === 'number')
      return fc.oneof(fc.integer({ min: minimum, max: Math.min(maximum, 2 ** 31) }), fc.constantFrom(minimum, maximum));
    if (type === 'boolean') return fc.boolean();
    if (type === 'array') return fc.array(valueOf(items ?? {}), { maxLength: 3 });
    if (type === 'object') {
      const fields = Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, valueOf(property)]));
      return fc.record(fields, { requiredKeys: [...required] });
    }
    return fc.oneof(
      fc.constantFrom('payments', 'merchant', 'm1', 'endpoint', '/charge', 'free', 'one', '2100-01-01T00:00:00Z', 'x'.repeat(300)),
      fc.string(),
    );
  };
  return fc.oneof({ weight: 12, arbitrary: good() }, { weight: 1, arbitrary: nonsense });
}

const toText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

test('random requests from the OpenAPI document: no error of the server, and every reply is valid by the document', async () => {
  const { json } = await call({ path: '/v1/openapi.json', token: TOKENS.viewer });
  const { paths } = json as { paths: Record<string, Record<string, Operation>> };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  expect(operations.map(({ operation }) => operation.operationId).sort()).toEqual(ADMIN_ROUTES.map(({ id }) => id).sort());
  const checks = new Map(ADMIN_ROUTES.map((route) => [route.id, TypeCompiler.Compile(route.reply)]));
  const requests = fc
    .constantFrom(...operations.filter(({ operation }) => operation.operationId !== 'tailDecisions'))
    .chain(({ path, method, operation }) => {
      const { parameters, requestBody } = operation;
      return fc.record({
        operation: fc.constant(operation),
        method: fc.constant(method.toUpperCase()),
        path: fc.constant(path),
        parameters: fc.tuple(...parameters.map(({ schema }) => valueOf(schema))),
        isSent: fc.array(fc.boolean(), { minLength: parameters.length, maxLength: parameters.length }),
        body: requestBody === undefined ? fc.constant(undefined) : valueOf(requestBody.content['application/json'].schema),
      });
    });
  const statuses = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(requests, async ({ operation, method, path, parameters, isSent, body }) => {
      let filled = path;
      const query = new URLSearchParams();
      const headers: Record<string, string> = {};
      for (const [i, { name, in: place }] of operation.parameters.entries()) {
        const text = toText(parameters[i]).replace(/\p{Surrogate}/gu, '?');
        if (place === 'path') filled = filled.replace(`{${name}}`, encodeURIComponent(text) || 'x');
        else if (place === 'query' && (isSent[i] === true || name === 'domain' || name === 'question')) query.set(name, text);
        else if (place === 'header' && isSent[i] === true && /^[!-~]+$/.test(text)) headers[name] = text;
      }
      const reply = await call({
        method,
        path: filled,
        query: query.toString(),
        token: TOKENS.admin,
        headers,
        ...(body !== undefined && { body }),
      });
      statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
      expect(reply.status).toBeLessThan(500);
      if (reply.status === 200) {
        for (const each of reply.lines ?? [reply.json]) expect([...checks.get(operation.operationId)!.Errors(each)]).toEqual([]);
      } else if (reply.status !== 304) {
        expect(reply.headers['content-type']).toContain('application/problem+json');
        const { status, title, detail } = reply.json as Readonly<Record<string, unknown>>;
        expect([status, typeof title, typeof detail]).toEqual([reply.status, 'string', 'string']);
      }
    }),
    seeded(4_000),
  );
  // Both kinds of requests are made, or the generator proves nothing.
  expect(statuses.get(200)).toBeGreaterThan(20);
  expect(statuses.get(400)).toBeGreaterThan(20);
});

test('a secret setting, and a token, are in no reply', async () => {
  const replies = await Promise.all(
    ADMIN_ROUTES.filter(({ method, id }) => method === 'GET' && id !== 'tailDecisions').map((route) => call(exampleOf(route, 'admin'))),
  );
  const text = replies.map(({ body }) => body).join('\n');
  expect(text).toContain('REDIS_AUTH');
  for (const each of [secret, ...Object.values(TOKENS)]) expect(text).not.toContain(each);
});

test('a plan, and a domain, that the configuration lacks are refused with the names that it has; ahead=true accepts them', async () => {
  const request = { method: 'PUT', path: '/v1/tenants/payments/typo', token: TOKENS.support, body: { plan: 'glod' } };
  const refused = await call(request);
  expect(refused).toMatchObject({ status: 409, json: { type: 'urn:weir:problem:conflict' } });
  const { detail } = refused.json as { detail: string };
  expect(detail).toContain('no plan "glod"; use one of "basic", "gold"');
  expect(await call({ ...request, query: 'ahead=true' })).toMatchObject({ status: 200 });
  expect(await call({ ...request, path: '/v1/tenants/nowhere/one' })).toMatchObject({ status: 409 });
  expect(await call({ ...request, path: '/v1/tenants/nowhere/one', query: 'ahead=true' })).toMatchObject({ status: 200 });
  const plan = {
    method: 'PUT',
    path: '/v1/plans/payments/glod',
    token: TOKENS.admin,
    body: { limits: [{ requests_per_unit: 1, unit: 'day' }] },
  };
  expect(await call(plan)).toMatchObject({ status: 409 });
});

describe('preconditions', () => {
  const path = '/v1/overrides/payments/etag';
  const body = { entries: [{ key: 'merchant', value: 'e' }], limit: { requests_per_unit: 1, unit: 'minute' } };
  const put = (headers: Record<string, string>, limit = 1) =>
    call({ method: 'PUT', path, token: TOKENS.support, headers, body: { ...body, limit: { ...body.limit, requests_per_unit: limit } } });

  test('two writers never lose a change: the second gets 412, reads again, and writes', async () => {
    const created = await put({ 'if-none-match': '*' });
    expect(created.status).toBe(200);
    expect((await put({ 'if-none-match': '*' })).status).toBe(412);
    const { headers } = await call({ path, token: TOKENS.viewer });
    const etag = headers.etag!;
    expect(etag).toBe(created.headers.etag);
    expect((await call({ path, token: TOKENS.viewer, headers: { 'if-none-match': etag } })).status).toBe(304);
    const [one, other] = await Promise.all([put({ 'if-match': etag }, 2), put({ 'if-match': etag }, 3)]);
    expect([one.status, other.status].sort()).toEqual([200, 412]);
    const loser = one.status === 412 ? one : other;
    expect(loser.json).toMatchObject({ type: 'urn:weir:problem:precondition-failed' });
    expect((await put({ 'if-match': (await call({ path, token: TOKENS.viewer })).headers.etag! }, 4)).status).toBe(200);
    expect((await call({ method: 'DELETE', path, token: TOKENS.support, headers: { 'if-match': etag } })).status).toBe(412);
  });

  test('a dry run says what it would change, and changes nothing', async () => {
    const dry = { method: 'PUT', path: '/v1/blocks/payments/dry', query: 'dry_run=true', token: TOKENS.support };
    const { json, headers } = await call({ ...dry, body: { entries: [{ key: 'merchant', value: 'd' }] } });
    expect(json).toMatchObject({ dry_run: true, changed: true, after: { id: 'dry', author: 'support-1' } });
    expect(headers.etag).toBeUndefined();
    expect((await call({ path: dry.path, token: TOKENS.viewer })).status).toBe(404);
  });

  test('a bad value is refused with its field', async () => {
    const bad = { entries: [{ key: 'merchant', value: 7 }], limit: { requests_per_unit: -1, unit: 'minut' }, until: 'soon' };
    const { status, json } = await call({ method: 'PUT', path, token: TOKENS.support, body: bad });
    expect(status).toBe(400);
    const fields = (json as { errors: readonly { field: string }[] }).errors.map(({ field }) => field);
    expect(fields.sort()).toEqual(['body/entries/0/value', 'body/limit/requests_per_unit', 'body/limit/unit', 'body/until']);
    const long = await call({ method: 'PUT', path, token: TOKENS.support, body: { ...body, reason: 'é'.repeat(150) } });
    expect(long.json).toMatchObject({ status: 400, errors: [{ field: 'body/reason' }] });
  });
});

describe('buckets', () => {
  const one = { domain: 'payments', entries: [{ key: 'merchant', value: 'lookup' }] };
  const take = (hits: number) => {
    const { takes } = {
      takes: [
        {
          bucketKey: '1{payments}tb60|merchant=lookup',
          limit: { algorithm: 'token_bucket', requestsPerUnit: 100, capacity: 100, windowUs: 60_000_000 },
          hits,
          mode: 'enforced',
          descriptor: 0,
        },
      ],
    } as const;
    server.store.decide([{ takes, quotaAlwaysFits: false, shadow: false }]);
  };

  test('a look-up charges nothing; a credit is given once, never beyond full; a reset fills the bucket', async () => {
    take(60);
    const look = () =>
      call({
        method: 'POST',
        path: '/v1/buckets/lookup',
        token: TOKENS.viewer,
        body: { domain: 'payments', descriptors: [{ entries: one.entries }] },
      });
    const remaining = async () => ((await look()).json as { buckets: readonly { remaining: number }[] }).buckets[0]!.remaining;
    const before = await remaining();
    expect(before).toBeGreaterThanOrEqual(40);
    expect(before).toBeLessThan(60);
    const credit = { method: 'POST', path: '/v1/credits', token: TOKENS.support, body: { ...one, hits: 30, id: 'credit-1' } };
    const given = await call(credit);
    expect(given.json).toMatchObject({ repeated: false, given: [{ hits: 30 }] });
    expect((await call(credit)).json).toMatchObject({ repeated: true, given: [] });
    expect(await remaining()).toBeGreaterThanOrEqual(before + 30);
    const rest = await call({ ...credit, body: { ...one, hits: 1_000 } });
    expect((rest.json as { given: readonly { hits: number; remaining: number }[] }).given[0]).toMatchObject({ remaining: 100 });
    take(100);
    const reset = await call({ method: 'POST', path: '/v1/buckets/reset', token: TOKENS.support, body: { ...one, reason: 'test' } });
    expect(reset.json).toMatchObject({ deleted: 1 });
    expect(await remaining()).toBe(100);
    const audit = await call({ path: '/v1/audit', query: 'limit=5', token: TOKENS.support });
    expect((audit.json as { items: readonly object[] }).items[0]).toMatchObject({ action: 'reset', author: 'support-1', reason: 'test' });
  });

  test('a list in bounded pages has every key of the domain, and no other', async () => {
    const small = await startAdminServer({ pageMax: 7 });
    try {
      const keys = Array.from({ length: 40 }, (_, i) => `1{payments}tb60|merchant=m${i}`);
      const limit = { algorithm: 'token_bucket', requestsPerUnit: 9, capacity: 9, windowUs: 60_000_000 } as const;
      for (const bucketKey of [...keys, '1{paymentsx}tb60|merchant=a', '1{other}tb60|merchant=a']) {
        small.store.decide([
          { takes: [{ bucketKey, limit, hits: 1, mode: 'enforced', descriptor: 0 }], quotaAlwaysFits: false, shadow: false },
        ]);
      }
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const query = new URLSearchParams({ domain: 'payments', ...(cursor !== undefined && { cursor }) }).toString();
        const { json } = await callAdmin(small.url, { path: '/v1/buckets', query, token: TOKENS.viewer });
        const page = json as { items: readonly { key: string }[]; next?: string };
        expect(page.items.length).toBeLessThanOrEqual(7);
        found.push(...page.items.map(({ key }) => key));
        cursor = page.next;
      } while (cursor !== undefined && found.length < 1_000);
      expect(found.sort()).toEqual([...keys].sort());
    } finally {
      await small.close();
    }
  });

  test('an Idempotency-Key gets the first reply again, and refuses another request', async () => {
    const request = {
      method: 'POST',
      path: '/v1/credits',
      token: TOKENS.support,
      headers: { 'idempotency-key': 'k1' },
      body: { ...one, hits: 5 },
    };
    take(50);
    const first = await call(request);
    expect((await call(request)).body).toBe(first.body);
    expect((await call({ ...request, body: { ...one, hits: 6 } })).status).toBe(422);
  });
});

test('an explanation names the block that denies, and what is left', async () => {
  const body = { entries: [{ key: 'merchant', value: 'fraud' }] };
  expect((await call({ method: 'PUT', path: '/v1/blocks/payments/fraud', token: TOKENS.support, body })).status).toBe(200);
  const explain = { method: 'POST', path: '/v1/explain', token: TOKENS.viewer, body: { domain: 'payments', descriptors: [body] } };
  expect((await call(explain)).json).toMatchObject({ over_limit: true, control: [{ descriptor: 0, kind: 'block', id: 'fraud' }] });
  expect((await call({ method: 'DELETE', path: '/v1/blocks/payments/fraud', token: TOKENS.support })).status).toBe(200);
  expect((await call(explain)).json).toMatchObject({ over_limit: false, control: [], buckets: [{ remaining: 100 }] });
});

test('paths, methods and bodies that do not exist', async () => {
  const token = TOKENS.admin;
  expect(await call({ path: '/v1/nothing', token })).toMatchObject({ status: 404 });
  const wrong = await call({ method: 'DELETE', path: '/v1/rules', token });
  expect(wrong).toMatchObject({ status: 405, headers: { allow: 'GET' } });
  const path = '/v1/blocks/payments/x';
  expect(await call({ method: 'PUT', path, token, rawBody: '{' })).toMatchObject({ status: 400 });
  expect(await call({ method: 'PUT', path, token, rawBody: 'a: 1', headers: { 'content-type': 'text/yaml' } })).toMatchObject({
    status: 415,
  });
  expect(await call({ method: 'PUT', path, token, body: { reason: 'x'.repeat(70_000) } })).toMatchObject({ status: 413 });
  expect(await call({ method: 'PUT', path: '/v1/blocks/nowhere/x', token, body: { entries: [{ key: 'a' }] } })).toMatchObject({
    status: 409,
  });
  expect(await call({ path: '/v1/blocks/%ZZ/x', token })).toMatchObject({ status: 400 });
  expect(await call({ path: `/v1/blocks/payments/${'x'.repeat(1_025)}` })).toMatchObject({ status: 404 });
});

test('a client that leaves in the middle of a body causes no error of Weir', async () => {
  const before = server.errors.length;
  const { hostname, port } = new URL(server.url);
  for (let i = 0; i < 10; i += 1) {
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const head = `PUT /v1/blocks/payments/x HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${TOKENS.admin}\r\nContent-Type: application/json\r\nContent-Length: 99`;
    socket.write(`${head}\r\n\r\n{"a`);
    await new Promise((resolve) => setImmediate(resolve));
    socket.resetAndDestroy();
  }
  // A later request shows that the server has seen the others end.
  expect(await call({ path: '/v1/whoami', token: TOKENS.admin })).toMatchObject({ status: 200 });
  expect(server.errors.slice(before)).toEqual([]);
});

test.each([
  [
    { entries: [{ key: 'merchant' }], limit: { requests_per_unit: 1, unit: 'min' } },
    'body/limit/unit',
    /^it must be one of second, minute, /,
  ],
  [{ entries: [{ key: 'merchant' }] }, 'body/limit', /^it is missing; give an object, such as \{"requests_per_unit":1,"unit":"second"\}$/],
  [
    { entries: [{ key: 'merchant' }], limit: { requests_per_unit: -1, unit: 'day' } },
    'body/limit/requests_per_unit',
    /^it must be a whole number from 0 to 9007199254740991$/,
  ],
  [{ entry: [] }, 'body/entries', /^it is missing; give a list of 1 to 16 items, such as \[\{"key":"text"\}\]$/],
  [
    { entries: [{ key: 'm' }], limit: { requests_per_unit: 1, unit: 'day' }, untill: 'x' },
    'body/untill',
    /^it is not a known field; did you mean until\?$/,
  ],
  [
    { entries: [{ key: 'm', vlaue: 'x' }], limit: { requests_per_unit: 1, unit: 'day' } },
    'body/entries/0/vlaue',
    /; did you mean value\?$/,
  ],
  [
    { entries: [{ key: 'm' }], limit: { requests_per_unit: 1, unit: 'day' }, until: 'friday' },
    'body/until',
    /^it must be a time such as 2030-/,
  ],
])('an invalid field of %j says what it accepts', async (body, field, says) => {
  const { status, json } = await call({ method: 'PUT', path: '/v1/overrides/payments/o', token: TOKENS.admin, body });
  const { errors } = json as { readonly errors: readonly { readonly field: string; readonly problem: string }[] };
  expect(status).toBe(400);
  expect(errors.find((each) => each.field === field)?.problem).toMatch(says);
});

test('a DELETE without a body may have a Content-Type, and a PUT without a body is refused', async () => {
  const headers = { 'content-type': 'application/json' };
  const path = '/v1/blocks/payments/none';
  expect(await call({ method: 'DELETE', path, token: TOKENS.admin, headers })).toMatchObject({ status: 200 });
  expect(await call({ method: 'DELETE', path, token: TOKENS.admin, rawBody: '{' })).toMatchObject({ status: 400 });
  expect(await call({ method: 'PUT', path, token: TOKENS.admin, headers })).toMatchObject({
    status: 400,
    json: { detail: 'the body is empty; send a JSON object' },
  });
});
