/** Writes the arguments of the control scripts, and reads their replies. */

import { readList } from '../../store/redis/client/read-reply';
import { asError } from '../../../lib/errors';
import { ReplyError } from '../../store/redis/client/reply-error';
import {
  CONTROL_KINDS,
  fieldOf,
  parseField,
  keyOf,
  type ControlKind,
  type ControlRecord,
  type RecordBounds,
  type RecordKey,
  type StoredRecord,
} from '../control-record';
import {
  AUDIT_MAX,
  AUDIT_RECORD_BYTES_MAX,
  logEntriesMax,
  PENALTY_TRAIL_MAX,
  PENALTY_TRAIL_RECORD_BYTES_MAX,
  WRITE_ID_MS,
  type AuditEntry,
  type ControlChange,
  type ControlWrite,
  type Expectation,
  type LogAnswer,
  type LoggedChange,
  type ScanPage,
  type UnreadableRecord,
  type WriteOutcome,
} from '../control-store';
import { fromText, toText } from '../read-record';
import { CHILDREN_MAX, TREE_PROBLEMS } from '../tenants/tenant-tree';
import { TENANT_LEVELS_MAX } from '../../../domain/rule/pool';

/** Called with a record that this version of Weir cannot read. It is ignored. */
export type OnUnreadable = (record: UnreadableRecord) => void;

/** The code of blocks by penalties, where others are those of kinds. */
const OF_PENALTIES = CONTROL_KINDS.length + 1;

const NOTHING_WRITTEN = '-';

/** Entries of the change log that are read at once: at most a thousand changes. */
export const LOG_ENTRIES_AT_ONCE = 20;

export function keyOfChange(change: ControlChange): RecordKey {
  return 'put' in change ? keyOf(change.put) : change.delete;
}

export interface WriteArguments {
  readonly epoch: string;
  readonly digest: string;
  readonly discardsLost: boolean;
  readonly bounds: RecordBounds;
}

export function encodeWrite(
  { changes, audit, dryRun = false, trail, base }: ControlWrite,
  { epoch, digest, discardsLost, bounds }: WriteArguments,
): string[] {
  const { author, action, reason = '', details = '' } = audit;
  const encoded = changes.map(encodeChange);
  const bytes = encoded.reduce((sum, [, field = '', , , text = '']) => sum + field.length + Buffer.byteLength(text), 0);
  return [
    epoch,
    dryRun ? '1' : '0',
    discardsLost ? '1' : '0',
    digest,
    String(WRITE_ID_MS),
    String(logEntriesMax(bytes, bounds)),
    String(trail === 'penalties' ? PENALTY_TRAIL_MAX : AUDIT_MAX),
    String(trail === 'penalties' ? PENALTY_TRAIL_RECORD_BYTES_MAX : AUDIT_RECORD_BYTES_MAX),
    author,
    action,
    reason,
    details,
    ...CONTROL_KINDS.map((kind) => String(bounds.records[kind])),
    String(bounds.penalties),
    base === undefined ? '' : baseText(base),
    String(TENANT_LEVELS_MAX),
    String(CHILDREN_MAX),
    ...encoded.flat(),
  ];
}

/** Data that were never written have no epoch. */
function baseText(base: NonNullable<ControlWrite['base']>): string {
  return base === 'empty' ? NOTHING_WRITTEN : `${base.epoch} ${base.version}`;
}

function encodeChange(change: ControlChange): string[] {
  const key = keyOfChange(change);
  const untilMs = 'put' in change ? change.put.untilMs : undefined;
  return [
    codeOf(key.kind),
    fieldOf(key),
    expectationText(change.expect ?? 'any'),
    untilMs === undefined ? '' : String(untilMs),
    'put' in change ? toText(change.put) : '',
  ];
}

function expectationText(expect: Expectation): string {
  if (expect === 'any') return '*';
  if (expect === 'absent') return '-';
  if (expect === 'lost') return '!';
  return typeof expect === 'number' ? `=${expect}` : `<${expect.restores}`;
}

/** In the scripts, kinds are numbers from 1. */
function codeOf(kind: ControlKind): string {
  return String(CONTROL_KINDS.indexOf(kind) + 1);
}

/**
 * @throws ReplyError if it is not an outcome of the write
 */
