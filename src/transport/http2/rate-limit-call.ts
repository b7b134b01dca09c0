/** One call of ShouldRateLimit on a stream: its one message is read, decided, and answered once. */

import { status } from '@grpc/grpc-js';
import { encodeResponse } from '../codec/encode-response';
import { NO_ANSWER, type Answer } from '../answer';
import { GRPC_MESSAGE_BYTES_MAX, STATUS_OF } from '../grpc-status';
import type { KnownRequests } from '../known-requests';
import { ANSWER_HEAD, errorFrame, OK_TRAILERS } from './answer-frames';
import { TOO_MUCH_WAITS, type ByteBudget } from './byte-budget';
import type { Connection } from './connection';
import { ErrorCode } from './errors';
import { MESSAGE_PREFIX_BYTES } from './frame-writer';
import { readUint32 } from './frames';
import type { GatheredCall, GatheredCalls } from './gathered-calls';
import { SHOULD_RATE_LIMIT_PATH } from './request-head';
import type { Stream, StreamHandler } from './stream';

const DEADLINE_EXCEEDED = errorFrame(status.DEADLINE_EXCEEDED, 'Deadline exceeded');

export interface RateLimitCallParts {
  /** Asked for by whoever has the connection, once all that has arrived is read. */
  readonly calls: Pick<GatheredCalls, 'add'>;
  readonly requests: KnownRequests;
  readonly budget: ByteBudget;
  /** When the bytes that are looked at were read, by a clock that is never set. */
  readonly readMs: () => number;
  /** Called once for each call that was decided or refused as a message, with the time from its arrival to its answer. */
  readonly onAnswer: (seconds: number) => void;
  /** Told of an answer that could not be sent. */
  readonly onFault: (error: unknown) => void;
}

export interface RateLimitCallInput {
  readonly connection: Connection;
  readonly stream: Stream;
  readonly timeoutMs: number | undefined;
}

export class RateLimitCall implements StreamHandler, GatheredCall {
  /** When the caller stops waiting, by the clock of `readMs`; undefined if it did not say. */
  readonly deadlineMs: number | undefined;
  private readonly startedMs: number;
  private readonly connection: Connection;
  private readonly stream: Stream;
  /** Pieces of a message that does not come in one. */
  private pieces: Buffer[] | undefined;
  private pieceBytes = 0;
  private isWorking = false;
  private isOver = false;

  constructor(
    private readonly parts: RateLimitCallParts,
    { connection, stream, timeoutMs }: RateLimitCallInput,
  ) {
    this.connection = connection;
    this.stream = stream;
    this.startedMs = parts.readMs();
    this.deadlineMs = timeoutMs === undefined ? undefined : this.startedMs + timeoutMs;
  }

  onData(bytes: Buffer, start: number, end: number): void {
    this.connection.consume(this.stream, end - start);
    if (this.isOver || this.isWorking) return;
    if (this.pieces === undefined && this.stream.remoteEnded && end - start >= MESSAGE_PREFIX_BYTES) {
      this.onMessage(bytes, start, end);
    } else if (end > start) {
      this.keep(bytes, start, end);
    }
  }

  onEnd(): void {
    if (this.isOver || this.isWorking) return;
    const message = Buffer.concat(this.pieces ?? []);
    this.letGo();
    if (message.length === 0) this.refuse(status.UNIMPLEMENTED, `Received no request message for method ${SHOULD_RATE_LIMIT_PATH}`);
    else if (message.length < MESSAGE_PREFIX_BYTES) this.refuse(status.INTERNAL, 'Received a message that ends early');
    else this.onMessage(message, 0, message.length);
  }

  onReset(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.letGo();
    // What is under way goes on, and counts as a stream until it is done: resetting is no way to start more of it.
    if (this.isWorking) this.connection.countOrphan(1);
  }

