/** The JSON of control records: schemas for bodies and replies, and the conversion from and to records. */

import { Type, type TSchema } from '@sinclair/typebox';
import {
  RECORD_BOUNDS,
  type ControlKind,
  type ControlRecord,
  type RecordKey,
  type StoredRecord,
} from '../../../../state/control/control-record';
import { checkNotEnded, readRecord, RecordError, toJson } from '../../../../state/control/read-record';
import { AdminProblem } from '../../problem';
import { domain, limitValues, object, reason, selector, time } from '../../route/schemas';

const common = {
  until: Type.Optional(Type.Union([time], { description: 'When it ends. Absent: it has no end.' })),
  reason: Type.Optional(reason),
};

export const plan = Type.String({ minLength: 1, maxLength: RECORD_BOUNDS.nameBytes, description: 'The name of a plan.' });
export const tenant = Type.String({
  minLength: 1,
  maxLength: RECORD_BOUNDS.nameBytes,
  description: 'The value of the entry of a descriptor with `tenant: true`.',
});
export const parent = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: RECORD_BOUNDS.nameBytes,
    description: 'The tenant above it, whose pools it shares. Without it, plan is required.',
  }),
);
const id = Type.String({
  minLength: 1,
  maxLength: RECORD_BOUNDS.idChars,
  pattern: '^[A-Za-z0-9._-]+$',
  description: 'Unique in its domain; chosen by the caller.',
});
const limits = Type.Array(limitValues, {
  minItems: 1,
  maxItems: RECORD_BOUNDS.limits,
  description: 'Values for limits of the plan, by name, or by place for those without a name.',
});

const candidate = Type.Optional(
  Type.Boolean({ description: 'The limit is only tried beside that of the rule: it is counted and never denies, until it is promoted.' }),
);

const rolloutFields = {
  percent: Type.Number({
    minimum: 0,
    maximum: 100,
    description: 'Share of the values that the candidate decides, in hundredths of a percent.',
  }),
  stop_if: Type.Optional(
    object(
      {
        denied_above: Type.String({ pattern: '^\\d{1,3}(\\.\\d{1,4})?%$', description: 'Such as `2%`.' }),
        for: Type.String({ pattern: '^(\\d{1,2}h)?(\\d{1,4}m)?(\\d{1,5}s)?$', description: 'Such as `5m`; from a second to a day.' }),
      },
      'When the guard takes the rollout back. Absent: as in the configuration.',
    ),
  ),
  stopped: Type.Optional(Type.Boolean({ description: 'It was taken back; reason and author say why and by whom.' })),
};

const by = Type.String({
  minLength: 1,
  maxLength: RECORD_BOUNDS.keyBytes,
  description: 'The key of the entry whose values are in the stage or not.',
});

const rollout = Type.Optional(
  object({ by, ...rolloutFields }, 'The part of the requests that a candidate decides. Absent: it never denies.'),
);

const rule = Type.String({
  minLength: 1,
  maxLength: RECORD_BOUNDS.rolloutBytes,
  description: 'The path of a rule, joined with dots, or `plan/` and the name of a plan.',
});

/** The parts of a record of a kind. */
export interface RecordShape {
  /** The last part of the path: `tenant`, `plan` or `id`. */
  readonly nameParam: string;
  readonly name: TSchema;
  /** The fields of the body, without `until` and `reason`. */
  readonly fields: Readonly<Record<string, TSchema>>;
  /** A record of the kind has no end. Absent: it may have one. */
  readonly isEndless?: true;
}

export const SHAPES: Readonly<Record<ControlKind, RecordShape>> = {
  tenant: { nameParam: 'tenant', name: tenant, fields: { plan: Type.Optional(plan), parent } },
  plan: { nameParam: 'plan', name: plan, fields: { limits } },
  override: { nameParam: 'id', name: id, fields: { entries: selector, limit: limitValues, candidate, rollout } },
  block: { nameParam: 'id', name: id, fields: { entries: selector } },
  pass: { nameParam: 'id', name: id, fields: { entries: selector } },
  rollout: { nameParam: 'rule', name: rule, fields: { by: Type.Optional(by), ...rolloutFields }, isEndless: true },
};

const written = {
  author: Type.Optional(Type.String({ description: 'Who wrote it.' })),
  created_at: Type.Optional(time),
  version: Type.Integer({ minimum: 0, description: 'The version of its last change; its ETag is this number in quotes.' }),
};

export function bodySchema(shape: RecordShape): TSchema {
  return object({ ...shape.fields, ...commonOf(shape) });
}

/** A record, as replies show it. */
export function recordSchema(shape: RecordShape): TSchema {
  const { nameParam, name, fields } = shape;
  return object({ domain, [nameParam]: name, ...fields, ...commonOf(shape), ...written });
}

/** The same without a version, which a record has only once it is written. */
export function writtenSchema(shape: RecordShape): TSchema {
  const { nameParam, name, fields } = shape;
  const { author, created_at } = written;
  return object({ domain, [nameParam]: name, ...fields, ...commonOf(shape), author, created_at });
}

function commonOf({ isEndless }: RecordShape) {
  return isEndless === true ? { reason: common.reason } : common;
}

interface ToRecordInput {
  readonly key: RecordKey;
  /** Checked by the schema of the kind, which counts characters; the store's bounds are in bytes. */
  readonly body: object;
  readonly author: string;
  readonly nowMs: number;
}

/** @throws AdminProblem for a text that is too long in bytes, or an end that has passed */
export function toRecord({ key: { kind, domain: inDomain, name }, body, author, nowMs }: ToRecordInput): ControlRecord {
  const { nameParam } = SHAPES[kind];
  try {
    const record = readRecord({ ...body, kind, domain: inDomain, [nameParam]: name, author, created_at: new Date(nowMs).toISOString() });
    checkNotEnded(record, nowMs);
    return record;
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    const { field, problem } = error;
    const isInPath = field === nameParam || field === 'domain';
    throw AdminProblem.ofField(`${isInPath ? 'path' : 'body'}/${field.replace(/\[(\d+)\]/g, '/$1').replaceAll('.', '/')}`, problem);
  }
}

/** A record as replies show it. */
export function showRecord(record: ControlRecord): Record<string, unknown> {
  return Object.fromEntries(Object.entries(toJson(record)).filter(([name]) => name !== 'kind'));
}

export function showStored({ record, version }: StoredRecord): Record<string, unknown> {
  return { ...showRecord(record), version };
}
