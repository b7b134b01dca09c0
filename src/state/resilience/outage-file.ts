/** The file that keeps the local shares of one process over a restart: written while it decides without the store, and read at its start. */

import { constants } from 'node:fs';
import { access, open, rename, rm, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { asError } from '../../lib/errors';
import { Pace, runInSlices, SHORT_SLICE_MS } from '../../lib/slices';
import type { KeptAccount } from './fallback-ledger';
import { NO_REFUND } from './late-refund';
import { accountLine, HEAD_BYTES_MAX, headLine, readAccounts, readHeadLine, type OutageHead } from './outage-lines';

/** The accounts beyond it are left out. */
const BYTES_MAX = 2 * 1024 * 1024;

/** Bytes that are written at once. */
const CHUNK_BYTES = 64 * 1024;

/** Between two writes, in milliseconds. */
const PAUSE_MS = 1_000;

/** How long a charge waits for the file, in milliseconds. */
const WAIT_MS = 1_000;

export interface OutageFileOptions {
  readonly path: string;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** Why the file is not read or not written, as a sentence. */
  readonly onTrouble: (sentence: string) => void;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

export interface OutageState extends Pick<OutageHead, 'instances'> {
  readonly accounts: readonly KeptAccount[];
}

/** The state to write. */
interface OutageSource {
  readonly instances: () => number;
  readonly kept: () => Iterable<KeptAccount>;
}

/**
 * Decisions never wait for it, and do without it if it fails. A write replaces the whole file. Hits that are owed to the store are in the
 * file only until the store is charged, so that no process charges them again.
 */
export class OutageFile {
  private source: OutageSource | undefined;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<boolean> | undefined;
  private isDirty = false;
  private notBeforeMs = -Infinity;
  private exists = false;
  /** The file may owe the store something. */
  private owes = false;
  /** Another program's file is at the path, which is not replaced. */
  private isForeign = false;
  private isInTrouble = false;

  constructor(private readonly options: OutageFileOptions) {}

  /** The state that the last process left; undefined: none, or none that can be used. */
  async read(): Promise<OutageState | undefined> {
    const { path: file } = this.options;
    // A process that was killed during a write left keys of clients in it.
    await removeUnfinished(file);
    // An outage is late to learn that no file can be written.
    await access(path.dirname(file), constants.W_OK).catch((error: unknown) => {
      this.report(error);
    });
    const state = await this.readState();
    if (state === undefined) return undefined;
    const accounts = state.accounts.map((account) => ({ ...account, owed: 0, refunds: NO_REFUND }));
    // Hits that this process takes over must not be owed a second time after its own end.
    const isTakenOver = await this.replace({ ...state, accounts });
    return isTakenOver ? state : { ...state, accounts };
  }

  /** The file shows this state from now on, as `changed` says. */
  follow(source: OutageSource): void {
    this.source = source;
    this.changed();
  }

  /** On the path of decisions: it only sets a timer. */
  changed(): void {
    if (this.writing !== undefined) this.isDirty = true;
    if (this.writing !== undefined || this.timer !== undefined || this.source === undefined) return;
    this.timer = setTimeout(
      () => {
        this.timer = undefined;
        void this.write();
      },
      Math.max(0, this.notBeforeMs - this.options.nowMs()),
    );
    this.timer.unref();
  }

  /** Resolves when the file owes nothing any more, or cannot be written. The state already says so. */
  async settle(): Promise<void> {
    if (this.owes) await Promise.race([this.writeOrRemove(), sleep(WAIT_MS, undefined, { ref: false })]);
  }

  /** Writes the last state. */
  async close(): Promise<void> {
    await this.writeAfter();
    clearTimeout(this.timer);
    this.source = undefined;
  }

  /** Writes the state of now, not only that of a write under way. */
  private async writeAfter(): Promise<boolean> {
    while (this.writing !== undefined) await this.writing;
    return this.write();
  }

  private async writeOrRemove(): Promise<void> {
    if (!(await this.writeAfter())) await rm(this.options.path, { force: true }).catch(() => undefined);
  }

  private write(): Promise<boolean> {
    if (this.source === undefined) return Promise.resolve(false);
    if (this.writing !== undefined) {
      this.isDirty = true;
      return this.writing;
    }
    const { instances, kept } = this.source;
    this.isDirty = false;
    this.writing = this.replace({ instances: instances(), accounts: kept() }).finally(() => {
      this.writing = undefined;
      this.notBeforeMs = this.options.nowMs() + PAUSE_MS;
      if (this.isDirty) this.changed();
    });
    return this.writing;
  }

  /** False if it failed. */
  private async replace(state: Pick<OutageState, 'instances'> & { readonly accounts: Iterable<KeptAccount> }): Promise<boolean> {
    if (this.isForeign) return false;
    const { path: file, keyPrefix: prefix } = this.options;
    try {
      const { chunks, owes } = await runInSlices(textOf({ prefix, instances: state.instances }, state.accounts), new Pace(SHORT_SLICE_MS));
      const isEmpty = chunks.length === 0;
      if (isEmpty && !this.exists) return true;
      this.owes ||= owes;
      await (isEmpty ? rm(file, { force: true }) : replaceFile(file, chunks));
      this.owes = owes;
      this.exists = !isEmpty;
      this.isInTrouble = false;
      return true;
    } catch (error) {
      this.report(error);
      return false;
    }
  }

  /** Once until a write succeeds. */
  private report(error: unknown): void {
    if (!this.isInTrouble) this.options.onTrouble(`FAILURE_MODE_FILE ${this.options.path} cannot be written: ${asError(error).message}`);
    this.isInTrouble = true;
  }

  private async readState(): Promise<OutageState | undefined> {
    const { path: file, onTrouble } = this.options;
    let handle: FileHandle | undefined;
    try {
      // Without waiting for a writer, if it is a pipe.
      handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
      return await this.readFrom(handle);
    } catch (error) {
      const { message } = asError(error);
      if (!message.startsWith('ENOENT')) onTrouble(`FAILURE_MODE_FILE ${file} is ignored: ${message}`);
      return undefined;
    } finally {
      await handle?.close();
    }
  }

  /** @throws Error if it is not a whole file with keys of this prefix */
  private async readFrom(handle: FileHandle): Promise<OutageState | undefined> {
    const about = await handle.stat();
    if (about.isFile() && about.size === 0) return undefined;
    const head = about.isFile() ? readHeadLine(firstLine(await readStart(handle, HEAD_BYTES_MAX))) : undefined;
    this.isForeign = head === undefined;
    if (head === undefined) throw new Error('it was not written by Weir; remove it, or use another path');
    this.exists = true;
    if (about.size > BYTES_MAX) throw new Error(`it has more than ${BYTES_MAX} bytes`);
    if (head.prefix !== this.options.keyPrefix) throw new Error('its keys have another CACHE_KEY_PREFIX');
    const text = (await readStart(handle, about.size)).toString('latin1');
    if (!text.endsWith('\n')) throw new Error('its last line is incomplete');
    return { instances: head.instances, accounts: readAccounts(text.split('\n').slice(1, -1)) };
  }
}

interface OutageText {
  /** None without accounts. */
  readonly chunks: readonly string[];
  readonly owes: boolean;
}

function* textOf(head: OutageHead, accounts: Iterable<KeptAccount>): Generator<undefined, OutageText> {
  const chunks: string[] = [];
  let chunk = `${headLine(head)}\n`;
  let size = chunk.length;
  let [isEmpty, owes] = [true, false];
  for (const account of accounts) {
    // Nothing to go on with.
    if (account.used === 0 && account.refunds.hits === 0) continue;
    const line = accountLine(account);
    size += line.length + 1;
    if (size > BYTES_MAX) break;
    if (chunk.length > CHUNK_BYTES) {
      chunks.push(chunk);
      chunk = '';
    }
    chunk += `${line}\n`;
    isEmpty = false;
    owes ||= account.owed > 0 || account.refunds.hits > 0;
    yield;
  }
  return { chunks: isEmpty ? [] : [...chunks, chunk], owes };
}

/** Under its own name only when it is whole. Keys may hold data of clients, so nobody else may read it. */
async function replaceFile(file: string, chunks: readonly string[]): Promise<void> {
  const other = unfinished(file);
  await rm(other, { force: true });
  try {
    await writeWhole(other, chunks);
    await rename(other, file);
  } catch (error) {
    await removeUnfinished(file);
    throw error;
  }
}

async function writeWhole(file: string, chunks: readonly string[]): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    for (const chunk of chunks) await handle.appendFile(chunk, 'latin1');
  } finally {
    await handle.close();
  }
}

/** The name of a file during its write. */
function unfinished(file: string): string {
  return `${file}.new`;
}

/** The next write reports what cannot be removed. */
async function removeUnfinished(file: string): Promise<void> {
  await rm(unfinished(file), { force: true }).catch(() => undefined);
}

async function readStart(handle: FileHandle, bytes: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, 0);
  return buffer.subarray(0, bytesRead);
}

function firstLine(start: Buffer): string {
  const end = start.indexOf('\n');
  return start.subarray(0, Math.max(end, 0)).toString('latin1');
}
