/** Audit entries as JSON, for the file of control data. */

import { CONTROL_KINDS, fieldOf, parseField, type RecordKey } from './control-record';
import type { AuditEntry } from './control-store';
import { readRecord, toJson } from './read-record';

export function auditToJson({ id, atMs, author, action, reason, details, key, before, after }: AuditEntry): object {
  return {
    id,
    at: new Date(atMs).toISOString(),
    author,
    action,
    ...(reason !== undefined && { reason }),
    ...(details !== undefined && { details }),
    ...(key && { key: keyText(key) }),
    ...(before && { before: toJson(before) }),
    ...(after && { after: toJson(after) }),
  };
}

export function auditFromJson(json: object): AuditEntry {
  const { id, at, author, action, reason, details, key, before, after } = json as Readonly<Record<string, unknown>>;
  return {
    id: textOf(id),
    atMs: Date.parse(textOf(at)),
    author: textOf(author),
    action: textOf(action),
    ...(reason !== undefined && { reason: textOf(reason) }),
    ...(details !== undefined && { details: textOf(details) }),
    ...(key !== undefined && { key: readKeyText(textOf(key)) }),
    ...(before !== undefined && { before: readRecord(before) }),
    ...(after !== undefined && { after: readRecord(after) }),
  };
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new Error('a field of an audit entry is not a text');
  return value;
}

export function keyText(key: RecordKey): string {
  return `${key.kind}/${fieldOf(key)}`;
}

/**
 * @throws Error if it names no record
 */
export function readKeyText(text: string): RecordKey {
  const kind = CONTROL_KINDS.find((candidate) => text.startsWith(`${candidate}/`));
  const names = kind && parseField(text.slice(kind.length + 1));
  if (kind === undefined || names === undefined) throw new Error('it names no record');
  return { kind, ...names };
}
