/** Every answer of the HTTP port fits docs/generated/openapi.json, and every documented status occurs. */

import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020';
import fc from 'fast-check';
import { VERSION } from '../../../src/program/app/context/version';
import { UnavailableError } from '../../../src/lib/errors';
import { PartsError } from '../../../src/state/reservation/reservations';
import { httpOpenApi, renderHttpOpenApi } from '../../../scripts/generate/docs/http-openapi';
import { httpRoutes } from '../../../src/server/transport/http/http-routes';
import { HttpServer } from '../../../src/server/transport/http/http-server';
import { ReservationCalls, type ReservationCallsOptions } from '../../../src/server/transport/reservation-calls';
import { httpRequest, type HttpRequest, type HttpResponse } from '../../support/clients/http-client';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { seeded } from '../../support/random/random';
import { Harness } from '../../support/servers/transport-harness';

interface Operation {
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>>;
}

const DOCUMENT = httpOpenApi(VERSION);
const PATHS = DOCUMENT.paths as Readonly<Record<string, Readonly<Record<string, Operation>>>>;

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictTypes: false, allErrors: true });
ajv.addKeyword('components').addSchema({ $id: 'openapi', components: DOCUMENT.components });

function validator(name: string): ValidateFunction {
  return ajv.compile({ $ref: `openapi#/components/schemas/${name}` });
}

/** `METHOD PATH STATUS` of each documented answer. */
const DOCUMENTED = Object.entries(PATHS).flatMap(([path, operations]) =>
  Object.entries(operations).flatMap(([method, { responses }]) => Object.keys(responses).map((status) => `${method} ${path} ${status}`)),
);

const DOCUMENTED_OPERATIONS = Object.entries(PATHS).flatMap(([path, operations]) =>
  Object.keys(operations).map((method) => ({ method, path })),
);

const seen = new Set<string>();

interface Expected {
  readonly method: string;
  /** As the document writes it. */
  readonly path: string;
}

