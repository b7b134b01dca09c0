/** Serves methods with grpc-js: adapts its streams to AnswerStream, and passes messages as bytes. */

import type {
  sendUnaryData,
  Server,
  ServerDuplexStream,
  ServerUnaryCall,
  ServerWritableStream,
  ServiceDefinition,
  UntypedHandleCall,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { callOptionsOf } from './grpc-call-options';
import {
  tooLarge,
  type AnswerStream,
  type CallError,
  type GrpcMethod,
  type RequestReader,
  type StreamMethod,
  type UnaryMethod,
} from './grpc-method';

type BytesStream = ServerDuplexStream<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer>;

const asIs = (bytes: Buffer): Buffer => bytes;

export function addMethods(server: Server, methods: Iterable<GrpcMethod>): void {
  const service: Record<string, ServiceDefinition[string]> = {};
  const handlers: UntypedServiceImplementation = {};
  for (const method of methods) {
    const { path } = method;
    service[path] = {
      path,
      requestStream: method.kind === 'stream' && method.requests === 'many',
      responseStream: method.kind === 'stream',
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    };
    handlers[path] = handlerOf(method);
  }
  server.addService(service, handlers);
}

function handlerOf(method: GrpcMethod): UntypedHandleCall {
  if (method.kind === 'unary')
    return (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => void answerUnary(method, call, done);
  if (method.requests === 'one')
    return (call: ServerWritableStream<Buffer, Buffer>) => {
      answerOne(method, call);
    };
  return (call: ServerDuplexStream<Buffer, Buffer>) => {
    answerMany(method, call);
  };
}

async function answerUnary(method: UnaryMethod, call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): Promise<void> {
  const { length } = call.request;
  const answer =
    length > method.bytesMax ? { error: tooLarge(length, method.bytesMax) } : await method.answer(call.request, callOptionsOf(call));
  if ('error' in answer) done(answer.error);
  else done(null, answer.message);
}

function answerOne(method: StreamMethod, call: ServerWritableStream<Buffer, Buffer>): void {
  const { answers, reader } = openStream(method, call);
  const { length } = call.request;
  if (length > method.bytesMax) {
    answers.end(tooLarge(length, method.bytesMax));
    return;
  }
  reader.onMessage(call.request);
  if (!answers.isOver) reader.onEnd();
}

function answerMany(method: StreamMethod, call: ServerDuplexStream<Buffer, Buffer>): void {
  const { answers, reader } = openStream(method, call);
  call.on('data', (message: Buffer) => {
    if (answers.isOver) return;
    if (message.length > method.bytesMax) answers.end(tooLarge(message.length, method.bytesMax));
    else reader.onMessage(message);
    if (answers.isFull) call.pause();
  });
  call.on('drain', () => {
    call.resume();
  });
  call.once('end', () => {
    if (!answers.isOver) reader.onEnd();
  });
}

function openStream(method: StreamMethod, call: BytesStream): { readonly answers: GrpcJsAnswers; readonly reader: RequestReader } {
  const answers = new GrpcJsAnswers(call);
  const reader = method.open(answers);
  let isClosed = false;
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    answers.isOver = true;
    reader.onClose();
  };
  call.once('cancelled', close);
  call.once('close', close);
  call.once('error', close);
  call.once('finish', close);
  call.on('drain', () => {
    if (!answers.isOver) reader.onDrained?.();
  });
  return { answers, reader };
}

class GrpcJsAnswers implements AnswerStream {
  isOver = false;

  constructor(private readonly call: BytesStream) {}

  get isFull(): boolean {
    return this.call.writableNeedDrain;
  }

  write(message: Buffer): void {
    if (!this.isOver) this.call.write(message);
  }

  end(error?: CallError): void {
    if (this.isOver) return;
    this.isOver = true;
    // Ending with a status; destroying the stream would send none.
    if (error === undefined) this.call.end();
    else this.call.emit('error', error);
  }
}
