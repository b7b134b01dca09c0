/** The OpenAPI 3.1 document of the HTTP port: docs/generated/openapi.json. */

import { SCHEMAS, type Json } from './http-schemas';

const TEXT = { 'text/plain': { schema: { type: 'string' } } };

function json(name: string): Json {
  return { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } };
}

function reply(description: string, content: Json): Json {
  return { description, content };
}

function body(name: string): Json {
  return { required: true, content: json(name) };
}

/** The headers of RESPONSE_HEADERS=ietf; other settings have others. */
const LIMIT_HEADERS: Json = Object.fromEntries(
  Object.entries({ 'RateLimit-Policy': 'Every limit of the request.', RateLimit: 'What is left of each.' }).map(([name, description]) => [
    name,
    { description: `${description} With \`RESPONSE_HEADERS=ietf\`.`, schema: { type: 'string' } },
  ]),
);

const RETRY_AFTER: Json = {
  'Retry-After': { description: 'Seconds until the request would pass.', schema: { type: 'integer', minimum: 1 } },
};

/** Of /json and /check. */
const FAILURES: Json = {
  400: reply('The request is invalid.', TEXT),
  500: reply('An internal error.', TEXT),
  503: reply('Nothing can decide: the store failed, or no configuration is loaded yet.', TEXT),
};

const JSON_OPERATION: Json = {
  operationId: 'shouldRateLimit',
  tags: ['decisions'],
  summary: 'Decide a request.',
  requestBody: body('RateLimitRequest'),
  responses: {
    200: reply('It may pass.', json('RateLimitResponse')),
    429: reply('It is denied.', json('RateLimitResponse')),
    ...FAILURES,
    403: reply('Negative hits, while JSON_REFUNDS_ENABLED is false.', TEXT),
    413: reply('The body is too large.', TEXT),
  },
};

function header(name: string, description: string): Json {
  return { name, in: 'header', required: false, description, schema: { type: 'string' } };
}

function checkOperation(method: string): Json {
  return {
    operationId: `check${method}`,
    tags: ['decisions'],
    summary: 'Ask for a request of a proxy, whose descriptors are made of headers (CHECK_DESCRIPTORS). Other methods do the same.',
    parameters: [
      {
        name: 'deny',
        in: 'query',
        required: false,
        description: 'The status of a denial.',
        schema: { type: 'integer', minimum: 400, maximum: 599, default: 429 },
      },
      header('X-Forwarded-Uri', 'The path and query of the request, for `path`.'),
      header('X-Forwarded-Method', 'Its method, for `method`.'),
      header('X-Forwarded-Host', 'Its host, for `host`.'),
      header('X-Forwarded-For', 'The addresses that it came from, for `client_ip`.'),
    ],
    responses: {
      200: { description: 'It may pass.', headers: LIMIT_HEADERS },
      429: {
        description: 'It is denied, or another status by `deny`. The body is for the client, in the type that is configured.',
        headers: { ...LIMIT_HEADERS, ...RETRY_AFTER },
      },
      ...FAILURES,
    },
  };
}

const STEP_FAILURES: Json = {
  400: reply('The step is invalid.', json('Error')),
  413: reply('The body is too large.', json('Error')),
  500: reply('An internal error.', json('Error')),
  503: reply('The store failed, or no configuration is loaded yet.', json('Error')),
};

const RESERVE_OPERATION: Json = {
  operationId: 'reserve',
  tags: ['reservations'],
  summary: 'Hold hits before their number is known.',
  requestBody: body('ReserveRequest'),
  responses: {
    200: reply('The hits are held.', json('Reserved')),
    429: reply('They do not fit.', json('Reserved')),
    ...STEP_FAILURES,
    409: reply('The buckets of the reservation are in several places.', json('Error')),
  },
};

function stepOperation(word: 'commit' | 'release' | 'extend', summary: string): Json {
  return {
    operationId: word,
    tags: ['reservations'],
    summary,
    parameters: [{ name: 'id', in: 'path', required: true, description: 'The id of the reservation.', schema: { type: 'string' } }],
    requestBody: body(`${word.slice(0, 1).toUpperCase()}${word.slice(1)}Request`),
    responses: {
      200: reply('The reservation after the step.', json('StepAnswer')),
      ...STEP_FAILURES,
      404: reply('No such reservation.', json('Error')),
      409: reply('The buckets of the reservation are in several places.', json('Error')),
    },
  };
}

const HEALTH_OPERATION: Json = {
  operationId: 'health',
  tags: ['health'],
  summary: 'Whether Weir can decide.',
  responses: {
    200: reply('It can; further lines say what is degraded.', TEXT),
    500: reply('It cannot, or it drains.', TEXT),
  },
};

export function httpOpenApi(version: string): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Weir HTTP port',
      version,
      description:
        'Decisions and reservations over HTTP. Whoever reaches this port can use up any limit: it is for proxies and services alone.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    paths: {
      '/json': { post: JSON_OPERATION },
      '/check': { get: checkOperation('Get'), post: checkOperation('Post') },
      '/healthcheck': { get: HEALTH_OPERATION },
      '/v1/reservations': { post: RESERVE_OPERATION },
      '/v1/reservations/{id}:commit': { post: stepOperation('commit', 'Count the hits that were used, and give back the rest.') },
      '/v1/reservations/{id}:release': { post: stepOperation('release', 'Give back all hits.') },
      '/v1/reservations/{id}:extend': { post: stepOperation('extend', 'Hold the hits for longer.') },
    },
    components: { schemas: SCHEMAS },
  };
}

export function renderHttpOpenApi(version: string): string {
  return `${JSON.stringify(httpOpenApi(version), null, 2)}\n`;
}