/** Throws if the document does not describe the answer. */
function check({ method, path }: Expected, { status, headers, body }: HttpResponse): void {
  const response = PATHS[path]?.[method]?.responses[status];
  if (response === undefined) throw new Error(`${method} ${path} answers ${status}, which is not documented: ${body}`);
  seen.add(`${method} ${path} ${status}`);
  if (response.content === undefined) return;
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  const schema: { readonly $ref?: string } | undefined = response.content[type]?.schema;
  if (schema === undefined) throw new Error(`${method} ${path} answers ${status} as ${type}, which is not documented`);
  if (schema.$ref === undefined) return;
  const validate = validator(schema.$ref.replace(/^.*\//, ''));
  if (!validate(JSON.parse(body))) throw new Error(`${method} ${path} ${status}: ${ajv.errorsText(validate.errors)} in ${body}`);
}

const CONFIG = writeConfig(`
domain: shop
response_headers: ietf
descriptors:
  - key: client
    rate_limit: {name: clients, unit: hour, unit_multiplier: 2, requests_per_unit: 2}
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 10}
`);

const body = (key: string, more: object = {}) => ({ domain: 'shop', descriptors: [{ entries: [{ key, value: 'a' }] }], ...more });

let weir: WeirProcess;

beforeAll(async () => {
  weir = await startWeir({
    config: CONFIG,
    env: { BACKEND_TYPE: 'memory', CHECK_DOMAIN: 'shop', CHECK_DESCRIPTORS: 'client=client_ip', RESPONSE_DECISION_METADATA: 'true' },
  });
});

afterAll(() => weir.stop());

async function ask(expected: Expected, path: string, request: HttpRequest = {}): Promise<HttpResponse> {
  const response = await httpRequest(`http://127.0.0.1:${weir.httpPort}${path}`, { method: expected.method.toUpperCase(), ...request });
  check(expected, response);
  return response;
}

test('docs/generated/openapi.json is what the code generates', () => {
  if (readFileSync('docs/generated/openapi.json', 'utf8') !== renderHttpOpenApi(VERSION))
    throw new Error('docs/generated/openapi.json is out of date; run node scripts/generate/docs.mjs');
});

describe('answers of a process fit the document', () => {
  test('/json', async () => {
    const json = { method: 'post', path: '/json' };
    for (const more of [{}, {}, {}, { hitsAddend: 5 }]) await ask(json, '/json', { body: body('client', more) });
    await ask(json, '/json', { body: body('other') });
    await ask(json, '/json', { body: '{' });
    await ask(json, '/json', { body: ' '.repeat(1024 * 1024 + 1) });
  });

  test('/check', async () => {
    for (const method of ['get', 'post']) {
      const headers = { 'x-forwarded-for': method === 'get' ? '192.0.2.1' : '192.0.2.2' };
      for (let n = 0; n < 3; n += 1) await ask({ method, path: '/check' }, '/check', { headers });
      await ask({ method, path: '/check' }, '/check?unknown=1', { headers });
    }
  });

  test('reservations', async () => {
    const [reserve, path] = [{ method: 'post', path: '/v1/reservations' }, '/v1/reservations'];
    const step = (word: string) => ({ method: 'post', path: `${path}/{id}:${word}` });
    await ask(reserve, path, { body: body('user', { hits: 4, ttl: '60s', id: 'r1' }) });
    await ask(reserve, path, { body: body('user', { hits: '4', id: 'r2' }) });
    await ask(reserve, path, { body: body('user', { hits: 4, id: 'r3' }) });
    await ask(reserve, path, { body: body('user', { hits: 0 }) });
    await ask(reserve, path, { body: ' '.repeat(1024 * 1024 + 1) });
    await ask(step('extend'), `${path}/r1:extend`, { body: body('user', { ttl: '1.5s' }) });
    await ask(step('commit'), `${path}/r1:commit`, { body: body('user', { hits: 2 }) });
    await ask(step('commit'), `${path}/r1:commit`, { body: body('user', { hits: 2 }) });
    await ask(step('release'), `${path}/r2:release`, { body: body('user') });
    await ask(step('release'), `${path}/unknown:release`, { body: { domain: 'shop' } });
    await ask(step('commit'), `${path}/unknown:commit`, { body: { domain: 'shop', hits: 1 } });
    await ask(step('extend'), `${path}/unknown:extend`, { body: { domain: 'shop' } });
    for (const word of ['commit', 'release', 'extend']) {
      await ask(step(word), `${path}/r1:${word}`, { body: { domain: 1 } });
      await ask(step(word), `${path}/r1:${word}`, { body: ' '.repeat(1024 * 1024 + 1) });
    }
  });

  test('/healthcheck', async () => {
    await ask({ method: 'get', path: '/healthcheck' }, '/healthcheck');
  });
});

describe('answers of failures fit the document', () => {
  let harness: Harness;
  let server: HttpServer;
  let base: string;
  let failure: Error;

  beforeAll(async () => {
    harness = new Harness('grpc-js');
    harness.decide = () => Promise.reject(failure);
    const fail = (): Promise<never> => Promise.reject(failure);
    const service = {
      reserve: fail,
      commit: fail,
      release: fail,
      extend: fail,
      report: fail,
    } as unknown as ReservationCallsOptions['service'];
    const { answerCalls, health, log } = harness;
    const routes = httpRoutes({
      answerCalls,
      reservationCalls: new ReservationCalls({ service, answerCalls, log }),
      health,
      takesRefunds: false,
      check: { plan: { domain: 'shop', descriptors: [], trustedHops: 0 }, onChecked: () => undefined },
    });
    server = new HttpServer({ ...routes, log });
    base = `http://127.0.0.1:${(await server.start({ host: '127.0.0.1', port: 0 })).port}`;
  });

  afterAll(() => server.close({ timeoutMs: 0 }));

  test.each<[string, Error, number]>([
    ['unavailable', new UnavailableError('redis does not answer'), 503],
    ['an internal error', new Error('broken'), 500],
    ['several places', new PartsError('the buckets are in several slots'), 409],
  ])('%s', async (_name, error, status) => {
    failure = error;
    for (const { method, path } of DOCUMENTED_OPERATIONS) {
      if (path === '/healthcheck' || (status === 409 && !path.startsWith('/v1/'))) continue;
      const response = await httpRequest(`${base}${path.replace('{id}', 'r1')}`, {
        method: method.toUpperCase(),
        ...(method === 'post' && { body: body('user', { ...(path.startsWith('/v1/') && { hits: 1 }) }) }),
      });
      expect(response.status).toBe(status);
      check({ method, path }, response);
    }
  });

  test('refunds that are off, and a health that is off', async () => {
    const refund = { domain: 'shop', descriptors: [{ entries: [{ key: 'a', value: 'b' }], isNegativeHits: true }] };
    check({ method: 'post', path: '/json' }, await httpRequest(`${base}/json`, { body: refund }));
    check({ method: 'get', path: '/healthcheck' }, await httpRequest(`${base}/healthcheck`));
  });
});

test('every documented status has occurred', () => {
  expect(DOCUMENTED.filter((each) => !seen.has(each))).toEqual([]);
});

describe('requests', () => {
  const isValid = validator('RateLimitRequest');
  const digits = fc.oneof(fc.nat(3), fc.nat(3).map(String));
  const entry = fc.record({ key: fc.constantFrom('client', 'user', 'other'), value: fc.string({ unit: 'grapheme', maxLength: 4 }) });
  const limit = fc.record(
    { requestsPerUnit: fc.nat(9), unit: fc.constantFrom('SECOND', 'WEEK'), unitMultiplier: fc.integer({ min: 1, max: 3 }) },
    { requiredKeys: ['requestsPerUnit', 'unit'] },
  );
  const descriptor = fc.record(
    { entries: fc.array(entry, { maxLength: 3 }), limit, hitsAddend: digits, isNegativeHits: fc.boolean() },
    { requiredKeys: ['entries'] },
  );
  const valid = fc.record(
    { domain: fc.constantFrom('shop', 'x'), descriptors: fc.array(descriptor, { minLength: 1, maxLength: 3 }), hitsAddend: fc.nat(3) },
    { requiredKeys: ['domain', 'descriptors'] },
  );

  test('a request that fits the document is decided', async () => {
    await fc.assert(
      fc.asyncProperty(valid, async (request) => {
        expect(isValid(request)).toBe(true);
        const { status } = await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, { body: request });
        expect([200, 429]).toContain(status);
      }),
      seeded(50),
    );
  });

  test.each([
    ['no domain', { descriptors: [{ entries: [] }] }],
    ['an empty domain', { domain: '', descriptors: [{ entries: [] }] }],
    ['no descriptors', { domain: 'shop', descriptors: [] }],
    ['an unknown field', { ...body('client'), hits: 1 }],
    ['a number for a text', { domain: 'shop', descriptors: [{ entries: [{ key: 'a', value: 1 }] }] }],
    ['hits below 0', { ...body('client'), hitsAddend: -1 }],
    ['hits that are too many', { ...body('client'), hitsAddend: 2 ** 32 }],
    ['an unknown unit', { domain: 'shop', descriptors: [{ entries: [], limit: { requestsPerUnit: 1, unit: 'FORTNIGHT' } }] }],
    ['too many descriptors', { domain: 'shop', descriptors: Array.from({ length: 129 }, () => ({ entries: [] })) }],
  ])('%s does not fit the document, and is a 400', async (_name, request) => {
    expect(isValid(request)).toBe(false);
    expect((await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, { body: request })).status).toBe(400);
  });
});

test.each([
  ['a status that is missing', 'RateLimitResponse', {}],
  ['an unknown code', 'RateLimitResponse', { overallCode: 'MAYBE', statuses: [] }],
  ['a field that is not there', 'RateLimitResponse', { overallCode: 'OK', statuses: [], extra: 1 }],
  ['a duration without its unit', 'Status', { code: 'OK', durationUntilReset: '60' }],
  ['a number for a 64-bit number', 'StepAnswer', { id: 'r1', state: 'HELD', grantedHits: 4 }],
  ['a reservation without an id', 'StepAnswer', { state: 'HELD' }],
])('an answer with %s does not fit the document', (_name, schema, answer) => {
  expect(validator(schema)(answer)).toBe(false);
});
