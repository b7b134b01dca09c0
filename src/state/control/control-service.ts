/** The operations on control data: checked writes, and restores after a loss. */

import type { ControlData } from './control-data';
import type { ControlFollower } from './control-follower';
import {
  fieldOf,
  isSelector,
  keyOf,
  RECORD_BOUNDS,
  RECORD_BYTES_MAX,
  type RecordKey,
  type SelectorRecord,
  type StoredRecord,
} from './control-record';
import {
  CHANGES_MAX,
  type AuditNote,
  type AuditPage,
  type AuditQuery,
  type ControlChange,
  type ControlStore,
  type ControlWrite,
  type DeleteChange,
  type ScanPage,
  type ScanQuery,
  type WriteOutcome,
} from './control-store';
import { checkNotEnded, RecordError, toText } from './read-record';
import { UnavailableError } from '../../lib/errors';
import { US_PER_MS } from '../../lib/time-units';

/** Most records that select by the same entry: a decision looks at each of them. */
export const CROWD_MAX = 64;

/** Bytes of the details of an audit entry. */
export const DETAILS_BYTES_MAX = 12_288;

/** How often the data may change while a restore reads and writes a part of them. */
const RESTORE_MOVES_MAX = 20;

const WRITE_ID = /^[\w.-]{1,64}$/;

/** A restore failed before its end. The records that it has written stay. */
class RestoreError extends UnavailableError {
  override readonly name = 'RestoreError';
}

export interface ControlServiceParts {
  readonly store: ControlStore;
  readonly data: ControlData;
  readonly follower: Pick<ControlFollower, 'catchUp' | 'position' | 'isLost'>;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
}

export class ControlService {
  constructor(private readonly parts: ControlServiceParts) {}

  read(keys: readonly RecordKey[]): Promise<readonly (StoredRecord | undefined)[]> {
    return this.parts.store.read(keys);
  }

  scan(query: ScanQuery): Promise<ScanPage> {
    return this.parts.store.scan(query);
  }

  audit(query: AuditQuery): Promise<AuditPage> {
    return this.parts.store.audit(query);
  }

  /** How many changes of the log are later than one version, up to another; undefined: the log does not reach back. At most about a thousand are counted. */
  async changesBetween(after: number, upTo: number): Promise<number | undefined> {
    const { epoch, version: newest = 0 } = this.parts.follower.position ?? {};
    if (epoch === undefined || after >= Math.min(upTo, newest)) return 0;
    const answer = await this.parts.store.changesAfter({ epoch, version: after });
    if (answer.kind === 'empty') return 0;
    return answer.kind === 'gap' ? undefined : answer.changes.filter(({ version }) => version <= upTo).length;
  }

  /**
   * Writes, and resolves when the change is in force in this process.
   *
   * @throws RecordError for an invalid change, UnavailableError if the store cannot write
   */
  async write(write: ControlWrite): Promise<WriteOutcome> {
    checkWrite(write);
    const nowMs = this.parts.nowMs();
    const { author } = write.audit;
    const changes = write.changes.map((change): ControlChange => {
      if (!('put' in change)) return this.withLost(change);
      checkNotEnded(change.put, nowMs);
      if (isSelector(change.put)) this.checkCrowd(change.put);
      const put = { ...change.put, author, createdAtMs: change.put.createdAtMs ?? nowMs };
      checkBytes(toText(put), { field: 'record', max: RECORD_BYTES_MAX });
      return { ...change, put };
    });
    const outcome = await this.parts.store.write({ ...write, changes });
    if (outcome.kind === 'written' && write.dryRun !== true) await this.parts.follower.catchUp();
    return outcome;
  }