export function decodeWrite(reply: unknown, { changes }: ControlWrite, bounds: RecordBounds): WriteOutcome {
  const [kind, ...values] = readList(reply);
  if (kind === 'reused') return { kind: 'id_reused' };
  if (kind === 'moved') return { kind };
  if (kind === 'repeated') {
    const effects = changes.map((change) => ({ key: keyOfChange(change), ...afterOf(change), isChanged: false }));
    return { kind: 'written', version: readVersion(values[0]), effects, isRepeated: true };
  }
  if (kind === 'tree') {
    const [index, problem, count] = [Number(values[0]) - 1, TREE_PROBLEMS.find((known) => known === values[1]), Number(values[2])];
    if (changes[index] === undefined || problem === undefined) throw new ReplyError('it names no change or problem of the write');
    return { kind, index, problem, count };
  }
  if (kind === 'full') {
    const code = Number(values[0]);
    if (code === OF_PENALTIES) return { kind, of: 'block', max: bounds.penalties };
    const of = CONTROL_KINDS[code - 1];
    if (of === undefined) throw new ReplyError('it names no kind of record');
    return { kind, of, max: bounds.records[of] };
  }
  if (kind === 'conflict') {
    const index = Number(values[0]) - 1;
    if (changes[index] === undefined) throw new ReplyError('it names no change of the write');
    const current = toStored(readText(values[1]));
    return { kind, index, ...(current && { current }) };
  }
  if (kind !== 'written' || values.length !== 1 + 2 * changes.length) throw new ReplyError('it is not the outcome of a write');
  const effects = changes.map((change, i) => {
    const before = toStored(readText(values[2 + 2 * i]));
    return { key: keyOfChange(change), ...(before && { before }), ...afterOf(change), isChanged: values[1 + 2 * i] === 1 };
  });
  return { kind, version: readVersion(values[0]), effects, isRepeated: false };
}

function afterOf(change: ControlChange): { readonly after?: ControlRecord } {
  return 'put' in change ? { after: change.put } : {};
}

/**
 * @throws ReplyError if it is not an answer of the log
 */
export function decodeChanges(reply: unknown, onUnreadable: OnUnreadable): LogAnswer {
  const [now, discarded, missing, kind, epoch, version, more, entries] = readList(reply);
  const head = { nowUs: readVersion(now), discardedUpTo: readVersion(discarded), missing: readVersion(missing) };
  if (kind === 'empty') return { ...head, kind };
  if (typeof epoch !== 'string') throw new ReplyError('it has no epoch');
  const position = { epoch, version: readVersion(version) };
  if (kind === 'gap') return { ...head, kind, position, common: more === 'inf' ? Infinity : readVersion(more) };
  if (kind !== 'changes') throw new ReplyError('it is not an answer of the change log');
  return { ...head, kind, position, isLast: more === 1, changes: readList(entries).flatMap((entry) => readLogEntry(entry, onUnreadable)) };
}

function readLogEntry(entry: unknown, onUnreadable: OnUnreadable): LoggedChange[] {
  const { id, pairs } = readStreamEntry(entry);
  const version = readVersion(id.replace(/-\d+$/, ''));
  return pairs.flatMap(([member, text]): LoggedChange[] => {
    const key = readMember(member);
    if (key === undefined) return [];
    if (text === '') return [{ key, version }];
    const read = readRecordText(text);
    if ('record' in read) return [{ key, version, record: read.record }];
    onUnreadable({ kind: key.kind, key, problem: read.problem });
    return [{ key, version, unreadable: read.problem }];
  });
}

/** The records with these keys; undefined for a key without one. */
export function decodeRecords(reply: unknown, keys: readonly RecordKey[], onUnreadable: OnUnreadable): (StoredRecord | undefined)[] {
  return readList(reply).map((value, i) => {
    const text = readText(value);
    const key = keys[i];
    if (text === '' || key === undefined) return undefined;
    const read = readStored(text);
    if ('record' in read) return read;
    onUnreadable({ kind: key.kind, key, problem: read.problem });
    return undefined;
  });
}

/** A page, and whether it has records that were not readable. */
export interface DecodedScan extends ScanPage {
  readonly isUnreadable: boolean;
}

/**
 * @throws ReplyError if it is not a page of a scan
 */
