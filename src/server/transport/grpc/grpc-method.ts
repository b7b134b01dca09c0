/** A gRPC method as both transports serve it: a path, and a handler of messages as bytes. Each service is written once, in these terms. */

import type { ParentContext } from '../../observability/tracing/trace-context';
import type { TakeOptions } from '../../../state/store/port/store';
import { status, type Status } from './grpc-status';

/** Maximum size of small messages such as health checks; larger ones get RESOURCE_EXHAUSTED. */
export const SMALL_MESSAGE_BYTES_MAX = 16 * 1024;

/** The status of a call that fails. */
export interface CallError {
  readonly code: Status;
  readonly details: string;
}

/** The facts of a call that its method knows beside the message. */
export interface MethodCall extends Pick<TakeOptions, 'timeoutMs'> {
  /** Reads the trace context of the caller. */
  readonly parent: () => ParentContext;
}

export type MethodAnswer = { readonly message: Buffer } | { readonly error: CallError };

interface MethodBase {
  readonly path: string;
  /** Maximum size of a request message, uncompressed. */
  readonly bytesMax: number;
}

/** A method with one request message and one answer. */
export interface UnaryMethod extends MethodBase {
  readonly kind: 'unary';
  /** Never rejects. The method may keep the message. */
  answer(message: Buffer, call: MethodCall): Promise<MethodAnswer>;
}

/** A method with any number of answers to any number of messages. */
export interface StreamMethod extends MethodBase {
  readonly kind: 'stream';
  readonly requests: 'one' | 'many';
  open(answers: AnswerStream): RequestReader;
}

export type GrpcMethod = UnaryMethod | StreamMethod;

/** The answers of a stream. Writes after the end are dropped. */
export interface AnswerStream {
  /** Too many bytes wait for the peer: the writer should wait for `onDrained`. */
  readonly isFull: boolean;
  write(message: Buffer): void;
  /** Ends the call: with OK, or with the error. */
  end(error?: CallError): void;
}

/** Receives the messages of a stream. None is passed on while answers are full, or after the close. */
export interface RequestReader {
  onMessage(message: Buffer): void;
  /** The peer has sent its last message. */
  onEnd(): void;
  /** The call is over, and nothing more is sent. Called once. */
  onClose(): void;
  /** All answers were sent. Called only after answers were full. */
  onDrained?(): void;
}

export function tooLarge(bytes: number, bytesMax: number): CallError {
  return { code: status.RESOURCE_EXHAUSTED, details: `Received message larger than max (${bytes} vs. ${bytesMax})` };
}

export const UNREADABLE: CallError = {
  code: status.INVALID_ARGUMENT,
  details: 'the message is not valid for this method; check the .proto of the client',
};
