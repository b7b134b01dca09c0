/** Reads records from JSON and writes them as JSON: every invalid value is refused with its field. */

import { BadRequestError } from '../../lib/errors';
import { show } from '../../lib/quote';
import { LIMIT_MAX, UINT32_MAX } from '../../domain/rule/limit';
import { UNIT_NAMES, UNIT_US, WINDOW_US_MAX, type UnitName } from '../../domain/descriptor/unit';
import type { LimitValues } from '../../domain/rule/control-view';
import { readTenantText } from './tenant-text';
import {
  CONTROL_KINDS,
  RECORD_BOUNDS,
  type ControlKind,
  type ControlRecord,
  type EntrySelector,
  type RolloutValues,
} from './control-record';
import { isPercent, type StopIf } from '../../domain/rule/stage/stage';
import { percentText, readPercentText, readSpanS, spanText } from '../../lib/value-texts';

/** A field of a record is invalid. */
export class RecordError extends BadRequestError {
  override readonly name = 'RecordError';

  constructor(
    /** Path of the field, as in `entries[0].key`. */
    readonly field: string,
    readonly problem: string,
  ) {
    super(`${field} ${problem}`);
  }
}

const ROLLOUT_FIELDS = ['by', 'percent', 'stop_if', 'stopped'];

/** The fields of each kind. */
const FIELDS: Readonly<Record<ControlKind, readonly string[]>> = {
  tenant: ['tenant', 'plan', 'parent'],
  plan: ['plan', 'limits'],
  override: ['id', 'entries', 'limit', 'candidate', 'rollout'],
  block: ['id', 'entries'],
  pass: ['id', 'entries'],
  rollout: ['rule', ...ROLLOUT_FIELDS],
};

const COMMON_FIELDS = ['kind', 'domain', 'until', 'reason', 'author', 'created_at'];

const LIMIT_FIELDS = ['name', 'requests_per_unit', 'unit', 'unit_multiplier', 'burst'];

const ID = /^[\w.-]+$/;

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a record from parsed JSON.
 *
 * @throws RecordError for an unknown field, or one with an invalid value
 */
export function readRecord(json: unknown): ControlRecord {
  const fields = readObject(json, 'record');
  const kind = readOneOf(fields, { path: 'kind', names: CONTROL_KINDS });
  refuseUnknown(fields, { known: [...COMMON_FIELDS, ...FIELDS[kind]], path: '' });
  const base = {
    domain: readText(fields.domain, { path: 'domain', bytesMax: RECORD_BOUNDS.domainBytes }),
    ...readOptional(fields.until, (value) => ({ untilMs: readTime(value, 'until') })),
    ...readOptional(fields.reason, (value) => ({
      reason: readText(value, { path: 'reason', bytesMax: RECORD_BOUNDS.reasonBytes, isEmptyAllowed: true }),
    })),
    ...readOptional(fields.author, (value) => ({
      author: readText(value, { path: 'author', bytesMax: RECORD_BOUNDS.authorBytes, isEmptyAllowed: true }),
    })),
    ...readOptional(fields.created_at, (value) => ({ createdAtMs: readTime(value, 'created_at') })),
  };
  const readName = (path: string) => readText(fields[path], { path, bytesMax: RECORD_BOUNDS.nameBytes });
  if (kind === 'tenant') {
    const tenant = readName('tenant');
    const parent = readOptional(fields.parent, () => ({ parent: readName('parent') }));
    const plan = parent === undefined ? { plan: readName('plan') } : readOptional(fields.plan, () => ({ plan: readName('plan') }));
    if (parent?.parent === tenant) throw new RecordError('parent', 'is the tenant itself; name another one, or remove it');
    // A place in the tree that ends by itself would move a whole subtree without a write.
    if (parent !== undefined && 'untilMs' in base) throw new RecordError('until', 'is not for a tenant with a parent; remove it');
    return { kind, ...base, tenant, ...plan, ...parent };
  }
  if (kind === 'plan') return { kind, ...base, plan: readName('plan'), limits: readLimits(fields.limits) };
  if (kind === 'rollout') {
    if ('untilMs' in base) throw new RecordError('until', 'is not for a rollout, which has no end; remove it');
    const rule = readText(fields.rule, { path: 'rule', bytesMax: RECORD_BOUNDS.rolloutBytes });
    return { kind, ...base, rule, ...readRollout(fields, '') };
  }
  const selector = { ...base, id: readId(fields.id), entries: readEntries(fields.entries) };
  if (kind !== 'override') return { kind, ...selector };
  const isCandidate = readFlag(fields.candidate, 'candidate');
  const limit = readLimit(fields.limit, 'limit');
  const rollout = readOptional(fields.rollout, (value) => ({ rollout: readOwnRollout(value) }));
  if (rollout !== undefined && !isCandidate) throw new RecordError('rollout', 'is only for a candidate; set candidate, or remove it');
  return { kind, ...selector, limit, ...(isCandidate && { candidate: true }), ...rollout };
}