  /**
   * Writes the records that the store has lost and this replica knows; how many it wrote. Each write is made only where this replica has
   * every change, so that nothing comes back that was deleted meanwhile.
   *
   * @throws RestoreError if the data change faster than they can be restored
   */
  async restore(audit: AuditNote, { dryRun = false }: { readonly dryRun?: boolean } = {}): Promise<number> {
    const { store, follower } = this.parts;
    await follower.catchUp();
    const keys = this.lostKeys();
    let [restored, moves, at] = [0, 0, 0];
    while (at < keys.length) {
      const changes = keys.slice(at, at + CHANGES_MAX).flatMap((key) => this.restoring(key));
      const outcome = await store.write({ changes, audit, dryRun, base: follower.position ?? 'empty' });
      if (outcome.kind === 'full') throw new RecordError(outcome.of, `has ${outcome.max} records already; delete some first`);
      if (outcome.kind === 'tree')
        throw new RestoreError(
          'a lost tenant no longer fits below its parent; give it another parent, or delete it, and repeat the restore',
        );
      if (outcome.kind === 'moved') moves += 1;
      else at += CHANGES_MAX;
      if (outcome.kind === 'written') restored += outcome.effects.filter(({ isChanged }) => isChanged).length;
      if (moves > RESTORE_MOVES_MAX) throw new RestoreError('the control data changed again and again meanwhile; repeat the restore');
      await follower.catchUp();
    }
    return restored;
  }

  private lostKeys(): readonly RecordKey[] {
    return [...this.parts.data.recordsInSteps()].flatMap((known) => {
      const key = known && keyOf(known.record);
      return key !== undefined && this.parts.follower.isLost(key) ? [key] : [];
    });
  }

  /** None if it was restored, replaced or deleted meanwhile. */
  private restoring(key: RecordKey): readonly ControlChange[] {
    const known = this.parts.follower.isLost(key) ? this.parts.data.get(key) : undefined;
    if (known === undefined) return [];
    const { record, version } = known;
    // A record without a time gets that of its version.
    const put = { ...record, createdAtMs: record.createdAtMs ?? Math.floor(version / US_PER_MS) };
    return [{ put, expect: { restores: version } }];
  }

  /** Other instances learn of the deletion of a lost record only by the log. */
  private withLost(change: DeleteChange): DeleteChange {
    const isFree = change.expect === undefined || change.expect === 'any';
    return isFree && this.parts.follower.isLost(change.delete) ? { ...change, expect: 'lost' } : change;
  }

  /** Accepts the loss: every instance drops the records that the store has lost. */
  async discardLost(audit: AuditNote): Promise<void> {
    checkNote(audit);
    await this.parts.store.discardLost(audit);
    await this.parts.follower.catchUp();
  }

  private checkCrowd(record: SelectorRecord): void {
    if (this.parts.data.get(keyOf(record)) !== undefined || this.parts.data.crowd(record) < CROWD_MAX) return;
    throw new RecordError(
      'entries',
      `select by entries that ${CROWD_MAX} other records have already; add an entry with a value, or delete some of them`,
    );
  }
}

function checkWrite({ changes, audit, id }: ControlWrite): void {
  if (changes.length > CHANGES_MAX) throw new RecordError('changes', `has ${changes.length} items; at most ${CHANGES_MAX} are allowed`);
  if (id !== undefined && !WRITE_ID.test(id)) throw new RecordError('id', 'must have 1 to 64 letters, digits, "_", "-" and "."');
  checkNote(audit);
  const seen = new Set<string>();
  for (const change of changes) {
    const key = 'put' in change ? keyOf(change.put) : change.delete;
    const text = `${key.kind}/${fieldOf(key)}`;
    if (seen.has(text)) throw new RecordError('changes', 'change one record twice; send two writes');
    seen.add(text);
  }
}

function checkNote({ author, reason = '', details = '' }: AuditNote): void {
  checkBytes(author, { field: 'author', max: RECORD_BOUNDS.authorBytes });
  checkBytes(reason, { field: 'reason', max: RECORD_BOUNDS.reasonBytes });
  checkBytes(details, { field: 'details', max: DETAILS_BYTES_MAX });
}

function checkBytes(text: string, { field, max }: { readonly field: string; readonly max: number }): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > max) throw new RecordError(field, `has ${bytes} bytes; at most ${max} are allowed`);
}
