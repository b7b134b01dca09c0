/** The HPACK dynamic table of the encoder: repeated header frames are indexed once, and then take a few bytes. */

import { FRAME_HEADER_BYTES, FrameType } from '../frames/frames';
import { prepareFrame } from '../frames/frame-writer';
import type { HeaderField } from '../hpack/header-field';
import { encodeHeaderBlock, encodeIndexingBlock, encodeIndexedBlock, isIndexable } from '../hpack/hpack-encoder';

/** A header frame with constant fields, in its forms that are independent of the peer's dynamic table. */
export interface HeadersFrame {
  readonly flags: number;
  readonly fields: readonly HeaderField[];
  /** Adds nothing to the dynamic table. */
  readonly plain: Buffer;
  /** The block of `plain`, without the frame header. */
  readonly plainBlock: Buffer;
  /** Adds each field to the dynamic table that the static table lacks. */
  readonly indexing: Buffer;
}

export function headersFrame(flags: number, fields: readonly HeaderField[]): HeadersFrame {
  const plain = prepareFrame(FrameType.HEADERS, flags, encodeHeaderBlock(fields));
  return {
    flags,
    fields,
    plain,
    plainBlock: plain.subarray(FRAME_HEADER_BYTES),
    indexing: prepareFrame(FrameType.HEADERS, flags, encodeIndexingBlock(fields)),
  };
}

/**
 * The dynamic table of one peer, as far as this server fills it (RFC 7541, 2.3.2). It holds only a few constant fields,
 * far below the initial 4,096 bytes, so nothing is ever evicted.
 */
export class EncoderDynamicTable {
  private readonly fields: HeaderField[] = [];
  /** For each indexed frame its form by the present table. */
  private readonly frames = new Map<HeadersFrame, Buffer>();

  /** The frame to send now, without its stream id. The caller must send it before the next one. */
  take(frame: HeadersFrame): Buffer {
    return this.frames.get(frame) ?? this.index(frame);
  }

  private index(frame: HeadersFrame): Buffer {
    this.fields.push(...frame.fields.filter(isIndexable));
    // New fields come first in the table, so the indexes of all earlier ones change.
    for (const each of [...this.frames.keys(), frame])
      this.frames.set(each, prepareFrame(FrameType.HEADERS, each.flags, encodeIndexedBlock(each.fields, this.fields)));
    return frame.indexing;
  }
}