/** The rollout of an override names its key, because the configuration has none. */
function readOwnRollout(value: unknown): RolloutValues {
  const fields = readObject(value, 'rollout');
  refuseUnknown(fields, { known: ROLLOUT_FIELDS, path: 'rollout' });
  const rollout = readRollout(fields, 'rollout.');
  if (rollout.by === undefined) throw new RecordError('rollout.by', 'must be a text');
  return rollout;
}

function readRollout(fields: Fields, at: string): RolloutValues {
  const { percent } = fields;
  if (typeof percent !== 'number' || !isPercent(percent))
    throw new RecordError(`${at}percent`, 'must be a number from 0 to 100 with at most two decimals');
  return {
    percent,
    ...readOptional(fields.by, (by) => ({ by: readText(by, { path: `${at}by`, bytesMax: RECORD_BOUNDS.keyBytes }) })),
    ...readOptional(fields.stop_if, (stopIf) => ({ stopIf: readStopIf(stopIf, `${at}stop_if`) })),
    ...(readFlag(fields.stopped, `${at}stopped`) && { stopped: true as const }),
  };
}

function readStopIf(value: unknown, path: string): StopIf {
  const fields = readObject(value, path);
  refuseUnknown(fields, { known: ['denied_above', 'for'], path });
  const { denied_above: share, for: time } = fields;
  const deniedAbove = typeof share === 'string' ? readPercentText(share) : undefined;
  if (deniedAbove === undefined) throw new RecordError(`${path}.denied_above`, 'must be a percentage over 0% and at most 100%, such as 2%');
  const forS = typeof time === 'string' ? readSpanS(time) : undefined;
  if (forS === undefined) throw new RecordError(`${path}.for`, 'must be whole seconds, minutes or hours from 1s to 24h, such as 5m');
  return { deniedAbove, forS };
}

/** The record as JSON, which `readRecord` reads back. */
export function toJson(record: ControlRecord): Fields {
  const { kind, domain, untilMs, reason, author, createdAtMs } = record;
  return {
    kind,
    domain,
    ...ownFields(record),
    ...(untilMs !== undefined && { until: new Date(untilMs).toISOString() }),
    ...(reason !== undefined && { reason }),
    ...(author !== undefined && { author }),
    ...(createdAtMs !== undefined && { created_at: new Date(createdAtMs).toISOString() }),
  };
}

export function toText(record: ControlRecord): string {
  return JSON.stringify(toJson(record));
}

/**
 * Reads what `toText` made.
 *
 * @throws RecordError
 */
export function fromText(text: string): ControlRecord {
  const tenant = readTenantText(text);
  if (tenant !== undefined) return tenant;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new RecordError('record', 'is not JSON');
  }
  return readRecord(json);
}

function ownFields(record: ControlRecord): Fields {
  if (record.kind === 'tenant') {
    const { tenant, plan, parent } = record;
    return { tenant, ...(plan !== undefined && { plan }), ...(parent !== undefined && { parent }) };
  }
  if (record.kind === 'plan') return { plan: record.plan, limits: record.limits.map(limitToJson) };
  if (record.kind === 'rollout') return { rule: record.rule, ...rolloutToJson(record) };
  const { id, entries } = record;
  if (record.kind !== 'override') return { id, entries };
  return {
    id,
    entries,
    limit: limitToJson(record.limit),
    ...(record.candidate === true && { candidate: true }),
    ...(record.rollout && { rollout: rolloutToJson(record.rollout) }),
  };
}

function rolloutToJson({ by, percent, stopIf, stopped }: RolloutValues): Fields {
  return {
    ...(by !== undefined && { by }),
    percent,
    ...(stopIf && { stop_if: { denied_above: percentText(stopIf.deniedAbove), for: spanText(stopIf.forS) } }),
    ...(stopped && { stopped }),
  };
}

export function limitToJson({ name, requestsPerUnit, unit, unitMultiplier, burst }: LimitValues): Fields {
  return {
    ...(name !== undefined && { name }),
    requests_per_unit: requestsPerUnit,
    unit,
    ...(unitMultiplier !== undefined && { unit_multiplier: unitMultiplier }),
    ...(burst !== undefined && { burst }),
  };
}

/** Refuses what would never have an effect: a record that has ended already. */
export function checkNotEnded(record: ControlRecord, nowMs: number): void {
  if (record.untilMs !== undefined && record.untilMs <= nowMs) throw new RecordError('until', 'must be in the future');
}

function readId(value: unknown): string {
  const id = readText(value, { path: 'id', bytesMax: RECORD_BOUNDS.idChars });
  if (!ID.test(id)) throw new RecordError('id', 'may have only letters, digits, "_", "-" and "."');
  return id;
}

