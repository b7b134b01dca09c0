/** Lines that wait to be written, as bytes in chunks of whole lines, up to a bound. */

import type { ByteString } from '../../../domain/descriptor/descriptor';

export interface Chunk {
  readonly bytes: Buffer;
  /** The bytes that its lines use. */
  length: number;
  lines: number;
}

export interface LineQueueOptions {
  /** Most bytes of a chunk, and so of a line with its end. */
  readonly chunkBytes: number;
  /** Most bytes of all chunks that wait. */
  readonly bytesMax: number;
}

/** Why a line is not taken. */
export type Refusal = 'too_long' | 'full';

export const LINE_END = 0x0a;

export class LineQueue {
  /** The oldest first; lines are added to the last. */
  private readonly chunks: Chunk[] = [];
  /** The bytes of a chunk that was written, for the next lines: otherwise each would be garbage. */
  private spare: Buffer | undefined;
  private readonly chunksMax: number;

  constructor(private readonly options: LineQueueOptions) {
    this.chunksMax = Math.max(1, Math.floor(options.bytesMax / options.chunkBytes));
  }

  /** Number of chunks. */
  get size(): number {
    return this.chunks.length;
  }

  get lines(): number {
    return this.chunks.reduce((sum, { lines }) => sum + lines, 0);
  }

  /** Adds a line without its end. Undefined: it is in the queue. */
  add(line: ByteString): Refusal | undefined {
    const { chunkBytes } = this.options;
    let chunk = this.chunks[this.chunks.length - 1];
    const bytes = line.length + 1;
    if (chunk === undefined || chunk.length + bytes > chunkBytes) {
      if (bytes > chunkBytes) return 'too_long';
      if (this.chunks.length >= this.chunksMax) return 'full';
      chunk = { bytes: this.spare ?? Buffer.allocUnsafeSlow(chunkBytes), length: 0, lines: 0 };
      this.spare = undefined;
      this.chunks.push(chunk);
    }
    chunk.bytes.write(line, chunk.length, 'latin1');
    chunk.length += bytes;
    chunk.bytes[chunk.length - 1] = LINE_END;
    chunk.lines += 1;
    return undefined;
  }

  /** Takes the oldest chunk out. Undefined: there is none. */
  take(): Chunk | undefined {
    return this.chunks.shift();
  }

  /** The bytes of the chunk are not needed any more. */
  recycle({ bytes }: Chunk): void {
    this.spare = bytes;
  }
}
