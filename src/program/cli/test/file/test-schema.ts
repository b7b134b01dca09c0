/** The JSON Schema of a file of tests, for editors. */

import { UNIT_NAMES } from '../../../../domain/descriptor/unit';
import { HITS_MAX } from '../../../../domain/descriptor/descriptor';
import { LIMIT_MAX, UINT32_MAX } from '../../../../domain/rule/limit';
import { CONTROL_KINDS } from '../../../../state/control/control-record';
import type { JsonObject } from '../../../../domain/rule/rule';
import { OVERRIDE_PATTERN } from './read-test-descriptor';
import { STEP_KINDS, TIMES_MAX } from './read-test-file';
import { ANSWER_CODES, CODES, STATES } from './test-file';
import { DURATION_PATTERN, INSTANT_PATTERN } from './virtual-time';

/** YAML's own text: 007 and true are texts, too. */
const TEXT: JsonObject = { type: ['string', 'number', 'boolean'] };

/** A pattern holds for strings alone; 0 is the only number that is a duration. */
const DURATION: JsonObject = { type: ['string', 'integer'], pattern: DURATION_PATTERN, minimum: 0, maximum: 0 };
const INSTANT: JsonObject = { type: 'string', pattern: INSTANT_PATTERN };

/** Records have nanoseconds. */
const RECORD_INSTANT: JsonObject = { type: 'string', pattern: INSTANT_PATTERN.replace('1,6', '1,9') };
const NAME: JsonObject = { ...TEXT, minLength: 1 };

