/** Hands streams that are no decision to grpc-js in the same process: one client session of node:http2 for a connection. */

import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import { GRPC_MESSAGE_BYTES_MAX } from '../grpc-status';
import { errorFrame } from './answer-frames';
import { TOO_MUCH_WAITS, type ByteBudget } from './byte-budget';
import type { Connection } from './connection';
import { ErrorCode, StreamError } from './errors';
import { encodeHeaderBlock } from './hpack-encoder';
import type { HeaderField } from './header-field';
import { valuesOf, type RequestHead } from './request-head';
import type { Stream, StreamHandler } from './stream';

/** What may wait for the peer's window, of one stream, before grpc-js has to wait. */
const WAITING_BYTES_MAX = 64 * 1024;

/** What deflate makes of a byte at most, and gzip with it: grpc-js knows no other compression. */
const UNPACKED_BYTES_MAX = 1032;

const NO_TRAILERS = Buffer.alloc(0);

const NO_ROOM = errorFrame(status.RESOURCE_EXHAUSTED, TOO_MUCH_WAITS);

export interface BridgeParts {
  /** Makes a connection to grpc-js. */
  readonly dial: () => Socket;
  /** Of all connections: grpc-js keeps what has come of a message, and has no bound for all of them together. */
  readonly budget: ByteBudget;
}

export class Bridge {
  private session: ClientHttp2Session | undefined;

  constructor(private readonly parts: BridgeParts) {}

  open(connection: Connection, stream: Stream, { fields }: RequestHead): StreamHandler {
    return new BridgedStream({ connection, stream, request: this.request(stream, fields), isCompressed: isCompressed(fields), budget: this.parts.budget });
  }

  close(): void {
    this.session?.destroy();
  }

  private request(stream: Stream, fields: readonly HeaderField[]): ClientHttp2Stream {
    try {
      return this.live().request(toHeaders(fields), { endStream: stream.remoteEnded });
    } catch {
      // Headers that node:http2 does not send, as two content types.
      throw new StreamError(stream.id, ErrorCode.PROTOCOL_ERROR, 'headers that no gRPC call has');
    }
  }

  private live(): ClientHttp2Session {
    if (this.session !== undefined && !this.session.closed && !this.session.destroyed) return this.session;
    const session = connect('http://bridge', { createConnection: this.parts.dial });
    // Each stream of it has its own error; the session is made anew for the next one.
    session.on('error', () => undefined);
    this.session = session;
    return session;
  }
}

interface BridgedStreamParts {
  readonly connection: Connection;
  readonly stream: Stream;
  readonly request: ClientHttp2Stream;
  readonly isCompressed: boolean;
  readonly budget: ByteBudget;
}

class BridgedStream implements StreamHandler {
  private isOver = false;
  private isAnswered = false;
  /** Bytes of the request for which there has been no answer, and those that they take of the budget. */
  private waitingBytes = 0;
  private heldBytes = 0;
  private trailers: Buffer = NO_TRAILERS;

