/** The port of control data: what a store of records must be able to do. */

import type { ControlKind, ControlRecord, RecordBounds, RecordKey, StoredRecord } from './control-record';
import type { TreeProblem } from './tenants/tenant-tree';

/** Most changes of one write. */
export const CHANGES_MAX = 50;

/** Most audit entries that a store keeps; the oldest are dropped. */
export const AUDIT_MAX = 50_000;

/** Most entries of the trail of penalties that a store keeps; the oldest are dropped. */
export const PENALTY_TRAIL_MAX = 5_000;

/** Most bytes of a record in an entry of the audit log, and of the trail of penalties, whose records come from requests. Longer ones are left out. */
export const AUDIT_RECORD_BYTES_MAX = 262_144;
export const PENALTY_TRAIL_RECORD_BYTES_MAX = 2_048;

/** Ended records stay in a store for this long, in milliseconds: a clock that stepped forward and back has ended none of them. */
export const ENDED_GRACE_MS = 86_400_000;

/** Ended records that a write removes at once, and how often it does so before a kind counts as full. */
export const REMOVED_AT_ONCE = 200;
export const FULL_ROUNDS = 5;

/** Most writes in the change log, for followers that were away; one that was away for longer reads everything again. */
const LOG_MAX = 10_000;

/** Fewest writes in the change log: a follower that reads every second still finds them. */
const LOG_MIN = 20;

/**
 * How many writes the change log keeps after one of `bytes`, with `logBytes` of STORE_BOUNDS. So at most logBytes / s writes of s bytes or
 * more are in it, for every s, and all of them together have at most logBytes x (1 + ln(LOG_MAX x largest / logBytes)) bytes.
 */
export function logEntriesMax(bytes: number, { logBytes }: Pick<RecordBounds, 'logBytes'>): number {
  return Math.max(LOG_MIN, Math.min(LOG_MAX, Math.floor(logBytes / Math.max(1, bytes))));
}

/** For how long the id of a write is remembered, in milliseconds. */
export const WRITE_ID_MS = 3_600_000;

/**
 * The state of the present record that a change requires. `any`: nothing. `lost`: nothing, and followers learn of a deletion although the
 * store has no record to delete, because they may keep one that it lost. `absent`: there is none. A number: it has this version (If-Match).
 * `missing`: there is none, or its version is lower than `restores`; otherwise the change is skipped and the rest of the write goes on.
 */
export type Expectation = 'any' | 'absent' | 'lost' | number | { readonly restores: number };

export interface PutChange {
  readonly put: ControlRecord;
  /** Default: `any`. */
  readonly expect?: Expectation;
}

export interface DeleteChange {
  readonly delete: RecordKey;
  /** Default: `any`. Deleting a record that does not exist changes nothing. */
  readonly expect?: Expectation;
}

export type ControlChange = PutChange | DeleteChange;

/** Who wrote, and why. */
export interface AuditNote {
  /** Who: the name of a token, or the subject of a JWT. */
  readonly author: string;
  /** A word for what was done: `put`, `delete`, `restore`, `credit`, `reset`. */
  readonly action: string;
  readonly reason?: string;
  /** JSON: what was done, for actions that change no record and for writes of many records, which then have one entry. */
  readonly details?: string;
}

/** All changes of a write are made, or none. Without changes only the audit entry is written. */
export interface ControlWrite {
  readonly changes: readonly ControlChange[];
  readonly audit: AuditNote;
  /** A repeated write with this id changes nothing and gets the outcome of the first one. At most 64 characters of `[A-Za-z0-9._-]`. */
  readonly id?: string;
  /** Says what would change, and changes nothing. */
  readonly dryRun?: boolean;
  /** Where the audit entry goes. Absent: to the audit log. */
  readonly trail?: AuditTrail;
  /** The write is made only if the data are at this position; `empty`: if nothing was ever written. Absent: wherever they are. */
  readonly base?: Position | 'empty';
}

/** `penalties`: blocks that rules wrote. They have a trail of their own, so that requests never displace what people did. */
export type AuditTrail = 'penalties';

/** The effect of one change. */
export interface ChangeEffect {
  readonly key: RecordKey;
  readonly before?: StoredRecord;
  readonly after?: ControlRecord;
  /** False: the change found its result there already, or a restore was not needed. */
  readonly isChanged: boolean;
}