  endIfLate(nowMs: number): number | undefined {
    if (this.isOver || this.deadlineMs === undefined) return undefined;
    if (nowMs < this.deadlineMs) return this.deadlineMs;
    this.connection.answerAtOnce(this.stream, DEADLINE_EXCEEDED);
    this.onReset();
    return undefined;
  }

  private keep(bytes: Buffer, start: number, end: number): void {
    const length = end - start;
    if (!this.parts.budget.take(length)) {
      this.refuse(status.RESOURCE_EXHAUSTED, TOO_MUCH_WAITS);
      return;
    }
    const pieces = (this.pieces ??= []);
    pieces.push(Buffer.from(bytes.subarray(start, end)));
    this.pieceBytes += length;
    // Its length is the first that is known of a message: one that is too large need not come.
    if (this.pieceBytes >= MESSAGE_PREFIX_BYTES && this.pieceBytes - length < MESSAGE_PREFIX_BYTES) {
      const prefix = Buffer.concat(pieces).subarray(0, MESSAGE_PREFIX_BYTES);
      if (!this.checkSize(readUint32(prefix, 1))) return;
    }
    if (this.pieceBytes > MESSAGE_PREFIX_BYTES + GRPC_MESSAGE_BYTES_MAX) this.refuseSecond();
  }

  private onMessage(bytes: Buffer, start: number, end: number): void {
    const length = readUint32(bytes, start + 1);
    const from = start + MESSAGE_PREFIX_BYTES;
    if (!this.checkSize(length)) return;
    if (from + length > end) this.refuse(status.INTERNAL, 'Received a message that ends early');
    else if (from + length < end) this.refuseSecond();
    else if (bytes[start] !== 0) this.refuse(status.INTERNAL, 'Received a compressed message without grpc-encoding');
    else this.decide(bytes, from, end);
  }

  private decide(bytes: Buffer, start: number, end: number): void {
    this.isWorking = true;
    const { deadlineMs, parts } = this;
    // In whole milliseconds, so that calls which come together wait for as long.
    const timeoutMs = deadlineMs === undefined ? undefined : Math.max(0, Math.ceil(deadlineMs - parts.readMs()));
    parts.calls.add(this, parts.requests.read(bytes, start, end), timeoutMs);
  }

  onAnswer(answer: Answer | undefined, nowMs: number): void {
    this.isWorking = false;
    if (this.isOver) this.connection.countOrphan(-1);
    else this.answer(answer ?? NO_ANSWER);
    this.parts.onAnswer((nowMs - this.startedMs) / 1000);
  }

  /** Nobody waits for an answer that will not come. */
  onFault(error: unknown): void {
    this.isOver = true;
    this.parts.onFault(error);
    this.connection.reset(this.stream, ErrorCode.INTERNAL_ERROR);
  }

  private answer(answer: Answer): void {
    this.isOver = true;
    if ('decision' in answer) {
      this.connection.answer(this.stream, { head: ANSWER_HEAD, message: encodeResponse(answer.decision), trailers: OK_TRAILERS });
    } else {
      this.connection.answerAtOnce(this.stream, errorFrame(STATUS_OF[answer.failure.kind], answer.failure.message));
    }
  }

  private checkSize(length: number): boolean {
    if (length <= GRPC_MESSAGE_BYTES_MAX) return true;
    this.refuse(status.RESOURCE_EXHAUSTED, `Received message larger than max (${length} vs. ${GRPC_MESSAGE_BYTES_MAX})`);
    return false;
  }

  private refuseSecond(): void {
    this.refuse(status.UNIMPLEMENTED, `Received a second request message for method ${SHOULD_RATE_LIMIT_PATH}`);
  }

  private refuse(code: status, details: string): void {
    this.isOver = true;
    this.letGo();
    this.connection.answerAtOnce(this.stream, errorFrame(code, details));
  }

  private letGo(): void {
    this.parts.budget.giveBack(this.pieceBytes);
    this.pieceBytes = 0;
    this.pieces = undefined;
  }
}
