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

/** The parts of a record of a kind. */
export interface RecordShape {
  /** The last part of the path: `tenant`, `plan` or `id`. */
  readonly nameParam: string;
  readonly name: TSchema;
  /** The fields of the body, without `until` and `reason`. */
  readonly fields: Readonly<Record<string, TSchema>>;
}

export const SHAPES: Readonly<Record<ControlKind, RecordShape>> = {
  tenant: { nameParam: 'tenant', name: tenant, fields: { plan } },
  plan: { nameParam: 'plan', name: plan, fields: { limits } },
  override: { nameParam: 'id', name: id, fields: { entries: selector, limit: limitValues, candidate } },
  block: { nameParam: 'id', name: id, fields: { entries: selector } },
  pass: { nameParam: 'id', name: id, fields: { entries: selector } },
};

const written = {
  author: Type.Optional(Type.String({ description: 'Who wrote it.' })),
  created_at: Type.Optional(time),
  version: Type.Integer({ minimum: 0, description: 'The version of its last change; its ETag is this number in quotes.' }),
};

export function bodySchema({ fields }: RecordShape): TSchema {
  return object({ ...fields, ...common });
}

/** A record, as replies show it. */
export function recordSchema({ nameParam, name, fields }: RecordShape): TSchema {
  return object({ domain, [nameParam]: name, ...fields, ...common, ...written });
}

/** The same without a version, which a record has only once it is written. */
export function writtenSchema({ nameParam, name, fields }: RecordShape): TSchema {
  const { author, created_at } = written;
  return object({ domain, [nameParam]: name, ...fields, ...common, author, created_at });
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
