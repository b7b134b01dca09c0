/** Writes the lines of a queue to a sink in the background, counts those that it writes or loses, and goes on when the sink works again. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { ByteString } from '../../../domain/descriptor/descriptor';
import { asError } from '../../../lib/errors';
import { LINE_END, LineQueue, type Chunk, type LineQueueOptions } from './line-queue';

export interface LineSink {
  /** Most bytes that are written at once, and so of a line. */
  readonly chunkBytes: number;
  /**
   * Called before each write with its bytes; `isLineStart`: they begin with a line. Resolves to whether the sink is another one than before, where the
   * rest of a line would mean nothing. Rejects if nothing can be written now.
   */
  prepare(bytes: number, at: { readonly isLineStart: boolean }): Promise<boolean>;
  /** Resolves to the number of bytes written; 0: the reader is behind. Rejects if nothing can be written now. */
  write(bytes: Buffer): Promise<number>;
  close(): Promise<void>;
}

/** Lost lines were too long, found the queue full, or left it without being written whole. */
export type LossReason = 'too_long' | 'full' | 'unwritten';

export interface LineCounts {
  readonly lines: number;
  readonly bytes: number;
  readonly lost: Readonly<Record<LossReason, number>>;
}

export interface LineWriterOptions extends Pick<LineQueueOptions, 'bytesMax'> {
  readonly sink: LineSink;
  /** How long lines wait for others before they are written, in milliseconds. */
  readonly flushMs: number;
  /** How long a sink that failed is left alone, in milliseconds. */
  readonly retryMs: number;
  /** Called with the cause when a write fails or a line is lost, for the first time since all was well. */
  readonly onTrouble: (cause: string) => void;
  /** Called with the lines lost in between when all is well again. */
  readonly onEnd: (lost: number) => void;
}

/** All is written, the reader is behind, or nothing can be written now. */
type Outcome = 'written' | 'behind' | 'failed';

/** Until a reader that is behind is tried again, in milliseconds. */
const BUSY_MS = 5;

export class LineWriter {
  private readonly queue: LineQueue;
  private readonly counted = { lines: 0, bytes: 0, lost: { too_long: 0, full: 0, unwritten: 0 } };
  /** The chunk that is being written, and how many of its bytes are. */
  private current: Chunk | undefined;
  private offset = 0;
  private writing: Promise<Outcome> | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** The timer is set for the next try, and more lines do not change that. */
  private isPaused = false;
  /** The lines that were lost before the trouble. Undefined: there is none. */
  private lostBefore: number | undefined;
  /** The lines that were lost at the last success. */
  private lostSeen = 0;
  /** The sink is to be prepared, whether a line waits or not. */
  private isAsked = false;
  private isClosed = false;

  constructor(private readonly options: LineWriterOptions) {
    const { sink, bytesMax } = options;
    this.queue = new LineQueue({ chunkBytes: sink.chunkBytes, bytesMax });
  }

  get counts(): LineCounts {
    return this.counted;
  }

  /** On the path of decisions: it copies the line, without its end, and does not wait. */
  add(line: ByteString): void {
    const refusal = this.queue.add(line);
    if (refusal !== undefined) {
      this.beginTrouble(refusal === 'full' ? 'lines come faster than they are written' : 'a line is too long');
      this.counted.lost[refusal] += 1;
    }
    if (this.writing !== undefined || this.isPaused) return;
    if (this.queue.size > 1) void this.writeNow();
    else if (this.timer === undefined) this.writeAfter(this.options.flushMs);
  }

  /** Prepares the sink even if no line waits, and writes those that wait now. */
  prepare(): void {
    this.isAsked = true;
    if (this.writing === undefined) void this.writeNow();
  }

  /** Writes what waits, for a bounded time; what is left is lost. No line may be added afterwards. */
  async close({ timeoutMs }: { readonly timeoutMs: number }): Promise<void> {
    await within(timeoutMs, this.writeAll());
    this.isClosed = true;
    clearTimeout(this.timer);
    this.counted.lost.unwritten += this.queue.lines + (this.current?.lines ?? 0);
    await within(timeoutMs, this.options.sink.close());
  }

