/** The header frames of gRPC answers, made once: of an answer its first and its last, of an error the only one. */

import { prepareFrame } from './frame-writer';
import { Flag, FrameType } from './frames';
import type { HeaderField } from './header-field';
import { encodeHeaderBlock } from './hpack-encoder';
import { headersFrame } from './told-headers';

const RESPONSE: readonly HeaderField[] = [
  { name: ':status', value: '200' },
  { name: 'content-type', value: 'application/grpc' },
  { name: 'grpc-accept-encoding', value: 'identity,deflate,gzip' },
];

export const ANSWER_HEAD = headersFrame(Flag.END_HEADERS, RESPONSE);

export const OK_TRAILERS = headersFrame(Flag.END_HEADERS | Flag.END_STREAM, [{ name: 'grpc-status', value: '0' }]);

/** An answer that is an error: headers and trailers in one. */
export function errorFrame(status: number, details: string): Buffer {
  const block = encodeHeaderBlock([
    ...RESPONSE.slice(0, 2),
    { name: 'grpc-status', value: String(status) },
    { name: 'grpc-message', value: percentEncoded(details) },
  ]);
  return prepareFrame(FrameType.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, block);
}

/** As gRPC wants text in a header: UTF-8, and all but printable ASCII as %XX. */
function percentEncoded(text: string): string {
  return Array.from(Buffer.from(text, 'utf8'), (byte) =>
    byte < 0x20 || byte > 0x7e || byte === 0x25 ? `%${byte.toString(16).toUpperCase().padStart(2, '0')}` : String.fromCharCode(byte),
  ).join('');
}