export type WriteOutcome =
  /** `version` is that of all changed records. `isRepeated`: a write with this id was made before. */
  | { readonly kind: 'written'; readonly version: number; readonly effects: readonly ChangeEffect[]; readonly isRepeated: boolean }
  /** The record at this index of the changes is not as expected. */
  | { readonly kind: 'conflict'; readonly index: number; readonly current?: StoredRecord }
  /** The store has `max` records of that kind, or blocks by penalties. */
  | { readonly kind: 'full'; readonly of: ControlKind; readonly max: number }
  /** The change at this index would leave no tree of tenants. */
  | { readonly kind: 'tree'; readonly index: number; readonly problem: TreeProblem; readonly count: number }
  /** The data are not at the `base` of the write. */
  | { readonly kind: 'moved' }
  /** The id was used for another write. */
  | { readonly kind: 'id_reused' };

export interface AuditEntry extends AuditNote {
  /** Ordered like the entries. */
  readonly id: string;
  readonly atMs: number;
  /** Absent: the entry concerns no record. */
  readonly key?: RecordKey;
  readonly before?: ControlRecord;
  readonly after?: ControlRecord;
}

export interface AuditQuery {
  /** Absent: the audit log. */
  readonly trail?: AuditTrail;
  readonly order: 'newest' | 'oldest';
  /** Continues after the entry with this id. */
  readonly after?: string;
  /** At most 1,000. */
  readonly limit: number;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** For `after`; absent: this page is the last. */
  readonly next?: string;
}

export interface ScanQuery {
  readonly kind: ControlKind;
  /** Absent: from the beginning. */
  readonly cursor?: string;
  /** About how many records a page has, at most 1,000. */
  readonly limit: number;
}

/** Every record that exists during the whole scan is on at least one page, in no order. */
export interface ScanPage {
  readonly records: readonly StoredRecord[];
  /** Records that this version of Weir cannot read. Absent: it can read all. */
  readonly unreadable?: readonly UnreadableRecord[];
  /** Absent: this page is the last. */
  readonly next?: string;
}

/** A record that was damaged, or written by a newer version of Weir. */
export interface UnreadableRecord {
  readonly kind: ControlKind;
  /** Absent: its key is unreadable, too. */
  readonly key?: RecordKey;
  readonly problem: string;
}

/** Where a follower is in the change log. */
export interface Position {
  /** Random, made with the first write: another one means that the store lost its data. */
  readonly epoch: string;
  readonly version: number;
}

/** A change as the log has it. */
export interface LoggedChange {
  readonly key: RecordKey;
  readonly version: number;
  /** Absent: deleted. */
  readonly record?: ControlRecord;
  /** Why this version of Weir cannot read the record that was put; it is then absent. */
  readonly unreadable?: string;
}

export type LogStep =
  /** Nothing was ever written, or the store lost everything. */
  | { readonly kind: 'empty' }
  /** The changes after the position, perhaps none; `isLast`: more changes have not been written yet. */
  | { readonly kind: 'changes'; readonly changes: readonly LoggedChange[]; readonly position: Position; readonly isLast: boolean }
  /**
   * The log does not continue the position: read everything, then follow from `position`. `common`: the store and the follower agree up
   * to this version; records of the follower with a later version were acknowledged and are lost in the store. `Infinity`: the log
   * was only trimmed. 0: the store began again.
   */
  | { readonly kind: 'gap'; readonly position: Position; readonly common: number };

export type LogAnswer = LogStep & {
  /** The store's clock, in microseconds since 1970. */
  readonly nowUs: number;
  /** Records of followers that the store lost are dropped up to this version, as an operator decided. */
  readonly discardedUpTo: number;
  /** Records that the store lacks of those that the last write left there. */
  readonly missing: number;
};

/** Rejects with a StoreError if the store cannot answer. */
export interface ControlStore {
  read(keys: readonly RecordKey[]): Promise<readonly (StoredRecord | undefined)[]>;
  scan(query: ScanQuery): Promise<ScanPage>;
  write(write: ControlWrite): Promise<WriteOutcome>;
  audit(query: AuditQuery): Promise<AuditPage>;
  /** The changes after a position. */
  changesAfter(position: Position | undefined): Promise<LogAnswer>;
  /** Lets all followers drop the records that the store lost. */
  discardLost(audit: AuditNote): Promise<void>;
  close(): Promise<void>;
}
