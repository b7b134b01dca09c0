/** Control data of one process, in memory, and in a journal if it has one. Twin of `lua/control-write.lua` and `lua/control-read.lua`. */

import { createHash, randomUUID } from 'node:crypto';
import {
  CONTROL_KINDS,
  fieldOf,
  keyOf,
  RECORDS_MAX,
  type ControlKind,
  type ControlRecord,
  type RecordKey,
  type StoredRecord,
} from './control-record';
import {
  AUDIT_MAX,
  LOG_MAX,
  WRITE_ID_MS,
  type AuditEntry,
  type AuditNote,
  type AuditPage,
  type AuditQuery,
  type ChangeEffect,
  type ControlChange,
  type ControlStore,
  type ControlWrite,
  type Expectation,
  type LogAnswer,
  type LoggedChange,
  type Position,
  type ScanPage,
  type ScanQuery,
  type WriteOutcome,
} from './control-store';
import { ExpiryQueue, type Expiry } from '../lib/expiry-queue';
import { fromText, toText } from './read-record';
import { ShardedMap } from './sharded-map';

/** A record as text, which takes a third of the memory of an object. */
interface KeptRecord {
  readonly text: string;
  readonly version: number;
  readonly expiry: Expiry<RecordKey> | undefined;
}

interface LogEntry {
  readonly version: number;
  readonly changes: readonly LoggedChange[];
}

/** A write that is to be made, as a journal keeps it. */
export interface JournalEntry {
  readonly version: number;
  readonly atMs: number;
  readonly changes: readonly LoggedChange[];
  readonly audit: readonly AuditEntry[];
  readonly id?: string | undefined;
  readonly digest?: string | undefined;
  readonly discardsLost?: boolean | undefined;
}

export interface Journal {
  /** Resolves when the entry is safe. Rejects if it could not be kept: then nothing is. */
  append(entry: JournalEntry): Promise<void>;
  close(): Promise<void>;
}

export interface LocalControlStoreOptions {
  /** Microseconds since 1970. */
  readonly nowUs: () => number;
  readonly journal?: Journal;
  readonly epoch?: string;
  /** Called after each write. */
  readonly onWritten?: () => void;
}

/** The id of a write, and what it wrote. */
interface Remembered {
  readonly digest: string;
  readonly version: number;
  readonly atMs: number;
}

/** Ids of writes that are remembered at most. */
const WRITE_IDS_MAX = 10_000;

/** Entries that a step of the log has at most. */
const LOG_ENTRIES_AT_ONCE = 20;

const US_PER_MS = 1_000;

