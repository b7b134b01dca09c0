/** A call of any method on a stream: splits its messages, passes them to the method, and sends the answers. */

import type { ParentContext } from '../../../observability/tracing/trace-context';
import { status } from '../../grpc/grpc-status';
import {
  tooLarge,
  type AnswerStream,
  type CallError,
  type GrpcMethod,
  type MethodAnswer,
  type RequestReader,
} from '../../grpc/grpc-method';
import type { TurnQueue } from '../../turn-queue';
import { ANSWER_HEAD, errorBlock, errorFrame, OK_TRAILERS } from './answer-frames';
import { TOO_MUCH_WAITS, type ByteBudget } from '../../byte-budget';
import type { Connection } from '../connection/connection';
import { MESSAGE_PREFIX_BYTES } from '../frames/frame-writer';
import { MessageBytes, type FramedMessage } from './message-bytes';
import { parentOf, valuesOf, type RequestHead } from '../connection/request-head';
import type { Stream, StreamHandler } from '../connection/stream';
import { encodingOf, unpack, unpackedBytesMax } from './unpack';

/** Bytes of answers that may wait for the peer's window before the stream's next message is passed on. */
const WAITING_BYTES_MAX = 64 * 1024;

/** Messages of a stream passed on in one go: each message of reflection takes about 0.1 ms. */
const MESSAGES_AT_ONCE_MAX = 4;

const NO_ROOM: CallError = { code: status.RESOURCE_EXHAUSTED, details: TOO_MUCH_WAITS };
const ENDS_EARLY: CallError = { code: status.INTERNAL, details: 'Received a message that ends early' };
const DEADLINE_EXCEEDED: CallError = { code: status.DEADLINE_EXCEEDED, details: 'Deadline exceeded' };
const FAULT: CallError = { code: status.INTERNAL, details: 'internal error; see the log of the rate limit service' };

export interface MethodCallParts {
  readonly methods: ReadonlyMap<string, GrpcMethod>;
  readonly budget: ByteBudget;
  /** The queue of streams with more messages than that. */
  readonly turns: TurnQueue;
  /** When the bytes being processed were read, by a monotonic clock. */
  readonly readMs: () => number;
  /** Called with an error thrown by a method. */
  readonly onFault: (error: unknown) => void;
}

export interface MethodCallInput {
  readonly connection: Connection;
  readonly stream: Stream;
  readonly head: RequestHead;
}

/** Rejects unknown methods and invalid timeouts; otherwise starts the call. */
export function openMethodCall(
  parts: MethodCallParts,
  input: MethodCallInput,
): StreamHandler & { readonly deadlineMs?: number | undefined } {
  const { connection, stream, head } = input;
  const [path = ''] = valuesOf(head.fields, ':path');
  const [timeout] = valuesOf(head.fields, 'grpc-timeout');
  const method = parts.methods.get(path);
  if (method === undefined)
    return refuse(connection, stream, { code: status.UNIMPLEMENTED, details: `The server does not implement the method ${path}` });
  if (timeout !== undefined && head.timeoutMs === undefined)
    return refuse(connection, stream, { code: status.INTERNAL, details: `Invalid grpc-timeout value "${timeout}"` });
  return new MethodCall(parts, { connection, stream, head, method });
}

/** Answers at once, not at the end of the request: a streaming client may wait for an answer before it sends more. */
function refuse(connection: Connection, stream: Stream, { code, details }: CallError): StreamHandler {
  connection.answerAtOnce(stream, errorFrame(code, details));
  return {
    onData: (_bytes, start, end) => {
      connection.consume(stream, end - start);
    },
    onEnd: () => undefined,
    onReset: () => undefined,
  };
}

class MethodCall implements StreamHandler, AnswerStream {
  /** The caller's deadline, by the clock of `readMs`; undefined if it has none. */
  readonly deadlineMs: number | undefined;
  private readonly connection: Connection;
  private readonly stream: Stream;
  private readonly method: GrpcMethod;
  private readonly head: RequestHead;
  private readonly encoding: string;
  private readonly received: MessageBytes;
  private readonly reader: RequestReader | undefined;
  /** For a method with one message: the message, if it arrived whole together with END_STREAM. */
  private only: FramedMessage | undefined;
  private hasEnded = false;
  private isEndTold = false;
  private isUnpacking = false;
  private isWaitingForTurn = false;
  private isWorking = false;
  private hasHeaders = false;
  private waitingBytes = 0;
  private isOver = false;

