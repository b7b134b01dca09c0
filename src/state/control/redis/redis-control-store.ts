/** Control data in Redis: each call is one run of `lua/control-write.lua` or `lua/control-read.lua`, and all keys are in one slot. */

import { randomUUID } from 'node:crypto';
import type { RunScript } from '../../store/redis/redis-store';
import { loadScript, type Script } from '../../store/redis/script-loader';
import { readList } from '../../store/redis/client/read-reply';
import type { TakeOptions } from '../../store/port/store';
import {
  CONTROL_KINDS,
  fieldOf,
  STORE_BOUNDS,
  type ControlKind,
  type RecordBounds,
  type RecordKey,
  type StoredRecord,
} from '../control-record';
import type {
  AuditNote,
  AuditPage,
  AuditQuery,
  ControlStore,
  ControlWrite,
  LogAnswer,
  Position,
  ScanPage,
  ScanQuery,
  WriteOutcome,
} from '../control-store';
import { digestOf } from '../write-digest';
import {
  decodeAudit,
  decodeChanges,
  decodeFields,
  decodeRecords,
  decodeScan,
  decodeWrite,
  encodeWrite,
  LOG_ENTRIES_AT_ONCE,
  type OnUnreadable,
} from './control-wire';

export interface RedisControlStoreOptions {
  readonly run: RunScript;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  readonly onUnreadable: OnUnreadable;
  /** Default: `STORE_BOUNDS`. */
  readonly bounds?: RecordBounds;
  /** Default: those of `lua/`. */
  readonly scripts?: ControlScripts;
}

export interface ControlScripts {
  readonly write: Script;
  readonly read: Script;
}

/** One hash tag, so that all keys are in one slot of a cluster. */
const NAMESPACE = 'weir:control:1{weir:control}';

const NO_OPTIONS: TakeOptions = {};

export class RedisControlStore implements ControlStore {
  private readonly scripts: ControlScripts;

  constructor(private readonly options: RedisControlStoreOptions) {
    this.scripts = options.scripts ?? { write: loadScript('control-write'), read: loadScript('control-read') };
  }

  async read(keys: readonly RecordKey[]): Promise<readonly (StoredRecord | undefined)[]> {
    if (keys.length === 0) return [];
    const reply = await this.runRead(
      keys.map(({ kind }) => this.kindKey(kind)),
      ['get', ...keys.map(fieldOf)],
    );
    return decodeRecords(reply, keys, this.options.onUnreadable);
  }

  async scan({ kind, cursor = '0', limit }: ScanQuery): Promise<ScanPage> {
    const { run, onUnreadable } = this.options;
    const read = <Page>(what: string, decode: (reply: unknown) => Page) =>
      run({ script: this.scripts.read, keys: [this.kindKey(kind)], args: [what, cursor, String(limit)], read: decode }, NO_OPTIONS);
    const { isUnreadable, ...page } = await read('scan', decodeScan);
    if (!isUnreadable) return page;
    // Fields are only read to name what is unreadable: a million of them would double the time of a start.
    const named = await read('fields', (reply) => decodeFields(reply, kind));
    named.unreadable?.forEach(onUnreadable);
    return named;
  }

  write(write: ControlWrite): Promise<WriteOutcome> {
    return this.runWrite(write, { discardsLost: false });
  }

  async discardLost(audit: AuditNote): Promise<void> {
    await this.runWrite({ changes: [], audit }, { discardsLost: true });
  }

  async audit({ trail, order, after = '', limit }: AuditQuery): Promise<AuditPage> {
    const isContinued = after !== '';
    const count = limit + 1 + Number(isContinued);
    const reply = await this.runRead([this.key(trail ?? 'audit')], ['audit', order === 'newest' ? '1' : '0', after, String(count)]);
    const found = decodeAudit(reply).filter(({ id }) => id !== after);
    const entries = found.slice(0, limit);
    const last = entries.at(-1);
    return { entries, ...(found.length > limit && last && { next: last.id }) };
  }

  async changesAfter(position: Position | undefined): Promise<LogAnswer> {
    const { epoch = '', version = 0 } = position ?? {};
    const keys = [this.key('about'), this.key('log'), ...CONTROL_KINDS.map((kind) => this.kindKey(kind))];
    return decodeChanges(
      await this.runRead(keys, ['changes', epoch, String(version), String(LOG_ENTRIES_AT_ONCE)]),
      this.options.onUnreadable,
    );
  }

  /** The connection belongs to the store of the buckets. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  private runWrite(write: ControlWrite, { discardsLost }: { readonly discardsLost: boolean }): Promise<WriteOutcome> {
    const { id, dryRun, trail = 'audit' } = write;
    const keys = [
      ...['about', 'log', trail, 'ends'].map((name) => this.key(name)),
      ...CONTROL_KINDS.map((kind) => this.kindKey(kind)),
      this.key('penalty-ends'),
      this.key('tree'),
      ...(id === undefined || dryRun === true ? [] : [this.key(`write:${id}`)]),
    ];
    const { run, bounds = STORE_BOUNDS } = this.options;
    const args = encodeWrite(write, { epoch: randomUUID(), digest: digestOf(write), discardsLost, bounds });
    return run({ script: this.scripts.write, keys, args, read: (reply) => decodeWrite(reply, write, bounds) }, NO_OPTIONS);
  }

  private runRead(keys: readonly string[], args: readonly string[]): Promise<readonly unknown[]> {
    return this.options.run({ script: this.scripts.read, keys, args, read: readList }, NO_OPTIONS);
  }

  private kindKey(kind: ControlKind): string {
    return this.key(`record:${kind}`);
  }

  private key(name: string): string {
    return `${this.options.keyPrefix}${NAMESPACE}${name}`;
  }
}
