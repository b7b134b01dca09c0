/** What a connection's peer remembers of the header frames that we send again and again: told once, they have a few bytes. */

import { FRAME_HEADER_BYTES, FrameType } from './frames';
import { prepareFrame } from './frame-writer';
import type { HeaderField } from './header-field';
import { encodeHeaderBlock, encodeTellingBlock, encodeToldBlock, isTellable } from './hpack-encoder';

/** A header frame that every connection sends alike, in the forms that need no knowledge of what the peer remembers. */
export interface HeadersFrame {
  readonly flags: number;
  readonly fields: readonly HeaderField[];
  /** Asks the peer to remember nothing. */
  readonly plain: Buffer;
  /** The block of `plain`, without the frame's header. */
  readonly plainBlock: Buffer;
  /** Asks it to remember each field that HTTP/2 has not of itself. */
  readonly telling: Buffer;
}

export function headersFrame(flags: number, fields: readonly HeaderField[]): HeadersFrame {
  const plain = prepareFrame(FrameType.HEADERS, flags, encodeHeaderBlock(fields));
  return { flags, fields, plain, plainBlock: plain.subarray(FRAME_HEADER_BYTES), telling: prepareFrame(FrameType.HEADERS, flags, encodeTellingBlock(fields)) };
}

/**
 * The dynamic table of one peer, as far as we fill it (RFC 7541, 2.3.2). What we tell is a few fields of this program's
 * own, far below the 4,096 bytes that each table has at first, so nothing is ever evicted from it.
 */
export class ToldHeaders {
  private readonly fields: HeaderField[] = [];
  /** Of each frame that was told the form that goes by the table as it is now. */
  private readonly frames = new Map<HeadersFrame, Buffer>();

  /** The frame to send now, its stream not yet put in; it has to be sent, and the next one after it. */
  take(frame: HeadersFrame): Buffer {
    return this.frames.get(frame) ?? this.tell(frame);
  }

  private tell(frame: HeadersFrame): Buffer {
    this.fields.push(...frame.fields.filter(isTellable));
    // What is new comes first in the table: all that was told before has moved.
    for (const told of [...this.frames.keys(), frame]) this.frames.set(told, prepareFrame(FrameType.HEADERS, told.flags, encodeToldBlock(told.fields, this.fields)));
    return frame.telling;
  }
}
