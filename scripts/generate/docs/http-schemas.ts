/** JSON Schemas of what the HTTP port takes and answers. The types of the messages make the lists of fields complete. */

import { DESCRIPTORS_MAX, ENTRIES_MAX, TEXT_BYTES_MAX } from '../../../src/domain/descriptor/descriptor-bounds';
import { UINT32_MAX } from '../../../src/domain/rule/limit';
import { camelCase } from '../../../src/server/transport/messages/message-fields';
import type { WireStep } from '../../../src/server/transport/messages/reservation-messages';
import {
  CODE_WORDS,
  UNIT_WORDS,
  type WireDescriptor,
  type WireEntry,
  type WireHeader,
  type WireLimit,
  type WireOverride,
  type WireRequest,
  type WireReserved,
  type WireResponse,
  type WireStatus,
  type WireStepAnswer,
} from '../../../src/server/transport/messages/wire';

export type Json = Readonly<Record<string, unknown>>;

/** A schema for every field of a message, by wire name. */
type SchemaOf<Wire> = { readonly [Field in keyof Wire]-?: Json };

/** An object without other fields, which have the names of protojson. */
function message<Wire>(fields: SchemaOf<Wire>, required: readonly (keyof Wire & string)[], description: string): Json {
  return {
    type: 'object',
    description,
    required: required.map(camelCase),
    additionalProperties: false,
    properties: Object.fromEntries(Object.entries(fields).map(([name, schema]) => [camelCase(name), schema])),
  };
}

