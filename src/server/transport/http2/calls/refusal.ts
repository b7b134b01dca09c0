/** Answers streams that are not gRPC calls: their headers exceed a bound, or are those of plain HTTP. */

import { status } from '../../grpc/grpc-status';
import { errorFrame } from './answer-frames';
import type { Connection } from '../connection/connection';
import { HEADER_FIELDS_MAX, HEADER_LIST_BYTES_MAX } from '../hpack/hpack-decoder';
import { encodeHeaderBlock } from '../hpack/hpack-encoder';
import { valuesOf, type RequestHead } from '../connection/request-head';
import type { Stream, StreamHandler } from '../connection/stream';

const TOO_LARGE = errorFrame(status.RESOURCE_EXHAUSTED, `headers of over ${HEADER_LIST_BYTES_MAX} bytes or ${HEADER_FIELDS_MAX} fields`);

const NO_GRPC_HEADERS = encodeHeaderBlock([
  { name: ':status', value: '415' },
  { name: 'content-type', value: 'text/plain' },
]);

const NO_GRPC_TEXT = Buffer.from(
  'This is a gRPC port: POST with content-type application/grpc. The HTTP port has /json and /healthcheck.\n',
);

const NO_TRAILERS = Buffer.alloc(0);

export function refuseLarge(connection: Connection, stream: Stream): StreamHandler {
  return answerAtEnd(connection, stream, () => {
    connection.answerAtOnce(stream, TOO_LARGE);
  });
}

/** For people who open the port with a browser or curl. */
export function refuseOtherHttp(connection: Connection, stream: Stream, { fields }: RequestHead): StreamHandler {
  return answerAtEnd(connection, stream, () => {
    const isHead = valuesOf(fields, ':method')[0] === 'HEAD';
    connection.sendHeaders(stream, NO_GRPC_HEADERS, { endStream: isHead });
    if (isHead) return;
    connection.send(stream, NO_GRPC_TEXT);
    connection.endWith(stream, NO_TRAILERS);
  });
}

/** Answers at the end of the request: its remaining frames may still show that it is malformed. */
function answerAtEnd(connection: Connection, stream: Stream, answer: () => void): StreamHandler {
  return {
    onData: (_bytes, start, end) => {
      connection.consume(stream, end - start);
    },
    onEnd: answer,
    onReset: () => undefined,
  };
}
