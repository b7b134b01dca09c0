/** A file of lines: opened without waiting, rotated by size, and opened again when it is not at its path any more or a signal says so. */

import { constants, type Stats } from 'node:fs';
import { open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { LINE_END } from './line-queue';
import type { LineSink } from './line-writer';

export interface LogFileOptions {
  readonly path: string;
  /** A file that would become larger is rotated. 0: never. */
  readonly bytesMax: number;
  /** Files to keep, with the one that is written. */
  readonly filesMax: number;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

/** How often to look whether the file is still at its path, in milliseconds. */
const LOOK_MS = 1_000;

/** A pipe without a reader fails instead of waiting for one, and a full pipe too: a thread that waits for it would keep the process from its end. */
const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NONBLOCK;

/** The group may read it, for programs that ship logs. */
const MODE = 0o640;

interface Opened {
  readonly handle: FileHandle;
  readonly about: Stats;
  size: number;
}

export class LogFile implements LineSink {
  readonly chunkBytes = 64 * 1024;
  private opened: Opened | undefined;
  private lookedMs = -Infinity;
  private isStale = false;

  constructor(private readonly options: LogFileOptions) {}

  /** Before the next line the file is opened again. */
  reopen(): void {
    this.isStale = true;
  }

  async prepare(bytes: number, { isLineStart }: { readonly isLineStart: boolean }): Promise<boolean> {
    if (this.isStale || !(await this.isInPlace())) await this.close();
    const { bytesMax } = this.options;
    const { opened } = this;
    const isFull = bytesMax > 0 && opened?.about.isFile() === true && opened.size > 0 && opened.size + bytes > bytesMax;
    if (isFull && isLineStart) {
      await this.rotate();
      await this.close();
    }
    if (this.opened !== undefined) return false;
    await this.open();
    return true;
  }

  async write(bytes: Buffer): Promise<number> {
    const { opened } = this;
    if (opened === undefined) throw new Error('the file is not open');
    try {
      const { bytesWritten } = await opened.handle.write(bytes);
      opened.size += bytesWritten;
      return bytesWritten;
    } catch (error) {
      if (codeOf(error) === 'EAGAIN') return 0;
      // The reader of a pipe is gone, and the next one is another reader.
      if (codeOf(error) === 'EPIPE') await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const { opened } = this;
    this.opened = undefined;
    this.isStale = false;
    await opened?.handle.close();
  }

  private async open(): Promise<void> {
    const { path } = this.options;
    const handle = await open(path, FLAGS, MODE);
    try {
      const about = await handle.stat();
      this.opened = { handle, about, size: about.size };
      this.lookedMs = this.options.nowMs();
      // A process that was killed during a write may have left a part of a line.
      if (about.isFile() && about.size > 0 && (await lastByte(path, about.size)) !== LINE_END) await this.write(Buffer.of(LINE_END));
    } catch (error) {
      this.opened = undefined;
      await handle.close();
      throw error;
    }
  }

  /** False if the file was moved or removed: nobody would see later lines. */
  private async isInPlace(): Promise<boolean> {
    const { opened } = this;
    const nowMs = this.options.nowMs();
    if (opened === undefined || nowMs - this.lookedMs < LOOK_MS) return true;
    this.lookedMs = nowMs;
    return this.look(opened);
  }

  private async look(opened: Opened): Promise<boolean> {
    try {
      const { dev, ino, size } = await stat(this.options.path);
      // Another program may have cut it.
      opened.size = size;
      return dev === opened.about.dev && ino === opened.about.ino;
    } catch (error) {
      return codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR';
    }
  }

  /** Renames the file to `.1`, and those before to the next number, in place of the oldest. */
  private async rotate(): Promise<void> {
    const { path, filesMax } = this.options;
    // Another program has rotated it meanwhile.
    if (this.opened === undefined || !(await this.look(this.opened))) return;
    if (filesMax === 1) {
      await rm(path, { force: true });
      return;
    }
    for (let number = filesMax - 2; number >= 0; number -= 1) {
      const from = number === 0 ? path : `${path}.${number}`;
      await rename(from, `${path}.${number + 1}`).catch((error: unknown) => {
        if (codeOf(error) !== 'ENOENT') throw error;
      });
    }
  }
}

/** Undefined if it may not be read. */
async function lastByte(path: string, size: number): Promise<number | undefined> {
  try {
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return (await handle.read(Buffer.alloc(1), 0, 1, size - 1)).buffer[0];
    } finally {
      await handle.close();
    }
  } catch {
    return undefined;
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
