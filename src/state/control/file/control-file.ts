/** The file of control data: JSON lines, one for each write, synced before the write is acknowledged, and replaced by a shorter file when most are outdated. */

import { createReadStream } from 'node:fs';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { asError } from '../../../lib/errors';
import { Pace } from '../../../lib/slices';
import { keyOf, type RecordBounds } from '../control-record';
import type { AuditEntry } from '../control-store';
import { LocalControlStore, type Journal, type JournalEntry } from '../local-control-store';
import { fromText } from '../read-record';
import { ControlFileError } from './control-file-error';
import { headLine, readHeadLine, readLine, writeLine } from './control-line';

/** The file is replaced when it has this many lines more than twice its records. */
const OUTDATED_LINES_MAX = 10_000;

/** Bytes of the new file that are written at once. */
const CHUNK_BYTES = 64 * 1024;

export interface ControlFileOptions {
  readonly path: string;
  readonly nowUs: () => number;
  /** Default: `STORE_BOUNDS`. */
  readonly bounds?: RecordBounds;
  readonly onWritten?: () => void;
  /** Called if the last line was incomplete, and dropped: its write was never acknowledged. */
  readonly onTorn: (bytes: number) => void;
  /** Called for each write that the file could not keep. */
  readonly onRefused?: (error: ControlFileError) => void;
  /** Default: 10,000. */
  readonly outdatedLinesMax?: number;
}

/**
 * Opens the store of a file, which is created if it does not exist.
 *
 * @throws ControlFileError if the file cannot be opened, or a line other than the last is invalid
 */
export async function openControlFile(options: ControlFileOptions): Promise<LocalControlStore> {
  const { path: file } = options;
  const handle = await open(file, 'a+', 0o600).catch((error: unknown) => {
    throw new ControlFileError(`CONTROL_FILE ${file} cannot be opened: ${asError(error).message}`);
  });
  try {
    return await openJournal(handle, options);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Bytes that the first line has at most. */
const HEAD_BYTES_MAX = 1_024;

const NOTHING_READ = { buffer: Buffer.alloc(0), bytesRead: 0 };

/**
 * Reads only the first line.
 *
 * @throws ControlFileError if an existing file is not one of control data
 */
export async function checkControlFile(file: string): Promise<void> {
  const handle = await open(file, 'r').catch(() => undefined);
  if (handle === undefined) return;
  const isFile = (await handle.stat()).isFile();
  const { buffer, bytesRead } = isFile ? await handle.read(Buffer.alloc(HEAD_BYTES_MAX), 0, HEAD_BYTES_MAX, 0) : NOTHING_READ;
  await handle.close();
  const start = buffer.subarray(0, bytesRead);
  const end = start.indexOf(LINE_FEED);
  // A first line without an end was not written whole, unless it is too long to be one.
  if (end >= 0 || bytesRead === HEAD_BYTES_MAX) readHead(start.subarray(0, Math.max(end, 0)), file);
}

async function openJournal(handle: FileHandle, options: ControlFileOptions): Promise<LocalControlStore> {
  const { path: file, nowUs, bounds, onWritten, onTorn, onRefused = () => undefined, outdatedLinesMax = OUTDATED_LINES_MAX } = options;
  const { size } = await handle.stat();
  const lines = linesOf(file);
  const first = await lines.next();
  const [head, ...rest] = first.done === true ? [] : first.value;
  const epoch = head === undefined ? randomUUID() : readHead(head, file);
  const journal = new FileJournal({ file, handle, epoch, outdatedLinesMax, onRefused });
  const store = new LocalControlStore({ nowUs, epoch, journal, ...(bounds && { bounds }), ...(onWritten && { onWritten }) });
  const read = await loadLines(lines, { file, store, first: rest });
  const goodBytes = head === undefined ? 0 : head.length + 1 + read.bytes;
  if (size > goodBytes) onTorn(size - goodBytes);
  await journal.begin({ store, size: goodBytes, lines: read.count });
  return store;
}

function readHead(line: Buffer, file: string): string {
  const epoch = readHeadLine(line.toString());
  if (epoch === undefined) throw new ControlFileError(`CONTROL_FILE ${file} is not a file of control data; name another one`);
  return epoch;
}

interface LoadInput {
  readonly file: string;
  readonly store: LocalControlStore;
  /** Lines before the others. */
  readonly first: readonly Buffer[];
}

/** An invalid last line was not written whole, and is left out. */
async function loadLines(
  chunks: AsyncGenerator<readonly Buffer[], void>,
  { file, store, first }: LoadInput,
): Promise<{ readonly bytes: number; readonly count: number }> {
  let [bytes, count] = [0, 0];
  let problem: string | undefined;
  const pace = new Pace();
  const load = (line: Buffer): void => {
    if (problem !== undefined) {
      throw new ControlFileError(`CONTROL_FILE ${file}, line ${count + 2}: ${problem}; restore the file from a backup, or remove the line`);
    }
    try {
      store.load(readLine(line.toString()));
      bytes += line.length + 1;
      count += 1;
    } catch (error) {
      problem = asError(error).message;
    }
  };
  for (const line of first) load(line);
  for await (const lines of chunks) {
    for (const line of lines) {
      load(line);
      if (pace.isOver) await pace.nextSlice();
    }
  }
  return { bytes, count };
}

const LINE_FEED = 0x0a;

/** The lines that end with a line feed, as many at once as were read at once. */
async function* linesOf(file: string): AsyncGenerator<readonly Buffer[], void> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const lines: Buffer[] = [];
    let at = 0;
    for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, at)) {
      lines.push(bytes.subarray(at, end));
      at = end + 1;
    }
    rest = bytes.subarray(at);
    if (lines.length > 0) yield lines;
  }
}