  constructor(
    private readonly parts: MethodCallParts,
    { connection, stream, head, method }: MethodCallInput & { readonly method: GrpcMethod },
  ) {
    this.connection = connection;
    this.stream = stream;
    this.method = method;
    this.head = head;
    this.encoding = encodingOf(head.fields);
    this.received = new MessageBytes(parts.budget);
    this.deadlineMs = head.timeoutMs === undefined ? undefined : parts.readMs() + head.timeoutMs;
    this.reader = method.kind === 'stream' ? method.open(this) : undefined;
  }

  onData(bytes: Buffer, start: number, end: number): void {
    if (this.isOver) {
      this.connection.consume(this.stream, end - start);
      return;
    }
    if (this.takesMany) this.receive(bytes, start, end);
    else this.receiveOnly(bytes, start, end);
  }

  onEnd(): void {
    this.hasEnded = true;
    this.advance();
  }

  onReset(): void {
    if (this.isOver) return;
    this.finish();
  }

  onDrained(): void {
    // Answers that were sent at once made nobody wait.
    if (this.isOver || !this.isFull) return;
    this.waitingBytes = 0;
    this.guarded(() => this.reader?.onDrained?.());
    if (this.takesMany) this.advance();
  }

  endIfLate(nowMs: number): number | undefined {
    if (this.isOver || this.deadlineMs === undefined) return undefined;
    if (nowMs < this.deadlineMs) return this.deadlineMs;
    this.end(DEADLINE_EXCEEDED);
    return undefined;
  }

  get isFull(): boolean {
    return this.waitingBytes > WAITING_BYTES_MAX;
  }

  write(message: Buffer): void {
    if (this.isOver) return;
    this.sendHeaders();
    const framed = Buffer.allocUnsafe(MESSAGE_PREFIX_BYTES + message.length);
    framed[0] = 0;
    framed.writeUInt32BE(message.length, 1);
    message.copy(framed, MESSAGE_PREFIX_BYTES);
    this.waitingBytes = this.connection.send(this.stream, framed);
  }

  end(error?: CallError): void {
    if (this.isOver) return;
    const { connection, stream, hasHeaders } = this;
    this.finish();
    if (error !== undefined && !hasHeaders) {
      connection.answerAtOnce(stream, errorFrame(error.code, error.details));
      return;
    }
    this.sendHeaders();
    connection.endWith(stream, error === undefined ? OK_TRAILERS.plainBlock : errorBlock(error.code, error.details));
  }

  private get takesMany(): boolean {
    return this.method.kind === 'stream' && this.method.requests === 'many';
  }

  /** Returns window for a message once it is passed on, so that a peer that does not read its answers cannot send more. */
  private receive(bytes: Buffer, start: number, end: number): void {
    if (!this.received.append(bytes, start, end)) {
      this.connection.consume(this.stream, end - start);
      this.end(NO_ROOM);
      return;
    }
    this.advance();
  }

  /** A message in one piece uses none of the budget, so the health answers however much waits. */
  private receiveOnly(bytes: Buffer, start: number, end: number): void {
    this.connection.consume(this.stream, end - start);
    if (start === end) return;
    const from = start + MESSAGE_PREFIX_BYTES;
    if (this.stream.remoteEnded && this.received.length === 0 && isWhole(bytes, start, end) && end - from <= this.method.bytesMax) {
      this.only = { isCompressed: bytes[start] !== 0, bytes: Buffer.from(bytes.subarray(from, end)) };
    } else if (this.received.append(bytes, start, end)) {
      this.advance();
    } else {
      this.end(NO_ROOM);
    }
  }

  /** Processes what has arrived. */
  private advance(): void {
    if (this.takesMany) this.advanceMany();
    else this.advanceOnly();
  }

  private advanceOnly(): void {
    if (this.isOver || this.isUnpacking || this.isWorking) return;
    const { length, nextLength } = this.received;
    if (nextLength !== undefined && nextLength > this.method.bytesMax) {
      this.end(tooLarge(nextLength, this.method.bytesMax));
    } else if (nextLength !== undefined && length > MESSAGE_PREFIX_BYTES + nextLength) {
      this.end({ code: status.UNIMPLEMENTED, details: `Received a second request message for method ${this.method.path}` });
    } else if (this.hasEnded) {
      const message = this.only ?? this.received.take();
      if (message !== undefined) this.take(message);
      else if (length > 0) this.end(ENDS_EARLY);
      else this.end({ code: status.UNIMPLEMENTED, details: `Received no request message for method ${this.method.path}` });
    }
  }

