/** Writes the arguments of the control scripts, and reads their replies. */

import { readList } from '../../store/redis/client/read-reply';
import { ReplyError } from '../../store/port/store';
import {
  CONTROL_KINDS,
  fieldOf,
  parseField,
  RECORDS_MAX,
  type ControlKind,
  type ControlRecord,
  type RecordKey,
  type StoredRecord,
} from '../control-record';
import {
  AUDIT_MAX,
  LOG_MAX,
  WRITE_ID_MS,
  type AuditEntry,
  type ControlChange,
  type ControlWrite,
  type Expectation,
  type LogAnswer,
  type LoggedChange,
  type ScanPage,
  type WriteOutcome,
} from '../control-store';
import { keyOf } from '../control-record';
import { fromText, toText } from '../read-record';

/** Called with a record that this version of Weir cannot read. It is ignored. */
export type OnUnreadable = (error: unknown) => void;

/** Entries of the change log that are read at once: at most a thousand changes. */
export const LOG_ENTRIES_AT_ONCE = 20;

export function keyOfChange(change: ControlChange): RecordKey {
  return 'put' in change ? keyOf(change.put) : change.delete;
}

export interface WriteArguments {
  readonly epoch: string;
  readonly digest: string;
  readonly discardsLost: boolean;
}

export function encodeWrite({ changes, audit, dryRun = false }: ControlWrite, { epoch, digest, discardsLost }: WriteArguments): string[] {
  const { author, action, reason = '', details = '' } = audit;
  return [
    epoch,
    dryRun ? '1' : '0',
    discardsLost ? '1' : '0',
    digest,
    String(WRITE_ID_MS),
    String(LOG_MAX),
    String(AUDIT_MAX),
    author,
    action,
    reason,
    details,
    ...CONTROL_KINDS.map((kind) => String(RECORDS_MAX[kind])),
    ...changes.flatMap(encodeChange),
  ];
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
  return typeof expect === 'number' ? `=${expect}` : `<${expect.restores}`;
}

/** In the scripts, kinds are numbers from 1. */
function codeOf(kind: ControlKind): string {
  return String(CONTROL_KINDS.indexOf(kind) + 1);
}

/**
 * @throws ReplyError if it is not an outcome of the write
 */
export function decodeWrite(reply: unknown, { changes }: ControlWrite): WriteOutcome {
  const [kind, ...values] = readList(reply);
  if (kind === 'reused') return { kind: 'id_reused' };
  if (kind === 'repeated') {
    const effects = changes.map((change) => ({ key: keyOfChange(change), ...afterOf(change), isChanged: false }));
    return { kind: 'written', version: readVersion(values[0]), effects, isRepeated: true };
  }
  if (kind === 'full') {
    const of = CONTROL_KINDS[Number(values[0]) - 1];
    if (of === undefined) throw new ReplyError('it names no kind of record');
    return { kind, of, max: RECORDS_MAX[of] };
  }
  if (kind === 'conflict') {
    const index = Number(values[0]) - 1;
    if (changes[index] === undefined) throw new ReplyError('it names no change of the write');
    const current = readStored(values[1], ignore);
    return { kind, index, ...(current && { current }) };
  }
  if (kind !== 'written' || values.length !== 1 + 2 * changes.length) throw new ReplyError('it is not the outcome of a write');
  const effects = changes.map((change, i) => {
    const before = readStored(values[2 + 2 * i], ignore);
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
  const [now, discarded, kind, epoch, version, more, entries] = readList(reply);
  const head = { nowUs: readVersion(now), discardedUpTo: readVersion(discarded) };
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
    const record = readRecordText(text, onUnreadable);
    return record === undefined ? [] : [{ key, version, record }];
  });
}

export function decodeRecords(reply: unknown, onUnreadable: OnUnreadable): (StoredRecord | undefined)[] {
  return readList(reply).map((value) => readStored(value, onUnreadable));
}

/**
 * @throws ReplyError if it is not a page of a scan
 */
export function decodeScan(reply: unknown, onUnreadable: OnUnreadable): ScanPage {
  const [cursor, text] = readList(reply);
  if (typeof cursor !== 'string') throw new ReplyError('it has no cursor');
  if (typeof text !== 'string') throw new ReplyError('a page of records is not a text');
  const records: StoredRecord[] = [];
  // JSON writes no line feed, so one separates records.
  for (let at = 0; at < text.length;) {
    const feed = text.indexOf('\n', at);
    const end = feed < 0 ? text.length : feed;
    const stored = readStored(text.slice(at, end), onUnreadable);
    if (stored !== undefined) records.push(stored);
    at = end + 1;
  }
  return { records, ...(cursor !== '0' && { next: cursor }) };
}

export function decodeAudit(reply: unknown, onUnreadable: OnUnreadable): AuditEntry[] {
  return readList(reply).map((entry): AuditEntry => {
    const { id, pairs } = readStreamEntry(entry);
    const fields = new Map(pairs);
    const key = readMember(fields.get('key') ?? '');
    const record = (name: string) => {
      const text = fields.get(name) ?? '';
      return text === '' ? undefined : readRecordText(text.replace(/^\d+ /, ''), onUnreadable);
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

function readStored(value: unknown, onUnreadable: OnUnreadable): StoredRecord | undefined {
  if (typeof value !== 'string') throw new ReplyError('a record is not a text');
  if (value === '') return undefined;
  const space = value.indexOf(' ');
  const record = readRecordText(value.slice(space + 1), onUnreadable);
  return record && { record, version: readVersion(value.slice(0, space)) };
}

function readRecordText(text: string, onUnreadable: OnUnreadable): ControlRecord | undefined {
  try {
    return fromText(text);
  } catch (error) {
    onUnreadable(error);
    return undefined;
  }
}

function readVersion(value: unknown): number {
  const version = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : NaN;
  if (!Number.isSafeInteger(version)) throw new ReplyError('a version is not a whole number');
  return version;
}

function ignore(): void {
  // Only shown to an operator, who sees the record that is there now without it.
}
