/** Assembles header blocks from HEADERS and CONTINUATION within bounds, and decodes them; identical blocks are decoded once. */

import { ConnectionError, ErrorCode } from '../frames/errors';
import { HpackDecoder, HEADER_LIST_BYTES_MAX } from '../hpack/hpack-decoder';
import { headLike, readRequestHead, type RequestHead } from './request-head';

/** Maximum encoded size of a block: that of a decoded list, although HPACK should make it smaller. */
const BLOCK_BYTES_MAX = HEADER_LIST_BYTES_MAX;

/** Maximum of CONTINUATION frames in a block; four are enough for the largest one. */
const CONTINUATIONS_MAX = 8;

/** Maximum of cached blocks, and their maximum size: Envoy's have about 60 bytes, and a connection uses a few of them. */
const CACHED_MAX = 64;
const CACHED_BYTES_MAX = 512;

export class HeaderBlocks {
  private readonly decoder = new HpackDecoder();
  /** By the block's bytes; valid while the decoder's dynamic table is unchanged. */
  private readonly cached = new Map<string, RequestHead>();
  private cachedGeneration = 0;
  /** The cached block used last, which is usually the next one too: comparing is cheaper than a lookup. */
  private last: { readonly block: Buffer; readonly head: RequestHead } | undefined;
  /** The head read last. Unlike the cached ones it stays valid when the table changes, because its fields are decoded. */
  private lastRead: RequestHead | undefined;
  private pieces: Buffer[] | undefined;
  private pieceBytes = 0;

  /** Whether a block has begun, so that only its CONTINUATION may follow. */
  get isOpen(): boolean {
    return this.pieces !== undefined;
  }

  begin(bytes: Buffer, start: number, end: number): void {
    this.pieces = [];
    this.pieceBytes = 0;
    this.append(bytes, start, end);
  }

  /** @throws ConnectionError ENHANCE_YOUR_CALM for a block that is too long */
  append(bytes: Buffer, start: number, end: number): void {
    this.pieceBytes += end - start;
    const pieces = (this.pieces ??= []);
    if (this.pieceBytes > BLOCK_BYTES_MAX || pieces.length > CONTINUATIONS_MAX) {
      throw new ConnectionError(
        ErrorCode.ENHANCE_YOUR_CALM,
        `a header block of over ${BLOCK_BYTES_MAX} bytes or ${CONTINUATIONS_MAX} continuations`,
      );
    }
    pieces.push(Buffer.from(bytes.subarray(start, end)));
  }

  /** @throws ConnectionError for an invalid block */
  finish(): RequestHead {
    const block = Buffer.concat(this.pieces ?? []);
    this.pieces = undefined;
    return this.decode(block, 0, block.length);
  }

  /**
   * Decodes a complete block.
   *
   * @throws ConnectionError for an invalid block
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
    const list = this.decoder.decode(bytes, start, end);
    const head = (this.lastRead === undefined ? undefined : headLike(this.lastRead, list)) ?? readRequestHead(list);
    this.lastRead = head;
    // Not cached if it changed the table, because decoding it again would do so again.
    if (this.decoder.generation === this.cachedGeneration && end - start <= CACHED_BYTES_MAX && this.cached.size < CACHED_MAX) {
      this.cached.set(key ?? bytes.toString('latin1', start, end), head);
    }
    return head;
  }
}

/** A loop, because calling `Buffer.compare` costs more for so short a block. */
function isEqual(block: Buffer, bytes: Buffer, start: number, end: number): boolean {
  if (block.length !== end - start) return false;
  for (let i = 0; i < block.length; i += 1) if (block[i] !== bytes[start + i]) return false;
  return true;
}