/** Ends with a newline. */
export function renderTestSchema(): string {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Tests of a rate limit configuration of Weir',
    ...FILE,
    $defs: {
      test: TEST,
      request: REQUEST,
      descriptor: DESCRIPTOR,
      entries: ENTRIES,
      entry_map: ENTRY_MAP,
      expectation: EXPECTATION,
      status: STATUS,
      record: RECORD,
      limit: LIMIT,
    },
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

function whole(min: number, max: number): JsonObject {
  return { type: 'integer', minimum: min, maximum: max };
}

function words(of: readonly string[]): JsonObject {
  return { type: 'string', enum: [...of] };
}

function ref(name: string): JsonObject {
  return { $ref: `#/$defs/${name}` };
}

function listOf(items: JsonObject, least = 0): JsonObject {
  return { type: 'array', items, ...(least > 0 && { minItems: least }) };
}

type Properties = Readonly<Record<string, readonly [schema: JsonObject, description: string]>>;

/** Null counts as absent, except for what is required. */
function mapOf(properties: Properties, required: readonly string[] = []): JsonObject {
  const described = Object.entries(properties).map(([name, [schema, description]]) => [
    name,
    { description, ...(required.includes(name) ? schema : { anyOf: [schema, { type: 'null' }] }) },
  ]);
  return {
    type: 'object',
    additionalProperties: false,
    ...(required.length > 0 && { required: [...required] }),
    properties: Object.fromEntries(described) as JsonObject,
  };
}

const FILE = mapOf(
  {
    configuration: [
      { anyOf: [TEXT, listOf(TEXT, 1)] },
      'The file or the directory that is tested, or a list of files; relative to this file.',
    ],
    start: [INSTANT, 'The instant at which each test starts. Default: 2026-01-01T00:00:00Z.'],
    records: [listOf(ref('record')), 'Control data that are in force.'],
    tests: [listOf(ref('test'), 1), 'The tests. Each starts with full buckets.'],
  },
  ['configuration', 'tests'],
);

const TEST = mapOf(
  {
    name: [TEXT, 'The behaviour that the test shows.'],
    start: [INSTANT, 'The instant at which this test starts.'],
    requests: [
      { ...listOf(ref('request'), 1), prefixItems: [{ allOf: [ref('request'), named('domain'), named('descriptors')] }] },
      'The requests in the order of their times.',
    ],
  },
  ['name', 'requests'],
);

const STEP_CONDITIONS: JsonObject = {
  allOf: [
    ...STEP_KINDS.flatMap((kind) => STEP_KINDS.filter((other) => other > kind).map((other) => never(kind, other))),
    ...(['reserve', 'commit'] as const).map((kind) => ({
      if: named(kind),
      then: { required: ['hits'], properties: { hits: { type: 'integer', minimum: 0 } } },
    })),
    never('release', 'hits'),
    never('extend', 'hits'),
    { if: named('ttl'), then: { anyOf: [named('reserve'), named('extend')] } },
  ],
};

/** Whether a field is there and not null. */
function named(field: string): JsonObject {
  return { required: [field], properties: { [field]: { not: { type: 'null' } } } };
}

function never(one: string, other: string): JsonObject {
  return { not: { allOf: [named(one), named(other)] } };
}

const REQUEST: JsonObject = {
  ...mapOf({
    at: [{ anyOf: [DURATION, INSTANT] }, 'Time since the start, or an instant. Default: the time of the request before.'],
    domain: [TEXT, 'The domain. Default: that of the request before.'],
    descriptors: [listOf(ref('descriptor')), 'The descriptors. Default: those of the request before.'],
    hits: [whole(-HITS_MAX, HITS_MAX), 'Hits; 0 is a check, a negative number a refund or the end of a request in flight. Default: 1.'],
    times: [whole(1, TIMES_MAX), 'How often the request comes. Default: once.'],
    every: [DURATION, 'Time between repetitions. Default: 0s.'],
    expect: [ref('expectation'), 'The answer that is expected, of each repetition.'],
    reserve: [TEXT, 'The id of a reservation to make, of `hits`.'],
    commit: [TEXT, 'The id of a reservation to commit, with the `hits` used.'],
    release: [TEXT, 'The id of a reservation to release.'],
    extend: [TEXT, 'The id of a reservation to hold longer.'],
    ttl: [DURATION, 'How long the hits are held. Default: 60s.'],
  }),
  ...STEP_CONDITIONS,
};

const ENTRY_MAP: JsonObject = { type: 'object', additionalProperties: TEXT };

const ENTRIES: JsonObject = { anyOf: [ref('entry_map'), listOf(ref('entry_map'))] };

const DESCRIPTOR: JsonObject = {
  description: 'Keys and values, a list of entries, or either as `entries` with a limit and hits of its own.',
  if: { type: 'object', required: ['entries'], properties: { entries: { type: ['object', 'array'] } } },
  then: mapOf(
    {
      entries: [ref('entries'), 'Keys and values, in their order.'],
      limit: [{ type: 'string', pattern: OVERRIDE_PATTERN }, 'The limit that the request brings, such as 20/minute.'],
      hits: [whole(-HITS_MAX, HITS_MAX), 'Hits of this descriptor: a usage report where the limit takes them.'],
    },
    ['entries'],
  ),
  else: ref('entries'),
};

const STATUS_PROPERTIES: Properties = {
  remaining: [whole(0, HITS_MAX), 'Hits left.'],
  reset: [DURATION, 'Time until the bucket is full.'],
  rule: [TEXT, 'The rule, such as payments.path_/payment.client; none: no rule.'],
  limit: [TEXT, 'Such as 100/minute or 100/5minute, or the name of the limit; none: no limit.'],
  candidate: [words(CODES), 'The answer that the candidates of the limits would have given.'],
};

const STATUS: JsonObject = {
  anyOf: [words(CODES), mapOf({ code: [words(CODES), 'The code of the descriptor.'], ...STATUS_PROPERTIES })],
};

const EXPECTATION: JsonObject = {
  anyOf: [
    words(ANSWER_CODES),
    {
      ...mapOf({
        code: [words(ANSWER_CODES), 'The code of the answer.'],
        ...STATUS_PROPERTIES,
        retry_after: [{ anyOf: [DURATION, words(['never'])] }, 'How long a denied request has to wait.'],
        headers: [{ type: 'object', additionalProperties: { type: ['string', 'number', 'boolean', 'null'] } }, 'Headers; null: absent.'],
        status: [listOf(ref('status')), 'For each descriptor a code or a map.'],
        statuses: [listOf(ref('status')), 'The same as status.'],
        admitted: [whole(0, TIMES_MAX), 'How many of all repetitions are admitted.'],
        denied: [whole(0, TIMES_MAX), 'How many of all repetitions are denied.'],
        granted: [whole(0, HITS_MAX), 'Hits that a reservation holds.'],
        state: [words(STATES), 'The state of the reservation.'],
        cut: [whole(0, HITS_MAX), 'Hits of a commit that were not charged.'],
        late: [{ type: 'boolean' }, 'The reservation had lapsed.'],
        unknown: [{ type: 'boolean' }, 'The id was unknown.'],
        repeated: [{ type: 'boolean' }, 'An earlier step had the effect already.'],
      }),
      allOf: [never('status', 'statuses')],
    },
  ],
};

const LIMIT = mapOf(
  {
    name: [NAME, 'The name of the limit.'],
    requests_per_unit: [whole(0, LIMIT_MAX), 'Hits in a unit.'],
    unit: [words(UNIT_NAMES), 'The unit.'],
    unit_multiplier: [whole(1, UINT32_MAX), 'Number of units. Default: 1.'],
    burst: [whole(0, LIMIT_MAX), 'Hits that may come at once.'],
  },
  ['requests_per_unit', 'unit'],
);

const RECORD_PROPERTIES: Properties = {
  kind: [words(CONTROL_KINDS), 'The kind of the record.'],
  domain: [NAME, 'The domain. Default: the only domain of the configuration.'],
  until: [RECORD_INSTANT, 'The instant at which it ends.'],
  reason: [TEXT, 'Why it was written.'],
  author: [TEXT, 'Who wrote it.'],
  created_at: [RECORD_INSTANT, 'When it was written.'],
};

const SELECTOR_PROPERTIES: Properties = {
  id: [{ ...TEXT, pattern: '^[\\w.-]+$' }, 'The id of the record.'],
  entries: [
    listOf(mapOf({ key: [NAME, 'A key.'], value: [TEXT, 'Its value. Default: any.'] }, ['key']), 1),
    'The entries that it selects.',
  ],
};

function recordOf(kind: string, properties: Properties, required: readonly string[]): JsonObject {
  return {
    if: { properties: { kind: { const: kind } } },
    then: mapOf({ ...RECORD_PROPERTIES, ...properties }, ['kind', ...required]),
  };
}

const RECORD: JsonObject = {
  description: 'A record of control data, as GET /v1/overrides and others show it.',
  type: 'object',
  required: ['kind'],
  properties: { kind: words(CONTROL_KINDS) },
  allOf: [
    recordOf('tenant', { tenant: [NAME, 'The tenant.'], plan: [NAME, 'Its plan.'], parent: [NAME, 'The tenant above it.'] }, ['tenant']),
    recordOf('plan', { plan: [NAME, 'The plan.'], limits: [listOf(ref('limit'), 1), 'Its limits.'] }, ['plan', 'limits']),
    recordOf(
      'override',
      {
        ...SELECTOR_PROPERTIES,
        limit: [ref('limit'), 'The limit.'],
        candidate: [{ type: 'boolean' }, 'Whether the limit is only tried.'],
      },
      ['id', 'entries', 'limit'],
    ),
    recordOf('block', SELECTOR_PROPERTIES, ['id', 'entries']),
    recordOf('pass', SELECTOR_PROPERTIES, ['id', 'entries']),
  ],
};