  /** Passes on complete messages while answers may be written. After some of them the rest waits for a later turn. */
  private advanceMany(): void {
    for (let taken = 0; !this.isOver && !this.isUnpacking && !this.isWaitingForTurn && !this.isFull; taken += 1) {
      const { length, nextLength } = this.received;
      if (nextLength !== undefined && nextLength > this.method.bytesMax) {
        this.end(tooLarge(nextLength, this.method.bytesMax));
        return;
      }
      if (nextLength !== undefined && (taken >= MESSAGES_AT_ONCE_MAX || this.connection.isChoked)) {
        this.waitForTurn();
        return;
      }
      const message = this.received.take();
      if (message === undefined) {
        if (this.hasEnded && length > 0) this.end(ENDS_EARLY);
        else if (this.hasEnded) this.passOnEnd();
        return;
      }
      this.connection.consume(this.stream, MESSAGE_PREFIX_BYTES + message.bytes.length);
      this.take(message);
    }
  }

  private waitForTurn(): void {
    this.isWaitingForTurn = true;
    this.connection.whenTaken(() => {
      void this.parts.turns.next().then(() => {
        this.isWaitingForTurn = false;
        this.advance();
      });
    });
  }

  private passOnEnd(): void {
    if (this.isOver || this.isEndTold) return;
    this.isEndTold = true;
    this.guarded(() => this.reader?.onEnd());
  }

  private take({ isCompressed, bytes }: FramedMessage): void {
    if (isCompressed) this.unpack(bytes);
    else this.onMessage(bytes);
  }

  private onMessage(message: Buffer): void {
    if (this.takesMany) this.guarded(() => this.reader?.onMessage(message));
    else this.handOver(message);
  }

  private unpack(packed: Buffer): void {
    const { bytesMax } = this.method;
    const held = packed.length + unpackedBytesMax(packed.length, bytesMax);
    if (!this.parts.budget.take(held)) {
      this.end(NO_ROOM);
      return;
    }
    this.isUnpacking = true;
    void unpack(packed, { encoding: this.encoding, bytesMax }).then((unpacked) => {
      this.parts.budget.giveBack(held);
      this.isUnpacking = false;
      if (this.isOver) {
        this.connection.countAbandoned(-1);
        return;
      }
      if (!Buffer.isBuffer(unpacked)) {
        this.end(unpacked);
        return;
      }
      this.onMessage(unpacked);
      if (this.takesMany) this.advance();
    });
  }

  /** Passes on the only message of the call. */
  private handOver(message: Buffer): void {
    const { method, reader } = this;
    if (method.kind === 'unary') {
      this.isWorking = true;
      // In whole milliseconds, as for other calls.
      const timeoutMs = this.deadlineMs === undefined ? undefined : Math.max(0, Math.ceil(this.deadlineMs - this.parts.readMs()));
      const parent = (): ParentContext => parentOf(this.head);
      method.answer(message, timeoutMs === undefined ? { parent } : { timeoutMs, parent }).then(
        (answer) => {
          this.onAnswer(answer);
        },
        (error: unknown) => {
          this.parts.onFault(error);
          this.onAnswer({ error: FAULT });
        },
      );
      return;
    }
    this.guarded(() => reader?.onMessage(message));
    this.passOnEnd();
  }

  private onAnswer(answer: MethodAnswer): void {
    this.isWorking = false;
    if (this.isOver) {
      this.connection.countAbandoned(-1);
    } else if ('error' in answer) {
      this.end(answer.error);
    } else {
      this.finish();
      this.connection.answer(this.stream, { head: ANSWER_HEAD, message: answer.message, trailers: OK_TRAILERS });
    }
  }

  /** An error of a method ends only its own call. */
  private guarded(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.parts.onFault(error);
      this.end(FAULT);
    }
  }

  private sendHeaders(): void {
    if (this.hasHeaders) return;
    this.hasHeaders = true;
    this.connection.sendHeaders(this.stream, ANSWER_HEAD.plainBlock, { endStream: false });
  }

  /** Stops reading and answering; written answers are still sent. */
  private finish(): void {
    this.isOver = true;
    // Work in progress continues and counts as a stream until it ends: a client cannot start more work by resetting streams.
    if (this.isWorking || this.isUnpacking) this.connection.countAbandoned(1);
    this.received.clear();
    this.only = undefined;
    this.reader?.onClose();
  }
}

function isWhole(bytes: Buffer, start: number, end: number): boolean {
  return end - start >= MESSAGE_PREFIX_BYTES && bytes.readUInt32BE(start + 1) === end - start - MESSAGE_PREFIX_BYTES;
}
