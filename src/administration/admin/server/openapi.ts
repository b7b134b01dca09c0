/** The OpenAPI 3.1 document of the admin API, made from the table of routes. */

import type { TSchema } from '@sinclair/typebox';
import { PROBLEMS, type ProblemName } from '../problem';
import type { AdminRoute } from '../route/route';
import { warnings } from '../routes/records/effect-schemas';

type Json = Readonly<Record<string, unknown>>;

/** Problems that every route may answer. */
const COMMON: readonly ProblemName[] = [
  'invalid',
  'unauthenticated',
  'forbidden',
  'misdirected',
  'too-many-failed-tries',
  'internal',
  'unavailable',
];

const OF_BODIES: readonly ProblemName[] = ['body-too-large', 'unsupported-media-type'];

export interface OpenApiInput {
  readonly routes: readonly AdminRoute[];
  readonly version: string;
}

export function openApiOf({ routes, version }: OpenApiInput): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const each of routes) (paths[each.path] ??= {})[each.method.toLowerCase()] = withEnums(operationOf(each)) as Json;
  return {
    openapi: '3.1.0',
    info: {
      title: 'Weir admin API',
      version,
      description: 'Reads and changes the limits of a running Weir. Each operation needs a role: tenant, viewer, support or admin.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'A token of ADMIN_TOKENS_FILE, or a JWT.' } },
      schemas: { Problem: withEnums(PROBLEM) as Json },
    },
  };
}

/** RFC 9457. */
const PROBLEM: Json = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail'],
  additionalProperties: false,
  properties: {
    type: { type: 'string', enum: Object.keys(PROBLEMS).map((name) => `urn:weir:problem:${name}`) },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['field', 'problem'],
        additionalProperties: false,
        properties: { field: { type: 'string' }, problem: { type: 'string' } },
      },
    },
    warnings,
  },
};

function operationOf(each: AdminRoute): Json {
  const { id, tag, role, summary, params, query, body } = each;
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: `Role: ${role}.`,
    'x-role': role,
    parameters: [...parametersOf('path', params), ...parametersOf('query', query), ...headersOf(each)],
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: { ...repliesOf(each), ...problemsOf(each) },
  };
}

function parametersOf(place: 'path' | 'query', schema: TSchema | undefined): readonly Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = schema as { properties?: Record<string, TSchema>; required?: readonly string[] };
  return Object.entries(properties).map(([name, property]) => ({ name, in: place, required: required.includes(name), schema: property }));
}

function headersOf({ condition, isIdempotentByKey }: AdminRoute): readonly Json[] {
  const header = (name: string, description: string): Json => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  });
  const headers: Json[] = [];
  if (condition === 'read') headers.push(header('If-None-Match', 'An ETag: if the item still has it, the reply is 304.'));
  if (condition === 'write') {
    headers.push(header('If-Match', 'The ETag of the item to change; if it has another one, the reply is 412.'));
    headers.push(header('If-None-Match', '`*`: only create; if the item exists, the reply is 412.'));
  }
  if (isIdempotentByKey === true)
    headers.push(
      header('Idempotency-Key', 'A repeated request with the same key gets the first reply, from the same instance, for ten minutes.'),
    );
  return headers;
}

/** The replies to requests that succeed. */
function repliesOf({ condition, reply, id }: AdminRoute): Json {
  const etag = { ETag: { description: 'The version of the item.', schema: { type: 'string' } } };
  const ok = {
    description: 'OK',
    ...(condition !== undefined && { headers: etag }),
    content: { [MEDIA_TYPES[id] ?? 'application/json']: { schema: reply } },
  };
  return { 200: ok, ...(condition === 'read' && { 304: { description: 'The item still has the ETag of If-None-Match.' } }) };
}

/** For operations that do not answer one JSON document: the schema describes each line or event. */
const MEDIA_TYPES: Readonly<Record<string, string>> = { exportAudit: 'application/x-ndjson', tailDecisions: 'text/event-stream' };

/** One of several words as `enum`: generators of clients read that everywhere, and `anyOf` with a constant in each part often wrongly. */
function withEnums(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withEnums);
  if (typeof value !== 'object' || value === null) return value;
  const { anyOf, ...rest } = value as { readonly anyOf?: readonly { readonly const?: unknown }[] };
  const words = anyOf?.map(({ const: only }) => only);
  if (words?.every((word) => typeof word === 'string') === true) return { ...rest, type: 'string', enum: words };
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, withEnums(of)]));
}

/** Several problems may have one status. */
function problemsOf({ problems = [], body, condition, isIdempotentByKey }: AdminRoute): Json {
  const names = [
    ...COMMON,
    ...(body === undefined ? [] : OF_BODIES),
    ...(condition === 'write' ? (['precondition-failed'] as const) : []),
    ...(isIdempotentByKey === true ? (['idempotency-key-reused'] as const) : []),
    ...problems,
  ];
  const byStatus = new Map<number, string[]>();
  for (const name of new Set(names)) {
    const [status, title] = PROBLEMS[name];
    byStatus.set(status, [...(byStatus.get(status) ?? []), `${title} (\`${name}\`).`]);
  }
  const content = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
  return Object.fromEntries(Array.from(byStatus, ([status, titles]) => [status, { description: titles.join(' '), content }]));
}
