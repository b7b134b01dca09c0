/** Reads the bodies of HTTP requests within a size limit and a common budget, and scans them as they arrive. */

import type { IncomingMessage } from 'node:http';
import { BadRequestError } from '../../../lib/errors';
import { ByteBudget } from '../byte-budget';
import { JsonScan } from './json-scan';
import { TurnQueue } from '../turn-queue';

/** Why a body was rejected: HTTP status and message. */
export interface BodyRefusal {
  readonly status: number;
  readonly message: string;
}

/** A whole body, or why it is invalid. */
export type Body = Buffer | BadRequestError;

export interface ReadOptions {
  readonly bytesMax: number;
}

/** Most bodies are shorter. This first page is outside the budget, so that stalled large bodies do not block small ones. */
const FIRST_PAGE_BYTES = 1024;
const LAST_PAGE_BYTES = 64 * 1024;

/** Longer bodies are parsed one per turn of the event loop. */
const LARGE_BYTES = 16 * 1024;

export class JsonBodies {
  /** Without it, several large bodies that end together would be parsed in one turn. */
  private readonly turns = new TurnQueue();

  /** `budget` bounds the bytes that requests hold, from the first byte to the answer. */
  constructor(private readonly budget = new ByteBudget()) {}

  /** Calls `use` with the whole body and resolves to its result. Rejects only if `use` does. */
  async read<T>(request: IncomingMessage, { bytesMax }: ReadOptions, use: (body: Body) => Promise<T>): Promise<T | BodyRefusal> {
    if (Number(request.headers['content-length'] ?? 0) > bytesMax) {
      return tooLarge(bytesMax);
    }
    const bytes = new GrowingBytes(this.budget);
    try {
      const read = await collect(request, { bytes, bytesMax });
      if ('status' in read) return read;
      if (!(read instanceof BadRequestError) && read.length > LARGE_BYTES) await this.turns.next();
      return await use(read);
    } finally {
      bytes.free();
    }
  }
}

function collect(
  request: IncomingMessage,
  { bytes, bytesMax }: { readonly bytes: GrowingBytes; readonly bytesMax: number },
): Promise<Body | BodyRefusal> {
  const scan = new JsonScan();
  return new Promise((resolve) => {
    let isOver = false;
    const finish = (read: Body | BodyRefusal): void => {
      // The answer ends the connection, and the rest of the body is dropped (lib/wire).
      isOver = true;
      resolve(read);
    };
    request.on('data', (chunk: Buffer) => {
      if (isOver) return;
      if (bytes.length + chunk.length > bytesMax) {
        finish(tooLarge(bytesMax));
        return;
      }
      const wrong = scan.push(chunk);
      if (wrong !== undefined) finish(wrong);
      else if (!bytes.add(chunk)) finish({ status: 503, message: 'the memory for request bodies is used up; retry later' });
    });
    request.once('end', () => {
      if (!isOver) finish(bytes.all());
    });
    request.once('error', (error) => {
      finish(error instanceof BadRequestError ? error : { status: 400, message: 'the body ended early' });
    });
  });
}

function tooLarge(bytesMax: number): BodyRefusal {
  return { status: 413, message: `the body is too large; send at most ${bytesMax} bytes` };
}

/** Bytes in pages; all but the first page count against a budget. Single bytes cost no more than large chunks, and growing copies nothing. */
class GrowingBytes {
  private readonly pages: Buffer[] = [];
  private taken = 0;
  length = 0;

  constructor(private readonly budget: ByteBudget) {}

  /** False: no room is left. */
  add(chunk: Buffer): boolean {
    let from = 0;
    while (from < chunk.length) {
      if (this.length === this.taken && !this.grow()) return false;
      const page = this.pages[this.pages.length - 1];
      const used = (page?.length ?? 0) - (this.taken - this.length);
      const copied = page === undefined ? 0 : chunk.copy(page, used, from);
      from += copied;
      this.length += copied;
    }
    return true;
  }

  /** Returns all bytes; nothing can be added afterwards. */
  all(): Buffer {
    const pages = this.pages.splice(0);
    const [first] = pages;
    return first !== undefined && pages.length === 1 ? first.subarray(0, this.length) : Buffer.concat(pages, this.length);
  }

  free(): void {
    this.budget.giveBack(Math.max(0, this.taken - FIRST_PAGE_BYTES));
    this.taken = 0;
    this.pages.length = 0;
  }

  private grow(): boolean {
    const size = Math.min(LAST_PAGE_BYTES, Math.max(FIRST_PAGE_BYTES, this.taken));
    if (this.taken > 0 && !this.budget.take(size)) return false;
    this.taken += size;
    this.pages.push(Buffer.allocUnsafeSlow(size));
    return true;
  }
}
