/** The server's own SETTINGS; all others have HTTP/2's defaults. */

import { HEADER_LIST_BYTES_MAX } from '../hpack/hpack-decoder';

const MAX_CONCURRENT_STREAMS = 3;
const MAX_HEADER_LIST_SIZE = 6;

export function serverSettings(streamsMax: number): Buffer {
  const payload = Buffer.alloc(12);
  payload.writeUInt16BE(MAX_CONCURRENT_STREAMS, 0);
  payload.writeUInt32BE(streamsMax, 2);
  payload.writeUInt16BE(MAX_HEADER_LIST_SIZE, 6);
  payload.writeUInt32BE(HEADER_LIST_BYTES_MAX, 8);
  return payload;
}
