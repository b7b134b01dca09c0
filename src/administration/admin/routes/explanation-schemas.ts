/** The JSON of explanations: limits with their sources and buckets, and the records of control data that decide. */

import { Type, type TSchema } from '@sinclair/typebox';
import { CONTROL_KINDS } from '../../../state/control/control-record';
import { LIMIT_GIVERS } from '../../../configuration/explain/explain-limit';
import { STAGE_PARTS } from '../../../domain/rule/stage/stage';
import { bucket } from './bucket-routes';
import { object, shownValues } from '../route/schemas';
import { effectState, warnings } from './records/effect-schemas';
import { IDLE_MAX } from '../exceptions/idle-records';

const recordFields = {
  kind: Type.Union(CONTROL_KINDS.map((kind) => Type.Literal(kind))),
  id: Type.String({ description: 'The id of the record, or the name of the tenant or plan.' }),
  until: Type.Optional(Type.String({ format: 'date-time' })),
  reason: Type.Optional(Type.String()),
  author: Type.Optional(Type.String()),
  created_at: Type.Optional(Type.String({ format: 'date-time' })),
  version: Type.Optional(Type.Integer({ minimum: 0 })),
};

/** A record of control data. */
export const shownRecord = object(recordFields);

export const decidingRecord = object({
  descriptor: Type.Integer({ minimum: 0, description: 'Index of the descriptor in the request.' }),
  ...recordFields,
});

/** Records that name the subject, and have no effect on it. */
export const withoutEffect = Type.Array(object({ ...recordFields, effect: effectState, warnings }), {
  description: `Records that name it and have no effect, or only a part of it; at most ${IDLE_MAX}.`,
});

const entry = object({ key: Type.String(), value: Type.String() });

const values = { ...shownValues, capacity: Type.Integer({ minimum: 0 }) };

const place = {
  file: Type.Optional(Type.String({ description: 'Where the configuration has it.' })),
  line: Type.Optional(Type.Integer({ minimum: 1 })),
};

const source = object(
  {
    from: Type.Union(LIMIT_GIVERS.map((from) => Type.Literal(from))),
    record: Type.Optional(shownRecord),
    ...place,
    replaces: Type.Optional(object(values, 'The values of the configuration that do not apply.')),
  },
  'Where the values come from: the configuration at `file` and `line`, run-time values of a plan, an override, or the request.',
);

/** Open: limits may get further fields. */
const limit = {
  ...values,
  algorithm: Type.String(),
  reserved: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Hits beyond the capacity that are left to other classes of a reserve.' }),
  ),
  calendar: Type.Optional(Type.String({ description: 'The time zone of its windows.' })),
  overdraft_max: Type.Optional(Type.Integer({ description: 'How far below zero usage reports may take the bucket.' })),
  id: Type.Optional(Type.String({ description: 'For requests in flight: the key of the entry that identifies one.' })),
  reservations: Type.Optional(
    Type.Object({ max_share: Type.Number(), on_lapse: Type.String(), hits_max: Type.Integer() }, { description: 'Absent: the defaults.' }),
  ),
  response_body: Type.Optional(
    Type.String({ description: 'The kind of the body that a denied response has. Absent: as RESPONSE_BODY says.' }),
  ),
  leases: Type.Optional(Type.String({ description: 'Whether hits are charged ahead of requests. Absent: as LEASES says.' })),
  is_share: Type.Optional(Type.Boolean({ description: 'It is the share of one member. Absent: it is a whole limit.' })),
  pool: Type.Optional(Type.String({ description: 'The tenant whose pool it is. Absent: the limit is the own one of the tenant.' })),
  bucket_key: Type.String(),
  source,
  bucket: Type.Optional(bucket),
};

const candidate = Type.Object(limit, { description: 'The limit that is tried beside it, and never denies.' });

export const explainedLimit = Type.Object({ ...limit, candidate: Type.Optional(candidate) });

/** A descriptor of the configuration, and why it matches or does not. */
const matchCandidate = Type.Object({
  file: Type.String(),
  line: Type.Integer({ minimum: 1 }),
  key: Type.String(),
  value: Type.Optional(Type.String({ description: 'Absent: the descriptor has only a key.' })),
  reason: Type.String(),
});

export const explainedLevel = Type.Object(
  {
    entry,
    winner: Type.Optional(matchCandidate),
    losers: Type.Array(matchCandidate, { description: 'Descriptors that match come first.' }),
    omitted: Type.Integer({ minimum: 0, description: 'Further descriptors with this key.' }),
    other_keys: Type.Integer({ minimum: 0, description: 'Descriptors with other keys.' }),
  },
  { description: 'The winner and the losers for one entry.' },
);

/** The explanation of a descriptor, without the levels of the match. */
export const explainedDescriptor = {
  entries: Type.Array(entry),
  rule: Type.Optional(Type.String({ description: 'The path of the rule, joined with dots. Absent: no rule matches.' })),
  mode: Type.String(),
  unlimited: Type.Boolean(),
  override: Type.Boolean({ description: 'Whether the request brings its limit.' }),
  limits: Type.Array(explainedLimit, { description: 'The limits that apply, apart from a block or a pass.' }),
  plan: Type.Optional(Type.String({ description: 'The plan of the tenant.' })),
  plan_source: Type.Optional(
    object({
      is_default: Type.Boolean({ description: 'It is the `default_plan`: the tenant has none, or one that the configuration lacks.' }),
      unknown_plan: Type.Optional(Type.String({ description: 'The plan of the tenant, which the configuration lacks.' })),
      members_of: Type.Optional(Type.String({ description: 'The tenant above whose plan names this one for members.' })),
      ...place,
    }),
  ),
  above: Type.Optional(
    Type.Array(object({ tenant: Type.String(), plan: Type.String(), is_default: Type.Boolean() }), {
      description: 'The tenants above, the nearest first. Absent: there are none.',
    }),
  ),
  stage: Type.Optional(
    object(
      {
        rollout: Type.String({ description: 'The name of the rollout.' }),
        by: Type.String({ description: 'The key whose values are in the stage or not.' }),
        percent: Type.Number(),
        part: Type.Union(STAGE_PARTS.map((part) => Type.Literal(part))),
      },
      'Whether the candidate decides it: `candidate`, or the limit in force: `current`.',
    ),
  ),
  reserve: Type.Optional(
    object(
      {
        entry: Type.String({ description: 'The key of the entry with the class.' }),
        class: Type.Optional(Type.String({ description: 'Absent: the request has none of the classes.' })),
        kept_percent: Type.Number({ description: 'The last part of each limit that the request may not use.' }),
      },
      'The class of the request in the reserve of the rule.',
    ),
  ),
  fair: Type.Optional(
    object(
      {
        entry: Type.String({ description: 'The key of the entry with the member.' }),
        member: Type.Optional(Type.String({ description: 'Absent: the request names none, or several.' })),
        weight: Type.Integer({ minimum: 1 }),
      },
      'The member of the request, where members divide the limits of the rule.',
    ),
  ),
  block: Type.Optional(shownRecord),
  pass: Type.Optional(shownRecord),
  replaced: Type.Array(Type.String()),
  not_limited: Type.Optional(Type.String({ description: 'Why no limit applies.' })),
} satisfies Readonly<Record<string, TSchema>>;
