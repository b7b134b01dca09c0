/** What answers streams that are no calls: their headers are over a bound, or not gRPC's. */

import { status } from '@grpc/grpc-js';
import { errorFrame } from './answer-frames';
import type { Connection } from './connection';
import { HEADER_FIELDS_MAX, HEADER_LIST_BYTES_MAX } from './hpack-decoder';
import { encodeHeaderBlock } from './hpack-encoder';
import { valuesOf, type RequestHead } from './request-head';
import type { Stream, StreamHandler } from './stream';

const TOO_LARGE = errorFrame(status.RESOURCE_EXHAUSTED, `headers of over ${HEADER_LIST_BYTES_MAX} bytes or ${HEADER_FIELDS_MAX} fields`);

const NO_GRPC_HEADERS = encodeHeaderBlock([
  { name: ':status', value: '415' },
  { name: 'content-type', value: 'text/plain' },
]);

const NO_GRPC_TEXT = Buffer.from('This is a gRPC port: POST with content-type application/grpc. The HTTP port has /json and /healthcheck.\n');

const NO_TRAILERS = Buffer.alloc(0);

export function refuseLarge(connection: Connection, stream: Stream): StreamHandler {
  return answerAtEnd(connection, stream, () => {
    connection.answerAtOnce(stream, TOO_LARGE);
  });
}

/** For whoever looks at the port with a browser or curl. */
export function refuseOtherHttp(connection: Connection, stream: Stream, { fields }: RequestHead): StreamHandler {
  return answerAtEnd(connection, stream, () => {
    const isHead = valuesOf(fields, ':method')[0] === 'HEAD';
    connection.sendHeaders(stream, NO_GRPC_HEADERS, { endStream: isHead });
    if (isHead) return;
    connection.send(stream, NO_GRPC_TEXT);
    connection.endWith(stream, NO_TRAILERS);
  });
}

/** Not before: what is yet to come may show that it is no request at all. */
function answerAtEnd(connection: Connection, stream: Stream, answer: () => void): StreamHandler {
  return {
    onData: (_bytes, start, end) => {
      connection.consume(stream, end - start);
    },
    onEnd: answer,
    onReset: () => undefined,
  };
}