  constructor(private readonly parts: BridgedStreamParts) {
    const { connection, stream, request } = parts;
    request.on('error', () => undefined);
    request.once('response', (headers, flags: number) => {
      this.onResponse(headers, (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0);
    });
    request.once('trailers', (headers: IncomingHttpHeaders) => {
      this.trailers = encodeHeaderBlock(toFields(headers));
    });
    request.once('end', () => {
      if (this.isOver) return;
      connection.endWith(stream, this.trailers);
      this.finish();
    });
    request.once('close', () => {
      this.letGo();
      // Without an end: it was reset, or the session is gone.
      if (!this.isOver) connection.reset(stream, toErrorCode(request.rstCode));
    });
  }

  onData(bytes: Buffer, start: number, end: number): void {
    const { connection, stream, request } = this.parts;
    if (!request.writable) {
      connection.consume(stream, end - start);
      return;
    }
    if (!this.hold(end - start)) {
      this.refuse();
      return;
    }
    // The peer may send as much again once grpc-js has taken it.
    request.write(Buffer.from(bytes.subarray(start, end)), () => {
      connection.consume(stream, end - start);
    });
  }

  onEnd(): void {
    if (this.parts.request.writable) this.parts.request.end();
  }

  onReset(code: ErrorCode): void {
    this.isOver = true;
    this.letGo();
    this.parts.request.close(code);
  }

  onDrained(): void {
    this.parts.request.resume();
  }

  /**
   * All of the answer is here. If that was before the end of the request, nobody hands on the rest of it: left open, such calls
   * would take one place after the other of those that grpc-js has for a connection. Ended and not reset, since a Node
   * server takes many resets for a flood, and would cut off the other calls of this connection.
   */
  private finish(): void {
    this.isOver = true;
    this.letGo();
    const { request } = this.parts;
    if (request.writable) request.end();
  }

  /** A request that comes in one piece takes nothing: the health is told however much waits. A compressed one is as large as it may be unpacked. */
  private hold(bytes: number): boolean {
    const { stream, isCompressed, budget } = this.parts;
    if (stream.remoteEnded && this.waitingBytes === 0 && !isCompressed) return true;
    const waitingBytes = this.waitingBytes + bytes;
    const held = waitingBytes + (isCompressed ? Math.min(waitingBytes * UNPACKED_BYTES_MAX, GRPC_MESSAGE_BYTES_MAX) : 0);
    if (!budget.take(held - this.heldBytes)) return false;
    this.waitingBytes = waitingBytes;
    this.heldBytes = held;
    return true;
  }

  private letGo(): void {
    this.parts.budget.giveBack(this.heldBytes);
    this.heldBytes = this.waitingBytes = 0;
  }

  private refuse(): void {
    const { connection, stream, request } = this.parts;
    this.isOver = true;
    this.letGo();
    if (this.isAnswered) connection.reset(stream, ErrorCode.ENHANCE_YOUR_CALM);
    else connection.answerAtOnce(stream, NO_ROOM);
    // What grpc-js has of it goes with it.
    request.close(constants.NGHTTP2_CANCEL);
  }

  private onResponse(headers: IncomingHttpHeaders, isLast: boolean): void {
    const { connection, stream, request } = this.parts;
    this.isAnswered = true;
    this.letGo();
    connection.sendHeaders(stream, encodeHeaderBlock(toFields(headers)), { endStream: isLast });
    if (isLast) {
      this.finish();
      return;
    }
    // Not before: node:http2 may have data first, and the peer must have the headers.
    request.on('data', (chunk: Buffer) => {
      // Of a stream of messages each is answered: what has been counted is that one, or little more.
      this.letGo();
      if (connection.send(stream, chunk) > WAITING_BYTES_MAX) request.pause();
    });
  }
}

function isCompressed(fields: readonly HeaderField[]): boolean {
  return valuesOf(fields, 'grpc-encoding').some((encoding) => encoding !== 'identity');
}

function toHeaders(fields: readonly HeaderField[]): OutgoingHttpHeaders {
  const headers = Object.create(null) as Record<string, string | string[]>;
  for (const { name, value } of fields) {
    const before = headers[name];
    headers[name] = before === undefined ? value : [...(typeof before === 'string' ? [before] : before), value];
  }
  return headers;
}

/** `:status` is a number here, which the type of other headers does not say. */
function toFields(headers: Readonly<Record<string, string | number | string[] | undefined>>): HeaderField[] {
  return Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().map((one) => ({ name, value: String(one) })));
}

function toErrorCode(rstCode: number): ErrorCode {
  if (rstCode === constants.NGHTTP2_NO_ERROR) return ErrorCode.INTERNAL_ERROR;
  return Object.values(ErrorCode).find((code) => code === rstCode) ?? ErrorCode.INTERNAL_ERROR;
}