function readEntries(value: unknown): readonly EntrySelector[] {
  const list = readList(value, { path: 'entries', max: RECORD_BOUNDS.entries });
  const entries = list.map((item, i): EntrySelector => {
    const path = `entries[${i}]`;
    const fields = readObject(item, path);
    refuseUnknown(fields, { known: ['key', 'value'], path });
    const key = readText(fields.key, { path: `${path}.key`, bytesMax: RECORD_BOUNDS.keyBytes });
    return {
      key,
      ...readOptional(fields.value, (text) => ({
        value: readText(text, { path: `${path}.value`, bytesMax: RECORD_BOUNDS.valueBytes, isEmptyAllowed: true }),
      })),
    };
  });
  const seen = new Set<string>();
  entries.forEach(({ key, value }, i) => {
    const text = JSON.stringify([key, value]);
    if (seen.has(text)) throw new RecordError(`entries[${i}]`, 'repeats an earlier entry; remove it');
    seen.add(text);
  });
  return entries;
}

function readLimits(value: unknown): readonly LimitValues[] {
  return readList(value, { path: 'limits', max: RECORD_BOUNDS.limits }).map((item, i) => readLimit(item, `limits[${i}]`));
}

function readLimit(value: unknown, path: string): LimitValues {
  const fields = readObject(value, path);
  refuseUnknown(fields, { known: LIMIT_FIELDS, path });
  const unit: UnitName = readOneOf(fields, { path: `${path}.unit`, names: UNIT_NAMES });
  const readNumber = (name: string, min: number, max = LIMIT_MAX) => readWhole(fields[name], { path: `${path}.${name}`, min, max });
  const limit: LimitValues = {
    ...readOptional(fields.name, (name) => ({ name: readText(name, { path: `${path}.name`, bytesMax: RECORD_BOUNDS.limitNameBytes }) })),
    requestsPerUnit: readNumber('requests_per_unit', 0),
    unit,
    ...readOptional(fields.unit_multiplier, () => ({ unitMultiplier: readNumber('unit_multiplier', 1, UINT32_MAX) })),
    ...readOptional(fields.burst, () => ({ burst: readNumber('burst', 0) })),
  };
  if (UNIT_US[unit] * (limit.unitMultiplier ?? 1) > WINDOW_US_MAX) {
    throw new RecordError(`${path}.unit_multiplier`, 'makes a window of over 100 years; use a shorter one');
  }
  return limit;
}

function readOptional<T extends object>(value: unknown, read: (value: unknown) => T): T | undefined {
  return value === undefined || value === null ? undefined : read(value);
}

function readObject(value: unknown, path: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new RecordError(path, 'must be an object');
  return value as Fields;
}

function readList(value: unknown, { path, max }: { readonly path: string; readonly max: number }): readonly unknown[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > max) throw new RecordError(path, `must be a list of 1 to ${max} items`);
  return value;
}

interface TextBounds {
  readonly path: string;
  readonly bytesMax: number;
  readonly isEmptyAllowed?: boolean;
}

function readText(value: unknown, { path, bytesMax, isEmptyAllowed = false }: TextBounds): string {
  if (typeof value !== 'string') throw new RecordError(path, 'must be a text');
  if (value === '' && !isEmptyAllowed) throw new RecordError(path, 'must not be empty');
  // A lone surrogate has no bytes, so no request could contain it.
  if (/\p{Surrogate}/u.test(value)) throw new RecordError(path, 'is not valid Unicode');
  const bytes = Buffer.byteLength(value);
  if (bytes > bytesMax) throw new RecordError(path, `has ${bytes} bytes; at most ${bytesMax} are allowed`);
  return value;
}

interface WholeBounds {
  readonly path: string;
  readonly min: number;
  readonly max: number;
}

function readWhole(value: unknown, { path, min, max }: WholeBounds): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new RecordError(path, `must be a whole number from ${min} to ${max}`);
}

function readTime(value: unknown, path: string): number {
  const ms = typeof value === 'string' && ISO_TIME.test(value) ? Date.parse(value) : NaN;
  if (Number.isNaN(ms) || ms < 0) throw new RecordError(path, 'must be a time such as 2030-01-31T12:00:00Z');
  return ms;
}

function readFlag(value: unknown, path: string): boolean {
  if (value === undefined || value === null || typeof value === 'boolean') return value === true;
  throw new RecordError(path, 'must be true or false');
}

function readOneOf<Name extends string>(fields: Fields, { path, names }: { readonly path: string; readonly names: readonly Name[] }): Name {
  const value = fields[path.slice(path.lastIndexOf('.') + 1)];
  const name = names.find((candidate) => candidate === value);
  if (name === undefined) throw new RecordError(path, `must be one of ${names.join(', ')}`);
  return name;
}

function refuseUnknown(fields: Fields, { known, path }: { readonly known: readonly string[]; readonly path: string }): void {
  const unknown = Object.keys(fields).find((field) => !known.includes(field));
  if (unknown === undefined) return;
  const shown = /^[\w-]{1,60}$/.test(unknown) ? unknown : show(unknown);
  throw new RecordError(path === '' ? shown : `${path}.${shown}`, 'is an unknown field; remove it');
}
