/** The lines of the file of control data. */

import { auditFromJson, auditToJson, keyText, readKeyText } from '../audit-json';
import { keyOf } from '../control-record';
import type { LoggedChange } from '../control-store';
import type { JournalEntry } from '../local-control-store';
import { readRecord, toJson } from '../read-record';
import { readTenantText } from '../tenant-text';

/** Written by this version of Weir, and the only format it reads. */
const FORMAT = 1;

interface Line {
  readonly version: number;
  readonly at: number;
  /** Records that were put, and the keys of those that were deleted. */
  readonly put?: readonly object[];
  readonly delete?: readonly string[];
  readonly audit?: readonly object[];
  readonly penalties?: readonly object[];
  readonly id?: string;
  readonly digest?: string;
  readonly discard?: true;
}

export function headLine(epoch: string): string {
  return JSON.stringify({ weir_control: FORMAT, epoch });
}

/** The epoch; undefined: it is not the first line of such a file. */
export function readHeadLine(line: string): string | undefined {
  try {
    const { weir_control: format, epoch } = JSON.parse(line) as Readonly<Record<string, unknown>>;
    return format === FORMAT && typeof epoch === 'string' ? epoch : undefined;
  } catch {
    return undefined;
  }
}

export function writeLine({ version, atMs, changes, audit, penalties = [], id, digest, discardsLost }: JournalEntry): string {
  const put = changes.flatMap(({ record }) => (record === undefined ? [] : [toJson(record)]));
  const deleted = changes.flatMap(({ key, record }) => (record === undefined ? [keyText(key)] : []));
  const line: Line = {
    version,
    at: atMs,
    ...(put.length > 0 && { put }),
    ...(deleted.length > 0 && { delete: deleted }),
    ...(audit.length > 0 && { audit: audit.map(auditToJson) }),
    ...(penalties.length > 0 && { penalties: penalties.map(auditToJson) }),
    ...(id !== undefined && { id }),
    ...(digest !== undefined && { digest }),
    ...(discardsLost === true && { discard: true }),
  };
  return JSON.stringify(line);
}

/**
 * @throws Error if it is not such a line
 */
export function readLine(text: string): JournalEntry {
  const tenant = readTenantLine(text);
  if (tenant !== undefined) return tenant;
  const line = parseLine(text);
  const { version, at: atMs, put = [], delete: deleted = [], audit = [], penalties = [], id, digest, discard } = line;
  if (!Number.isSafeInteger(version)) throw new Error('version is not a whole number');
  const changes = [
    ...deleted.map((key): LoggedChange => ({ key: readKeyText(key), version })),
    ...put.map((json): LoggedChange => {
      const record = readRecord(json);
      return { key: keyOf(record), version, record };
    }),
  ];
  return {
    version,
    atMs,
    changes,
    audit: audit.map(auditFromJson),
    ...(penalties.length > 0 && { penalties: penalties.map(auditFromJson) }),
    id,
    digest,
    discardsLost: discard,
  };
}

/** One tenant without an audit entry, as most lines of a replaced file are. */
const TENANT_LINE = /^\{"version":(\d{1,15}|[1-8]\d{15}),"at":(\d{1,15}),"put":\[(\{.*\})\]\}$/;

/** Undefined: it is another line. */
function readTenantLine(text: string): JournalEntry | undefined {
  const [, version, atMs, put = ''] = TENANT_LINE.exec(text) ?? [];
  const record = readTenantText(put);
  if (record === undefined) return undefined;
  return { version: Number(version), atMs: Number(atMs), changes: [{ key: keyOf(record), version: Number(version), record }], audit: [] };
}

function parseLine(text: string): Line {
  try {
    return JSON.parse(text) as Line;
  } catch {
    throw new Error('it is not JSON');
  }
}