export function decodeScan(reply: unknown): DecodedScan {
  const [cursor, text] = readList(reply);
  if (typeof cursor !== 'string') throw new ReplyError('it has no cursor');
  if (typeof text !== 'string') throw new ReplyError('a page of records is not a text');
  const records: StoredRecord[] = [];
  let isUnreadable = false;
  // JSON writes no line feed, so one separates records.
  for (let at = 0; at < text.length;) {
    const feed = text.indexOf('\n', at);
    const end = feed < 0 ? text.length : feed;
    const stored = toStored(text.slice(at, end));
    if (stored !== undefined) records.push(stored);
    else isUnreadable = true;
    at = end + 1;
  }
  return { records, isUnreadable, ...(cursor !== '0' && { next: cursor }) };
}

/**
 * The same page with fields. It names the records that are not readable.
 *
 * @throws ReplyError if it is not such a page
 */
export function decodeFields(reply: unknown, kind: ControlKind): ScanPage {
  const [cursor, ...values] = readList(reply).map(readText);
  const records: StoredRecord[] = [];
  const unreadable: UnreadableRecord[] = [];
  for (let i = 0; i + 1 < values.length; i += 2) {
    const [field = '', text = ''] = [values[i], values[i + 1]];
    const read = readStored(text);
    if ('record' in read) records.push(read);
    else {
      const names = parseField(field);
      unreadable.push({ kind, ...(names && { key: { kind, ...names } }), problem: read.problem });
    }
  }
  return { records, unreadable, ...(cursor !== undefined && cursor !== '0' && { next: cursor }) };
}

export function decodeAudit(reply: unknown): AuditEntry[] {
  return readList(reply).map((entry): AuditEntry => {
    const { id, pairs } = readStreamEntry(entry);
    const fields = new Map(pairs);
    const key = readMember(fields.get('key') ?? '');
    const record = (name: string) => {
      const read = readRecordText((fields.get(name) ?? '').replace(/^\d+ /, ''));
      return 'record' in read ? read.record : undefined;
    };
    const [before, after] = [record('before'), record('after')];
    const [reason = '', details = ''] = [fields.get('reason'), fields.get('details')];
    return {
      id,
      atMs: Number(id.split('-')[0]),
      author: fields.get('author') ?? '',
      action: fields.get('action') ?? '',
      ...(reason !== '' && { reason }),
      ...(details !== '' && { details }),
      ...(key && { key }),
      ...(before && { before }),
      ...(after && { after }),
    };
  });
}

function readStreamEntry(entry: unknown): { readonly id: string; readonly pairs: (readonly [string, string])[] } {
  const [id, values] = readList(entry);
  if (typeof id !== 'string') throw new ReplyError('an entry of a stream has no id');
  const texts = readList(values).map(String);
  const pairs: (readonly [string, string])[] = [];
  for (let i = 0; i + 1 < texts.length; i += 2) pairs.push([texts[i] ?? '', texts[i + 1] ?? '']);
  return { id, pairs };
}

/** Undefined: it names no record. */
function readMember(member: string): RecordKey | undefined {
  const kind = CONTROL_KINDS[Number(member.slice(0, 1)) - 1];
  const names = parseField(member.slice(2));
  return kind === undefined || names === undefined ? undefined : { kind, ...names };
}

/** The part that a record lacks so that it cannot be read. */
interface Unread {
  readonly problem: string;
}

function readStored(text: string): StoredRecord | Unread {
  const space = text.indexOf(' ');
  const version = toVersion(text.slice(0, Math.max(space, 0)));
  if (version === undefined) return { problem: 'its version is not a whole number' };
  const read = readRecordText(text.slice(space + 1));
  return 'record' in read ? { record: read.record, version } : read;
}

/** Undefined: there is none, or it cannot be read. */
function toStored(text: string): StoredRecord | undefined {
  const read = readStored(text);
  return 'record' in read ? read : undefined;
}

function readRecordText(text: string): { readonly record: ControlRecord } | Unread {
  try {
    return { record: fromText(text) };
  } catch (error) {
    return { problem: asError(error).message };
  }
}

function readText(value: unknown): string {
  if (typeof value !== 'string') throw new ReplyError('a record is not a text');
  return value;
}

function readVersion(value: unknown): number {
  const version = typeof value === 'string' ? toVersion(value) : undefined;
  if (version === undefined) throw new ReplyError('a version is not a whole number');
  return version;
}

function toVersion(text: string): number | undefined {
  const version = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
  return Number.isSafeInteger(version) ? version : undefined;
}