function ref(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

function list(items: Json, bounds: { readonly minItems?: number; readonly maxItems?: number } = {}): Json {
  return { type: 'array', items, ...bounds };
}

const UNITS = [...UNIT_WORDS.values()].filter((word) => word !== 'UNKNOWN');
const CODE = { type: 'string', enum: [...CODE_WORDS.values()] };
const UINT32 = { type: 'integer', minimum: 0, maximum: UINT32_MAX };
/** 64-bit numbers are strings of digits in answers. */
const DIGITS = { type: 'string', pattern: '^[0-9]{1,20}$' };
const UINT64 = {
  description: 'A whole number, or a string of its digits.',
  type: ['integer', 'string'],
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  pattern: '^[0-9]{1,19}$',
};
const TEXT = { type: 'string', maxLength: TEXT_BYTES_MAX };
const SECONDS = { type: 'string', pattern: '^[0-9]{1,12}(\\.[0-9]{1,9})?s$', examples: ['60s'] };
const TRUE = { type: 'boolean', const: true };
const ID = { type: 'string', minLength: 1, description: 'The id of the reservation.' };
const STATE = { type: 'string', enum: ['HELD', 'COMMITTED', 'RELEASED', 'LAPSED'] };
const DOMAIN = { type: 'string', minLength: 1, maxLength: TEXT_BYTES_MAX, description: 'A domain of the configuration.' };

const DESCRIPTORS = list(ref('Descriptor'), { minItems: 1, maxItems: DESCRIPTORS_MAX });

/** The steps of a reservation, by the fields that each takes. */
const STEP: SchemaOf<WireStep> = {
  domain: DOMAIN,
  descriptors: DESCRIPTORS,
  id: { type: 'string', description: 'An id of the caller; absent: Weir makes one.' },
  hits: UINT64,
  ttl: { ...SECONDS, description: 'How long the hits are held; absent: the `reservation_ttl` of the domain.' },
};

function step(fields: readonly (keyof WireStep)[], required: readonly (keyof WireStep)[], description: string): Json {
  const chosen = Object.fromEntries(fields.map((field) => [field, STEP[field]]));
  return { type: 'object', description, required, additionalProperties: false, properties: chosen };
}

export const SCHEMAS: Readonly<Record<string, Json>> = {
  RateLimitRequest: message<WireRequest>(
    {
      domain: DOMAIN,
      descriptors: DESCRIPTORS,
      hits_addend: { ...UINT32, description: 'Hits of each descriptor without its own; absent or 0: one.' },
    },
    ['domain', 'descriptors'],
    'A request of envoy.service.ratelimit.v3. Names may also be in snake_case.',
  ),
  Descriptor: message<WireDescriptor>(
    {
      entries: list(ref('Entry'), { maxItems: ENTRIES_MAX }),
      limit: ref('LimitOverride'),
      hits_addend: { ...UINT64, description: 'Hits of this descriptor: 0 only asks.' },
      is_negative_hits: { type: 'boolean', description: 'Give the hits back.' },
    },
    ['entries'],
    'Entries to count, in the order of the rules.',
  ),
  Entry: message<WireEntry>({ key: TEXT, value: TEXT }, ['key', 'value'], 'A key and a value.'),
  LimitOverride: message<WireOverride>(
    {
      requests_per_unit: UINT32,
      unit: { type: 'string', enum: UNITS },
      unit_multiplier: { type: 'integer', minimum: 1, maximum: UINT32_MAX },
    },
    ['requests_per_unit', 'unit'],
    'A limit instead of the configured one.',
  ),
  RateLimitResponse: message<WireResponse>(
    {
      overall_code: CODE,
      statuses: list(ref('Status')),
      response_headers_to_add: list(ref('Header')),
      request_headers_to_add: list(ref('Header')),
      raw_body: { type: 'string', contentEncoding: 'base64', description: 'The body for the client of a denied request.' },
      dynamic_metadata: { type: 'object', description: 'Metadata for an access log.' },
    },
    ['overall_code'],
    'A response of envoy.service.ratelimit.v3. Absent numbers are 0.',
  ),
  Status: message<WireStatus>(
    {
      code: CODE,
      current_limit: ref('Limit'),
      limit_remaining: UINT32,
      duration_until_reset: SECONDS,
    },
    ['code'],
    'The status of a descriptor, in the order of the request.',
  ),
  Limit: message<WireLimit>(
    { requests_per_unit: UINT32, unit: { type: 'string', enum: UNITS }, name: { type: 'string' }, unit_multiplier: UINT32 },
    ['unit'],
    'The limit that applies.',
  ),
  Header: message<WireHeader>({ key: { type: 'string' }, value: { type: 'string' } }, ['key', 'value'], 'A header for the client.'),
  ReserveRequest: step(
    ['domain', 'descriptors', 'id', 'hits', 'ttl'],
    ['domain', 'descriptors', 'hits'],
    'Hold hits before their number is known.',
  ),
  CommitRequest: step(['domain', 'descriptors', 'hits'], ['domain'], 'Count the hits that were used, and give back the rest.'),
  ReleaseRequest: step(['domain', 'descriptors'], ['domain'], 'Give back all hits.'),
  ExtendRequest: step(['domain', 'descriptors', 'ttl'], ['domain'], 'Hold the hits for longer.'),
  Reserved: message<WireReserved>(
    {
      code: CODE,
      id: ID,
      granted_hits: DIGITS,
      expires_in: SECONDS,
      statuses: list(ref('Status')),
      share_exhausted: TRUE,
      repeated_call: TRUE,
      degraded: TRUE,
      state: STATE,
    },
    ['code'],
    'What was reserved. Absent numbers are 0, absent flags false; a denial has no id.',
  ),
  StepAnswer: message<WireStepAnswer>(
    {
      id: ID,
      state: STATE,
      granted_hits: DIGITS,
      committed_hits: DIGITS,
      cut_hits: DIGITS,
      late: TRUE,
      unknown: TRUE,
      repeated_call: TRUE,
      degraded: TRUE,
      expires_in: SECONDS,
    },
    ['id', 'state'],
    'The reservation after the step. Absent numbers are 0, and absent flags false.',
  ),
  Error: {
    type: 'object',
    description: 'Why a step was not taken.',
    required: ['error'],
    additionalProperties: false,
    properties: { error: { type: 'string' }, field: { type: 'string', description: 'The field that is wrong.' } },
  },
};
