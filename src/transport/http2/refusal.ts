/** What answers a stream whose headers are over a bound. */

import { status } from '@grpc/grpc-js';
import { errorFrame } from './answer-frames';
import type { Connection } from './connection';
import { HEADER_FIELDS_MAX, HEADER_LIST_BYTES_MAX } from './hpack-decoder';
import type { Stream, StreamHandler } from './stream';

const TOO_LARGE = errorFrame(status.RESOURCE_EXHAUSTED, `headers of over ${HEADER_LIST_BYTES_MAX} bytes or ${HEADER_FIELDS_MAX} fields`);

export function refuseHeaders(connection: Connection, stream: Stream): StreamHandler {
  connection.answerAtOnce(stream, TOO_LARGE);
  return {
    onData: (_bytes, start, end) => {
      connection.consume(stream, end - start);
    },
    onEnd: () => undefined,
    onReset: () => undefined,
  };
}
