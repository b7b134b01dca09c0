/** Control data of one process, in memory, and in a journal if it has one. Twin of `lua/control-write.lua` and `lua/control-read.lua`. */

import { randomUUID } from 'node:crypto';
import {
  CONTROL_KINDS,
  fieldOf,
  isPenalty,
  keyOf,
  parentFieldOf,
  STORE_BOUNDS,
  type ControlKind,
  type ControlRecord,
  type RecordBounds,
  type RecordKey,
  type StoredRecord,
} from './control-record';
import {
  AUDIT_MAX,
  ENDED_GRACE_MS,
  FULL_ROUNDS,
  logEntriesMax,
  PENALTY_TRAIL_MAX,
  PENALTY_TRAIL_RECORD_BYTES_MAX,
  REMOVED_AT_ONCE,
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
import { AuditLog } from './audit-log';
import { ExpiryQueue, type Expiry } from '../../lib/expiry-queue';
import { fromText, toText } from './read-record';
import { ShardedMap } from './sharded-map';
import { digestOf } from './write-digest';
import { US_PER_MS } from '../../lib/time-units';
import { TenantTree, type TreeRefusal } from './tenants/tenant-tree';

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
  /** Entries of the trail of penalties. */
  readonly penalties?: readonly AuditEntry[] | undefined;
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
  /** Default: `STORE_BOUNDS`. */
  readonly bounds?: RecordBounds;
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

interface AuditInput {
  readonly audit: AuditNote;
  readonly atMs: number;
  readonly trail: ControlWrite['trail'];
}

interface AddedRecord extends ChangeEffect {
  /** A record is there, which may have ended. */
  readonly isThere: boolean;
}

/** A bound that a write would exceed. */
interface Full {
  readonly of: ControlKind;
  readonly max: number;
  /** Absent: it is the bound of the kind. */
  readonly ofPenalties?: true;
}

/** Ids of writes that are remembered at most. */
const WRITE_IDS_MAX = 10_000;

/** Entries that a step of the log has at most. */
const LOG_ENTRIES_AT_ONCE = 20;

export class LocalControlStore implements ControlStore {
  readonly epoch: string;
  private readonly bounds: RecordBounds;
  private readonly records: Readonly<Record<ControlKind, ShardedMap<KeptRecord>>> = {
    tenant: new ShardedMap(),
    plan: new ShardedMap(),
    override: new ShardedMap(),
    block: new ShardedMap(),
    pass: new ShardedMap(),
    rollout: new ShardedMap(),
  };
  private readonly expiries = new ExpiryQueue<RecordKey>();
  private log: LogEntry[] = [];
  private readonly trails = { audit: new AuditLog(AUDIT_MAX), penalties: new AuditLog(PENALTY_TRAIL_MAX) };
  /** The ends of blocks by penalties, by field. */
  private readonly penaltyEnds = new Map<string, number>();
  private readonly tree = new TenantTree();
  private readonly writeIds = new Map<string, Remembered>();
  private version = 0;
  private discardedUpTo = 0;
  private queue: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: LocalControlStoreOptions) {
    this.epoch = options.epoch ?? randomUUID();
    this.bounds = options.bounds ?? STORE_BOUNDS;
  }

  get auditEntries(): readonly AuditEntry[] {
    return this.trails.audit.entries;
  }

  get penaltyEntries(): readonly AuditEntry[] {
    return this.trails.penalties.entries;
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

  audit({ trail, ...query }: AuditQuery): Promise<AuditPage> {
    return Promise.resolve(this.trails[trail ?? 'audit'].page(query));
  }

  changesAfter(position: Position | undefined): Promise<LogAnswer> {
    const { version, epoch, log, discardedUpTo } = this;
    const head = { nowUs: this.options.nowUs(), discardedUpTo, missing: 0 };
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
  load({ version, atMs, changes, audit, penalties = [], id, digest, discardsLost }: JournalEntry): void {
    let bytes = 0;
    for (const { key, record, version: ofRecord } of changes) {
      this.remove(key);
      bytes += fieldOf(key).length;
      if (record === undefined) continue;
      if (record.kind === 'tenant') this.tree.link(fieldOf(key), parentFieldOf(record));
      const expiry = record.untilMs === undefined ? undefined : this.expiries.add(record.untilMs, key);
      const text = toText(record);
      bytes += text.length;
      this.records[key.kind].set(fieldOf(key), { text, version: ofRecord, expiry });
      if (isPenalty(key) && record.untilMs !== undefined) this.penaltyEnds.set(fieldOf(key), record.untilMs);
    }
    this.version = Math.max(this.version, version);
    if (discardsLost === true) this.discardedUpTo = version;
    if (changes.length > 0 || discardsLost === true) this.log.push({ version, changes });
    this.trails.audit.add(audit);
    this.trails.penalties.add(penalties);
    // Dropped in portions, because each costs a copy.
    const keptMax = logEntriesMax(bytes, this.bounds);
    if (this.log.length > 2 * keptMax) this.log = this.log.slice(-keptMax);
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
    const { changes, audit, id, dryRun = false, trail, base } = write;
    const nowUs = this.options.nowUs();
    const atMs = Math.floor(nowUs / US_PER_MS);
    const digest = digestOf(write);
    const known = id === undefined || dryRun ? undefined : this.writeIds.get(id);
    if (known !== undefined && atMs - known.atMs < WRITE_ID_MS)
      return known.digest === digest ? repeated(changes, known.version) : { kind: 'id_reused' };
    if (base !== undefined && !this.isAt(base)) return { kind: 'moved' };
    if (!dryRun) this.removeEnded(atMs - ENDED_GRACE_MS);
    const effects: ChangeEffect[] = [];
    for (const [index, change] of changes.entries()) {
      const key = 'put' in change ? keyOf(change.put) : change.delete;
      const before = this.current(key, atMs);
      const isMet = isExpected(change.expect ?? 'any', before?.version);
      if (!isMet && typeof change.expect !== 'object') return { kind: 'conflict', index, ...(before && { current: before }) };
      const after = 'put' in change ? change.put : undefined;
      const isSame =
        after === undefined
          ? before === undefined && change.expect !== 'lost'
          : before !== undefined && toText(before.record) === toText(after);
      effects.push({ key, ...(before && { before }), ...(after && { after }), isChanged: isMet && !isSame });
    }
    const refused = this.treeRefusal(effects);
    if (refused !== undefined) return { kind: 'tree', ...refused };
    const full = this.fullAfterRemoval(effects, { atMs, dryRun });
    if (full !== undefined) return { kind: 'full', of: full.of, max: full.max };
    const changed = effects.filter(({ isChanged }) => isChanged);
    const isLogged = changed.length > 0 || discardsLost;
    const version = isLogged ? Math.max(nowUs, this.version + 1) : this.version;
    const outcome: WriteOutcome = { kind: 'written', version, effects, isRepeated: false };
    if (dryRun) return outcome;
    const entry: JournalEntry = {
      version,
      atMs,
      changes: changed.map(({ key, after }): LoggedChange => ({ key, version, ...(after && { record: after }) })),
      audit: [],
      [trail ?? 'audit']: this.auditOf(changed, { audit, atMs, trail }),
      ...(id !== undefined && { id, digest }),
      ...(discardsLost && { discardsLost }),
    };
    await this.options.journal?.append(entry);
    this.load(entry);
    this.options.onWritten?.();
    return outcome;
  }

  private treeRefusal(effects: readonly ChangeEffect[]): TreeRefusal | undefined {
    const moved = [...effects.entries()].filter(([, { key, isChanged }]) => key.kind === 'tenant' && isChanged);
    const refusal = this.tree.refusalOf(
      moved.map(([, { key, after }]) => ({
        field: fieldOf(key),
        parent: after?.kind === 'tenant' ? parentFieldOf(after) : undefined,
        isDeleted: after === undefined,
      })),
    );
    return refusal && { ...refusal, index: moved[refusal.index]?.[0] ?? 0 };
  }

  /** Removes records that ended before a time, a bounded number; how many. No journal needs them: they have ended there, too. */
  private removeEnded(untilMs: number): number {
    let removed = 0;
    for (let { first } = this.expiries; first !== undefined && first.until <= untilMs; { first } = this.expiries) {
      if (removed === REMOVED_AT_ONCE) break;
      this.remove(first.key);
      removed += 1;
    }
    return removed;
  }

  private remove(key: RecordKey): void {
    const field = fieldOf(key);
    const before = this.records[key.kind].get(field);
    if (before?.expiry !== undefined) this.expiries.remove(before.expiry);
    this.records[key.kind].delete(field);
    if (isPenalty(key)) this.penaltyEnds.delete(field);
    if (key.kind === 'tenant') this.tree.link(field, undefined);
  }

  private isAt(base: NonNullable<ControlWrite['base']>): boolean {
    if (base === 'empty') return this.version === 0;
    return base.epoch === this.epoch && base.version === this.version;
  }

  private auditOf(changed: readonly ChangeEffect[], { audit, atMs, trail }: AuditInput): AuditEntry[] {
    const shown = (record: ControlRecord | undefined): ControlRecord | undefined =>
      trail === 'penalties' && record && Buffer.byteLength(toText(record)) > PENALTY_TRAIL_RECORD_BYTES_MAX ? undefined : record;
    const entries =
      changed.length === 0 || audit.details !== undefined
        ? [{}]
        : changed.map(({ key, before, after }) => {
            const [was, is] = [shown(before?.record), shown(after)];
            return { key, ...(was && { before: was }), ...(is && { after: is }) };
          });
    let id: string | undefined;
    return entries.map((entry) => {
      id = this.trails[trail ?? 'audit'].nextId(atMs, id);
      return { id, atMs, ...audit, ...entry };
    });
  }

  /** Undefined: there is room, after ended records have made it. */
  private fullAfterRemoval(
    effects: readonly ChangeEffect[],
    { atMs, dryRun }: { readonly atMs: number; readonly dryRun: boolean },
  ): Full | undefined {
    const added = effects
      .filter(({ isChanged }) => isChanged)
      .map((effect) => ({ ...effect, isThere: this.records[effect.key.kind].get(fieldOf(effect.key)) !== undefined }));
    let full = this.fullOf(added, atMs);
    for (let round = 0; round < FULL_ROUNDS && full !== undefined && !dryRun; round += 1) {
      const removed = this.removeEnded(atMs);
      full = this.fullOf(added, atMs);
      if (removed < REMOVED_AT_ONCE) break;
    }
    const { first } = this.expiries;
    // While more have ended than one write removes, what lives has room.
    return full?.ofPenalties === true || first === undefined || first.until > atMs ? full : undefined;
  }

  private fullOf(changed: readonly AddedRecord[], atMs: number): Full | undefined {
    const { records, penalties } = this.bounds;
    const of = CONTROL_KINDS.find((kind) => {
      const added = changed.reduce((sum, { key, after, isThere }) => sum + (key.kind === kind ? countOf(after) - Number(isThere) : 0), 0);
      return added > 0 && this.records[kind].size + added > records[kind];
    });
    if (of !== undefined) return { of, max: records[of] };
    const added = changed
      .filter(({ key }) => isPenalty(key))
      .reduce((sum, { key, after }) => sum + countOf(after) - Number((this.penaltyEnds.get(fieldOf(key)) ?? 0) > atMs), 0);
    if (added <= 0 || this.penaltyEnds.size + added <= penalties) return undefined;
    let live = 0;
    for (const untilMs of this.penaltyEnds.values()) live += Number(untilMs > atMs);
    return live + added > penalties ? { of: 'block', max: penalties, ofPenalties: true } : undefined;
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

function countOf(record: ControlRecord | undefined): number {
  return Number(record !== undefined);
}

function isExpected(expect: Expectation, version: number | undefined): boolean {
  if (expect === 'any' || expect === 'lost') return true;
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