interface FileJournalOptions {
  readonly file: string;
  readonly handle: FileHandle;
  readonly epoch: string;
  readonly outdatedLinesMax: number;
  readonly onRefused: (error: ControlFileError) => void;
}

interface JournalState {
  readonly store: LocalControlStore;
  /** Bytes of complete lines. */
  readonly size: number;
  readonly lines: number;
}

class FileJournal implements Journal {
  private store: LocalControlStore | undefined;
  private handle: FileHandle;
  private size = 0;
  private lines = 0;

  constructor(private readonly options: FileJournalOptions) {
    this.handle = options.handle;
  }

  /** Drops what is left of a torn line, and writes the head of a new file. */
  async begin({ store, size, lines }: JournalState): Promise<void> {
    this.store = store;
    this.size = size;
    this.lines = lines;
    await this.handle.truncate(size);
    if (size === 0) await this.appendText(headLine(this.options.epoch));
  }

  async append(entry: JournalEntry): Promise<void> {
    await this.appendText(writeLine(entry));
    this.lines += 1;
    const records = this.store?.size ?? 0;
    // A failure changes nothing: the file that is there goes on.
    if (this.lines > 2 * records + this.options.outdatedLinesMax) await this.compact(entry).catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.handle.close();
  }

  private async appendText(line: string): Promise<void> {
    const bytes = Buffer.from(`${line}\n`);
    try {
      await writeAll(this.handle, bytes);
      await this.handle.datasync();
      this.size += bytes.length;
    } catch (error) {
      await this.handle.truncate(this.size).catch(() => undefined);
      const refusal = new ControlFileError(
        `CONTROL_FILE ${this.options.file} cannot be written (${codeOf(error)}), so nothing has changed; free its disk, then repeat the write`,
      );
      this.options.onRefused(refusal);
      throw refusal;
    }
  }

  /** Writes all records and audit entries to a file beside it, which then takes its place. `last` is in no record yet. */
  private async compact(last: JournalEntry): Promise<void> {
    const { store } = this;
    if (store === undefined) return;
    const { file, epoch } = this.options;
    const other = `${file}.new`;
    const handle = await open(other, 'w', 0o600);
    try {
      const { size, lines } = await writeCompactTo(handle, { store, epoch, last });
      await handle.sync();
      await handle.close();
      const next = await open(other, 'a+', 0o600);
      await rename(other, file);
      // From here on the other file is the one that is read at the next start, whatever fails.
      const before = this.handle;
      this.handle = next;
      this.size = size;
      this.lines = lines;
      await before.close();
      await syncFolder(file);
    } catch (error) {
      await rm(other, { force: true });
      throw error;
    }
  }
}

async function writeCompactTo(
  handle: FileHandle,
  { store, epoch, last }: { readonly store: LocalControlStore; readonly epoch: string; readonly last: JournalEntry },
): Promise<{ readonly size: number; readonly lines: number }> {
  let [size, lines, chunk] = [0, 0, ''];
  const flush = async (): Promise<void> => {
    const bytes = Buffer.from(chunk);
    chunk = '';
    await writeAll(handle, bytes);
    size += bytes.length;
  };
  const add = async (line: string): Promise<void> => {
    chunk += `${line}\n`;
    lines += 1;
    if (chunk.length > CHUNK_BYTES) await flush();
  };
  await add(headLine(epoch));
  for (const { text, version } of store.keptRecords()) {
    const record = fromText(text);
    await add(writeLine({ version, atMs: 0, changes: [{ key: keyOf(record), version, record }], audit: [] }));
  }
  for (const entry of store.auditEntries) await add(writeLine(trailLine(entry, 'audit')));
  for (const entry of store.penaltyEntries) await add(writeLine(trailLine(entry, 'penalties')));
  await add(writeLine(last));
  await flush();
  return { size, lines };
}

/** Only the audit entry; its write is contained in the records. */
function trailLine(entry: AuditEntry, trail: 'audit' | 'penalties'): JournalEntry {
  return { version: 0, atMs: entry.atMs, changes: [], audit: [], [trail]: [entry] };
}

async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, at);
    at += bytesWritten;
  }
}

/** So that the new name survives a loss of power, unless the folder cannot be read or synced. */
async function syncFolder(file: string): Promise<void> {
  const folder = await open(path.dirname(file), 'r').catch(() => undefined);
  await folder?.sync().catch(() => undefined);
  await folder?.close();
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : asError(error).message;
}