export class LocalControlStore implements ControlStore {
  readonly epoch: string;
  private readonly records: Readonly<Record<ControlKind, ShardedMap<KeptRecord>>> = {
    tenant: new ShardedMap(),
    plan: new ShardedMap(),
    override: new ShardedMap(),
    block: new ShardedMap(),
    pass: new ShardedMap(),
  };
  private readonly expiries = new ExpiryQueue<RecordKey>();
  private log: LogEntry[] = [];
  private auditLog: AuditEntry[] = [];
  private readonly writeIds = new Map<string, Remembered>();
  private version = 0;
  private discardedUpTo = 0;
  private queue: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: LocalControlStoreOptions) {
    this.epoch = options.epoch ?? randomUUID();
  }

  get auditEntries(): readonly AuditEntry[] {
    return this.auditLog;
  }

  read(keys: readonly RecordKey[]): Promise<readonly (StoredRecord | undefined)[]> {
    return Promise.resolve(keys.map((key) => this.stored(key)));
  }

  scan({ kind, cursor = '0', limit }: ScanQuery): Promise<ScanPage> {
    const from = Number(cursor);
    const records: StoredRecord[] = [];
    let at = from;
    // Whole shards, so that no change moves a record past the cursor.
    while (at < this.records[kind].shardCount && records.length < limit) {
      for (const { text, version } of this.records[kind].shard(at)) records.push({ record: fromText(text), version });
      at += 1;
    }
    return Promise.resolve({ records, ...(at < this.records[kind].shardCount && { next: String(at) }) });
  }

  write(write: ControlWrite): Promise<WriteOutcome> {
    return this.enqueue(() => this.make(write, { discardsLost: false }));
  }

  async discardLost(audit: AuditNote): Promise<void> {
    await this.enqueue(() => this.make({ changes: [], audit }, { discardsLost: true }));
  }

  audit({ order, after, limit }: AuditQuery): Promise<AuditPage> {
    const ordered = order === 'oldest' ? this.auditLog : this.auditLog.toReversed();
    const from = after === undefined ? 0 : ordered.findIndex(({ id }) => (order === 'oldest' ? isBefore(after, id) : isBefore(id, after)));
    if (from < 0) return Promise.resolve({ entries: [] });
    const entries = ordered.slice(from, from + limit);
    const last = entries.at(-1);
    return Promise.resolve({ entries, ...(from + limit < ordered.length && last && { next: last.id }) });
  }

  changesAfter(position: Position | undefined): Promise<LogAnswer> {
    const { version, epoch, log, discardedUpTo } = this;
    const head = { nowUs: this.options.nowUs(), discardedUpTo };
    const current = { epoch, version };
    if (version === 0) return Promise.resolve({ ...head, kind: 'empty' });
    if (position?.epoch !== epoch) return Promise.resolve({ ...head, kind: 'gap', position: current, common: 0 });
    if (position.version === version) return Promise.resolve({ ...head, kind: 'changes', changes: [], position: current, isLast: true });
    const at = log.findIndex((entry) => entry.version === position.version);
    if (at < 0) return Promise.resolve({ ...head, kind: 'gap', position: current, common: this.commonVersion(position.version) });
    const entries = log.slice(at + 1, at + 1 + LOG_ENTRIES_AT_ONCE);
    const last = entries.at(-1)?.version ?? version;
    return Promise.resolve({
      ...head,
      kind: 'changes',
      changes: entries.flatMap(({ changes }) => changes),
      position: { epoch, version: last },
      isLast: last === version,
    });
  }

  async close(): Promise<void> {
    await this.queue;
    await this.options.journal?.close();
  }

  /** Applies an entry of the journal. */
  load({ version, atMs, changes, audit, id, digest, discardsLost }: JournalEntry): void {
    for (const { key, record, version: ofRecord } of changes) {
      const field = fieldOf(key);
      const before = this.records[key.kind].get(field);
      if (before?.expiry !== undefined) this.expiries.remove(before.expiry);
      if (record === undefined) this.records[key.kind].delete(field);
      else {
        const expiry = record.untilMs === undefined ? undefined : this.expiries.add(record.untilMs, key);
        this.records[key.kind].set(field, { text: toText(record), version: ofRecord, expiry });
      }
    }
    this.version = Math.max(this.version, version);
    if (discardsLost === true) this.discardedUpTo = version;
    if (changes.length > 0 || discardsLost === true) this.log.push({ version, changes });
    for (const entry of audit) this.auditLog.push(entry);
    // Dropped in portions, because each costs a copy.
    if (this.log.length > 2 * LOG_MAX) this.log = this.log.slice(-LOG_MAX);
    if (this.auditLog.length > AUDIT_MAX * 1.25) this.auditLog = this.auditLog.slice(-AUDIT_MAX);
    if (id !== undefined && digest !== undefined) this.remember(id, { digest, version, atMs });
  }

  /** All records, for a journal that writes a new file. */
  *keptRecords(): Generator<{ readonly text: string; readonly version: number }> {
    for (const kind of CONTROL_KINDS) yield* this.records[kind].values();
  }

  get size(): number {
    return CONTROL_KINDS.reduce((sum, kind) => sum + this.records[kind].size, 0);
  }

  /** How far the log and a position that it does not contain agree. */
  private commonVersion(position: number): number {
    const { log, version } = this;
    return log.findLast((entry) => entry.version < position)?.version ?? (version < position ? version : Infinity);
  }

  private enqueue<T>(work: () => Promise<T>): Promise<T> {
    const done = this.queue.then(work);
    this.queue = done.catch(() => undefined);
    return done;
  }

  private async make(write: ControlWrite, { discardsLost }: { readonly discardsLost: boolean }): Promise<WriteOutcome> {
    const { changes, audit, id, dryRun = false } = write;
    const nowUs = this.options.nowUs();
    const atMs = Math.floor(nowUs / US_PER_MS);
    const digest = createHash('sha256')
      .update(JSON.stringify([changes, audit.action, audit.details]))
      .digest('hex');
    const known = id === undefined || dryRun ? undefined : this.writeIds.get(id);
    if (known !== undefined && atMs - known.atMs < WRITE_ID_MS)
      return known.digest === digest ? repeated(changes, known.version) : { kind: 'id_reused' };
    const effects: ChangeEffect[] = [];
    for (const [index, change] of changes.entries()) {
      const key = 'put' in change ? keyOf(change.put) : change.delete;
      const before = this.current(key, atMs);
      const isMet = isExpected(change.expect ?? 'any', before?.version);
      if (!isMet && typeof change.expect !== 'object') return { kind: 'conflict', index, ...(before && { current: before }) };
      const after = 'put' in change ? change.put : undefined;
      const isSame = after === undefined ? before === undefined : before !== undefined && toText(before.record) === toText(after);
      effects.push({ key, ...(before && { before }), ...(after && { after }), isChanged: isMet && !isSame });
    }
    const full = this.fullKind(effects);
    if (full !== undefined) return { kind: 'full', of: full, max: RECORDS_MAX[full] };
    const changed = effects.filter(({ isChanged }) => isChanged);
    const isLogged = changed.length > 0 || discardsLost;
    const version = isLogged ? Math.max(nowUs, this.version + 1) : this.version;
    const outcome: WriteOutcome = { kind: 'written', version, effects, isRepeated: false };
    if (dryRun) return outcome;
    const made = changed.map(({ key, after }): LoggedChange => ({ key, version, ...(after && { record: after }) }));
    const ended = isLogged ? this.ended(atMs, made) : [];
    const entry: JournalEntry = {
      version,
      atMs,
      changes: [...ended.map((key) => ({ key, version })), ...made],
      audit: this.auditOf(changed, { audit, atMs }),
      ...(id !== undefined && { id, digest }),
      ...(discardsLost && { discardsLost }),
    };
    await this.options.journal?.append(entry);
    this.load(entry);
    this.options.onWritten?.();
    return outcome;
  }

  /** The key of a record that has ended and that no change of this write puts. */
  private ended(nowMs: number, made: readonly LoggedChange[]): RecordKey[] {
    const { first } = this.expiries;
    if (first === undefined || first.until > nowMs) return [];
    const isChanged = made.some(({ key }) => key.kind === first.key.kind && fieldOf(key) === fieldOf(first.key));
    return isChanged ? [] : [first.key];
  }

  private auditOf(changed: readonly ChangeEffect[], { audit, atMs }: { readonly audit: AuditNote; readonly atMs: number }): AuditEntry[] {
    const entries =
      changed.length === 0
        ? [{}]
        : changed.map(({ key, before, after }) => ({ key, ...(before && { before: before.record }), ...(after && { after }) }));
    const last = this.auditLog.at(-1)?.id.split('-').map(Number) ?? [0, 0];
    let [ms = 0, number = 0] = last;
    return entries.map((entry) => {
      [ms, number] = atMs > ms ? [atMs, 0] : [ms, number + 1];
      return { id: `${ms}-${number}`, atMs, ...audit, ...entry };
    });
  }

  private fullKind(effects: readonly ChangeEffect[]): ControlKind | undefined {
    return CONTROL_KINDS.find((kind) => {
      const added = effects
        .filter(({ key, isChanged }) => isChanged && key.kind === kind)
        .reduce((sum, { before, after }) => sum + Number(after !== undefined) - Number(before !== undefined), 0);
      return added > 0 && this.records[kind].size + added > RECORDS_MAX[kind];
    });
  }

  private stored(key: RecordKey): StoredRecord | undefined {
    const kept = this.records[key.kind].get(fieldOf(key));
    return kept && { record: fromText(kept.text), version: kept.version };
  }

  /** Undefined also for a record that has ended. */
  private current(key: RecordKey, nowMs: number): StoredRecord | undefined {
    const stored = this.stored(key);
    return stored === undefined || (stored.record.untilMs ?? Infinity) <= nowMs ? undefined : stored;
  }

  private remember(id: string, remembered: Remembered): void {
    this.writeIds.delete(id);
    this.writeIds.set(id, remembered);
    if (this.writeIds.size <= WRITE_IDS_MAX) return;
    const [oldest] = this.writeIds.keys();
    if (oldest !== undefined) this.writeIds.delete(oldest);
  }
}

function isExpected(expect: Expectation, version: number | undefined): boolean {
  if (expect === 'any') return true;
  if (expect === 'absent') return version === undefined;
  return typeof expect === 'number' ? version === expect : version === undefined || version < expect.restores;
}

function repeated(changes: readonly ControlChange[], version: number): WriteOutcome {
  const effects = changes.map((change): ChangeEffect => {
    const after: ControlRecord | undefined = 'put' in change ? change.put : undefined;
    return { key: 'put' in change ? keyOf(change.put) : change.delete, ...(after && { after }), isChanged: false };
  });
  return { kind: 'written', version, effects, isRepeated: true };
}

/** Compares two ids of audit entries. */
function isBefore(one: string, other: string): boolean {
  const [ofOne, ofOther] = [one, other].map((id) => id.split('-').map(Number));
  const [ms = 0, number = 0] = ofOne ?? [];
  const [otherMs = 0, otherNumber = 0] = ofOther ?? [];
  return ms < otherMs || (ms === otherMs && number < otherNumber);
}
