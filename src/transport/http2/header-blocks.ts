/** Puts header blocks together from HEADERS and CONTINUATION, bounded, and decodes them; one that comes again byte for byte only once. */

import { ConnectionError, ErrorCode } from './errors';
import { HpackDecoder, HEADER_LIST_BYTES_MAX } from './hpack-decoder';
import { readRequestHead, type RequestHead } from './request-head';

/** Bytes of a block as sent: as many as its list may come to, though compressed it should be less. */
const BLOCK_BYTES_MAX = HEADER_LIST_BYTES_MAX;

/** Frames of a block after its first; four carry all that one may hold. */
const CONTINUATIONS_MAX = 8;

/** Blocks that are remembered, and how long one may be: Envoy's has some 60 bytes, and a connection has a few of them. */
const CACHED_MAX = 64;
const CACHED_BYTES_MAX = 512;

export class HeaderBlocks {
  private readonly decoder = new HpackDecoder();
  /** By the block's bytes, as long as the decoder's table is what it was. */
  private readonly cached = new Map<string, RequestHead>();
  private cachedGeneration = 0;
  /** Of the cached ones the last, which is most often the next one too: comparing is cheaper than looking up. */
  private last: { readonly block: Buffer; readonly head: RequestHead } | undefined;
  private pieces: Buffer[] | undefined;
  private pieceBytes = 0;

  /** Whether a block has begun: nothing but its CONTINUATION may come. */
  get isOpen(): boolean {
    return this.pieces !== undefined;
  }

  begin(bytes: Buffer, start: number, end: number): void {
    this.pieces = [];
    this.pieceBytes = 0;
    this.append(bytes, start, end);
  }

  /** @throws ConnectionError ENHANCE_YOUR_CALM if it does not come to an end */
  append(bytes: Buffer, start: number, end: number): void {
    this.pieceBytes += end - start;
    const pieces = (this.pieces ??= []);
    if (this.pieceBytes > BLOCK_BYTES_MAX || pieces.length > CONTINUATIONS_MAX) {
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, `a header block of over ${BLOCK_BYTES_MAX} bytes or ${CONTINUATIONS_MAX} continuations`);
    }
    pieces.push(Buffer.from(bytes.subarray(start, end)));
  }

  /** @throws ConnectionError if it can't be read */
  finish(): RequestHead {
    const block = Buffer.concat(this.pieces ?? []);
    this.pieces = undefined;
    return this.decode(block, 0, block.length);
  }

  /**
   * A block that is whole.
   *
   * @throws ConnectionError if it can't be read
   */
  decode(bytes: Buffer, start: number, end: number): RequestHead {
    if (this.cachedGeneration !== this.decoder.generation) {
      this.cached.clear();
      this.last = undefined;
      this.cachedGeneration = this.decoder.generation;
    }
    const { last } = this;
    if (last !== undefined && isEqual(last.block, bytes, start, end)) return last.head;
    const key = this.cached.size > 0 && end - start <= CACHED_BYTES_MAX ? bytes.toString('latin1', start, end) : undefined;
    const known = key === undefined ? undefined : this.cached.get(key);
    if (known !== undefined) {
      this.last = { block: Buffer.from(bytes.subarray(start, end)), head: known };
      return known;
    }
    const head = readRequestHead(this.decoder.decode(bytes, start, end));
    // A block that has changed the table would do so again.
    if (this.decoder.generation === this.cachedGeneration && end - start <= CACHED_BYTES_MAX && this.cached.size < CACHED_MAX) {
      this.cached.set(key ?? bytes.toString('latin1', start, end), head);
    }
    return head;
  }
}

/** A call of `Buffer.compare` costs more than to look at so few bytes. */
function isEqual(block: Buffer, bytes: Buffer, start: number, end: number): boolean {
  if (block.length !== end - start) return false;
  for (let i = 0; i < block.length; i += 1) if (block[i] !== bytes[start + i]) return false;
  return true;
}
