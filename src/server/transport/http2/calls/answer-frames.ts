/** Prebuilt header frames of gRPC answers: the first and last frame of a success, and the single frame of an error. */

import { prepareFrame } from '../frames/frame-writer';
import { Flag, FrameType } from '../frames/frames';
import type { HeaderField } from '../hpack/header-field';
import { encodeHeaderBlock } from '../hpack/hpack-encoder';
import { headersFrame } from '../connection/encoder-dynamic-table';

const RESPONSE: readonly HeaderField[] = [
  { name: ':status', value: '200' },
  { name: 'content-type', value: 'application/grpc' },
  { name: 'grpc-accept-encoding', value: 'identity,deflate,gzip' },
];

export const ANSWER_HEAD = headersFrame(Flag.END_HEADERS, RESPONSE);

export const OK_TRAILERS = headersFrame(Flag.END_HEADERS | Flag.END_STREAM, [{ name: 'grpc-status', value: '0' }]);

/** Maximum length of an error's text, which may repeat input: a frame holds 16,384 bytes, and a character takes at most 9. */
const DETAILS_CHARS_MAX = 200;

/** A trailers-only response with an error. */
export function errorFrame(status: number, details: string): Buffer {
  return prepareFrame(
    FrameType.HEADERS,
    Flag.END_HEADERS | Flag.END_STREAM,
    encodeHeaderBlock([...RESPONSE.slice(0, 2), ...errorFields(status, details)]),
  );
}

/** The trailers of a response that has begun and ends with an error. */
export function errorBlock(status: number, details: string): Buffer {
  return encodeHeaderBlock(errorFields(status, details));
}

function errorFields(status: number, details: string): HeaderField[] {
  return [
    { name: 'grpc-status', value: String(status) },
    { name: 'grpc-message', value: percentEncoded(details.slice(0, DETAILS_CHARS_MAX)) },
  ];
}

/** The encoding of gRPC for texts in headers: UTF-8, with everything but printable ASCII as %XX. */
function percentEncoded(text: string): string {
  return Array.from(Buffer.from(text, 'utf8'), (byte) =>
    byte < 0x20 || byte > 0x7e || byte === 0x25 ? `%${byte.toString(16).toUpperCase().padStart(2, '0')}` : String.fromCharCode(byte),
  ).join('');
}