  private get lost(): number {
    const { too_long: tooLong, full, unwritten } = this.counted.lost;
    return tooLong + full + unwritten;
  }

  private writeAfter(ms: number): void {
    this.timer = setTimeout(() => {
      void this.writeNow();
    }, ms);
    this.timer.unref();
  }

  /** Never rejects. */
  private writeNow(): Promise<Outcome> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.isPaused = false;
    const writing = this.writeChunks().finally(() => {
      this.writing = undefined;
    });
    this.writing = writing;
    void writing.then((outcome) => {
      if (this.isClosed || this.writing !== undefined) return;
      this.isPaused = outcome !== 'written';
      if (outcome === 'failed') this.writeAfter(this.options.retryMs);
      else if (outcome === 'behind') this.writeAfter(BUSY_MS);
      else if (this.queue.size > 0) this.writeAfter(this.options.flushMs);
    });
    return writing;
  }

  /** Gives up at the first failure: the process is about to end. */
  private async writeAll(): Promise<void> {
    await this.writing;
    while ((await this.writeNow()) === 'behind' && !this.isClosed) await sleep(BUSY_MS);
  }

  private async writeChunks(): Promise<Outcome> {
    try {
      while (!this.isClosed) {
        this.current ??= this.queue.take();
        if (this.current === undefined) {
          if (!this.isAsked) return 'written';
          this.isAsked = false;
          await this.options.sink.prepare(0, { isLineStart: true });
          continue;
        }
        const isWritten = await this.writeChunk(this.current);
        if (!isWritten) return 'behind';
        this.queue.recycle(this.current);
        this.current = undefined;
        this.offset = 0;
        this.endTrouble();
      }
      return 'failed';
    } catch (error) {
      this.beginTrouble(asError(error).message);
      return 'failed';
    }
  }

  /** False: the reader is behind. */
  private async writeChunk(chunk: Chunk): Promise<boolean> {
    const { sink } = this.options;
    const isLineStart = this.offset === 0 || chunk.bytes[this.offset - 1] === LINE_END;
    const isNew = await sink.prepare(chunk.length - this.offset, { isLineStart });
    if (isNew && !isLineStart) this.skipLine(chunk);
    while (this.offset < chunk.length) {
      const written = await sink.write(chunk.bytes.subarray(this.offset, chunk.length));
      // After the end it is counted as lost.
      if (written === 0 || this.isClosed) return false;
      const lines = linesIn(chunk, this.offset, this.offset + written);
      this.offset += written;
      chunk.lines -= lines;
      this.counted.lines += lines;
      this.counted.bytes += written;
    }
    return true;
  }

  private skipLine(chunk: Chunk): void {
    this.offset = chunk.bytes.indexOf(LINE_END, this.offset) + 1;
    chunk.lines -= 1;
    this.counted.lost.unwritten += 1;
  }

  private beginTrouble(cause: string): void {
    if (this.lostBefore !== undefined) return;
    this.lostBefore = this.lost;
    this.options.onTrouble(cause);
  }

  /** Called after each success. While lines still get lost between two of them, the trouble goes on. */
  private endTrouble(): void {
    const { lost, lostBefore } = this;
    const isOver = lost === this.lostSeen || this.queue.size === 0;
    this.lostSeen = lost;
    if (lostBefore === undefined || !isOver) return;
    this.lostBefore = undefined;
    this.options.onEnd(lost - lostBefore);
  }
}

function linesIn({ bytes, length, lines }: Chunk, start: number, end: number): number {
  if (end === length) return lines;
  let count = 0;
  for (let at = bytes.indexOf(LINE_END, start); at >= 0 && at < end; at = bytes.indexOf(LINE_END, at + 1)) count += 1;
  return count;
}

/** Waits for the work, but no longer than this. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const late = new AbortController();
  await Promise.race([work, sleep(ms, undefined, { signal: late.signal }).catch(() => undefined)]);
  late.abort();
}
