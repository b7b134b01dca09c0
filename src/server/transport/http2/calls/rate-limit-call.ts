/** A ShouldRateLimit call on a stream: reads its one message, and answers it once. */

import type { CallTracer, TracedCall } from '../../../observability/tracing/call-tracer';
import type { RequestTrace } from '../../../../state/request/request-trace';
import { encodeResponse } from '../../messages/response';
import { NO_ANSWER, type Answer } from '../../answer';
import { tooLarge } from '../../grpc/grpc-method';
import { GRPC_MESSAGE_BYTES_MAX, status, STATUS_OF, type Status } from '../../grpc/grpc-status';
import type { RequestCache } from '../../messages/request-cache';
import { ANSWER_HEAD, errorFrame, OK_TRAILERS } from './answer-frames';
import { TOO_MUCH_WAITS, type ByteBudget } from '../../byte-budget';
import type { Connection } from '../connection/connection';
import { ErrorCode } from '../frames/errors';
import { MESSAGE_PREFIX_BYTES } from '../frames/frame-writer';
import { readUint32 } from '../frames/frames';
import type { GatheredCall, GatheredCalls } from './gathered-calls';
import { MessageBytes } from './message-bytes';
import { parentOf, SHOULD_RATE_LIMIT_PATH, type RequestHead } from '../connection/request-head';
import type { Stream, StreamHandler } from '../connection/stream';

const DEADLINE_EXCEEDED = errorFrame(status.DEADLINE_EXCEEDED, 'Deadline exceeded');

const NO_BYTES = Buffer.alloc(0);

export interface RateLimitCallParts {
  /** The connection sends this batch after it has processed a read. */
  readonly calls: Pick<GatheredCalls, 'add'>;
  readonly requests: RequestCache;
  readonly budget: ByteBudget;
  /** When the bytes being processed were read, by a monotonic clock. */
  readonly readMs: () => number;
  /** Called for each call that got a decision or an invalid message, with the time from its arrival to its answer. */
  readonly onAnswer: (seconds: number) => void;
  /** Called if an answer could not be sent. */
  readonly onFault: (error: unknown) => void;
  /** Undefined: tracing is off. */
  readonly tracer: CallTracer | undefined;
}

export interface RateLimitCallInput {
  readonly connection: Connection;
  readonly stream: Stream;
  readonly head: RequestHead;
}

export class RateLimitCall implements StreamHandler, GatheredCall {
  /** The caller's deadline, by the clock of `readMs`; undefined if it has none. */
  readonly deadlineMs: number | undefined;
  private readonly startedMs: number;
  private readonly connection: Connection;
  private readonly stream: Stream;
  /** Undefined: the call is not sampled. */
  private readonly trace: TracedCall | undefined;
  /** The bytes of a message that does not arrive in one piece. */
  private received: MessageBytes | undefined;
  private isWorking = false;
  private isOver = false;

  constructor(
    private readonly parts: RateLimitCallParts,
    { connection, stream, head }: RateLimitCallInput,
  ) {
    this.connection = connection;
    this.stream = stream;
    this.startedMs = parts.readMs();
    this.deadlineMs = head.timeoutMs === undefined ? undefined : this.startedMs + head.timeoutMs;
    this.trace = parts.tracer?.begin({ kind: 'grpc', startedMs: this.startedMs, parent: parentOf(head) });
  }

  get requestTrace(): RequestTrace | undefined {
    return this.trace?.request;
  }

  onData(bytes: Buffer, start: number, end: number): void {
    this.connection.consume(this.stream, end - start);
    if (this.isOver || this.isWorking) return;
    if (this.received === undefined && this.stream.remoteEnded && end - start >= MESSAGE_PREFIX_BYTES) {
      this.onMessage(bytes, start, end);
    } else if (end > start) {
      this.keep(bytes, start, end);
    }
  }

  onEnd(): void {
    if (this.isOver || this.isWorking) return;
    const message = this.received?.takeAll() ?? NO_BYTES;
    if (message.length === 0) this.refuse(status.UNIMPLEMENTED, `Received no request message for method ${SHOULD_RATE_LIMIT_PATH}`);
    else if (message.length < MESSAGE_PREFIX_BYTES) this.refuse(status.INTERNAL, 'Received a message that ends early');
    else this.onMessage(message, 0, message.length);
  }

  onReset(): void {
    this.abandon(status.CANCELLED);
  }

  private abandon(code: Status): void {
    if (this.isOver) return;
    this.isOver = true;
    this.trace?.end(code);
    this.release();
    // Work in progress continues and counts as a stream until it ends: a client cannot start more work by resetting streams.
    if (this.isWorking) this.connection.countAbandoned(1);
  }

  endIfLate(nowMs: number): number | undefined {
    if (this.isOver || this.deadlineMs === undefined) return undefined;
    if (nowMs < this.deadlineMs) return this.deadlineMs;
    this.connection.answerAtOnce(this.stream, DEADLINE_EXCEEDED);
    this.abandon(status.DEADLINE_EXCEEDED);
    return undefined;
  }

  private keep(bytes: Buffer, start: number, end: number): void {
    const received = (this.received ??= new MessageBytes(this.parts.budget));
    if (!received.append(bytes, start, end)) {
      this.refuse(status.RESOURCE_EXHAUSTED, TOO_MUCH_WAITS);
      return;
    }
    // The length is known first: a message that is too large is rejected before it arrives.
    const { nextLength } = received;
    if (nextLength !== undefined && !this.checkSize(nextLength)) return;
    if (received.length > MESSAGE_PREFIX_BYTES + GRPC_MESSAGE_BYTES_MAX) this.refuseSecond();
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
    // In whole milliseconds, so that calls that arrive together have the same timeout and share a batch.
    const timeoutMs = deadlineMs === undefined ? undefined : Math.max(0, Math.ceil(deadlineMs - parts.readMs()));
    parts.calls.add(this, parts.requests.read(bytes, start, end), timeoutMs);
  }

  onAnswer(answer: Answer | undefined, nowMs: number): void {
    this.isWorking = false;
    if (this.isOver) this.connection.countAbandoned(-1);
    else this.answer(answer ?? NO_ANSWER);
    this.parts.onAnswer((nowMs - this.startedMs) / 1000);
  }

  /** The answer cannot be sent, so the stream is reset. */
  onFault(error: unknown): void {
    this.isOver = true;
    this.parts.onFault(error);
    this.connection.reset(this.stream, ErrorCode.INTERNAL_ERROR);
  }

  private answer(answer: Answer): void {
    this.isOver = true;
    this.trace?.end('decision' in answer ? status.OK : STATUS_OF[answer.failure.kind]);
    if ('decision' in answer) {
      this.connection.answer(this.stream, { head: ANSWER_HEAD, message: encodeResponse(answer.decision), trailers: OK_TRAILERS });
    } else {
      this.connection.answerAtOnce(this.stream, errorFrame(STATUS_OF[answer.failure.kind], answer.failure.message));
    }
  }

  private checkSize(length: number): boolean {
    if (length <= GRPC_MESSAGE_BYTES_MAX) return true;
    const { code, details } = tooLarge(length, GRPC_MESSAGE_BYTES_MAX);
    this.refuse(code, details);
    return false;
  }

  private refuseSecond(): void {
    this.refuse(status.UNIMPLEMENTED, `Received a second request message for method ${SHOULD_RATE_LIMIT_PATH}`);
  }

  private refuse(code: Status, details: string): void {
    this.isOver = true;
    this.trace?.end(code);
    this.release();
    this.connection.answerAtOnce(this.stream, errorFrame(code, details));
  }

  private release(): void {
    this.received?.clear();
    this.received = undefined;
  }
}
