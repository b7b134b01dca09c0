/** A backend that reads requests from the bytes themselves, keeps each with its path, and answers as early or as late as a request asks. */
import { createServer, type Socket, type AddressInfo } from 'node:net';

/** A request as it reached the backend. */
export interface Received {
  readonly method: string;
  readonly target: string;
  /** All lines after the first. */
  readonly head: string;
  /** Bytes of the body so far. */
  bodyBytes: number;
  /** Which connection of the backend it came over. */
  readonly connection: number;
  readonly answer: Answer;
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
  /** What the answer costs, by its own account. */
  readonly cost?: number;
}

export interface RawBackend {
  readonly port: number;
  /** Those since the last call. */
  taken(): readonly Received[];
  /** Resolves when the next one has come. */
  next(): Promise<void>;
  stop(): Promise<void>;
}

export function fieldOf({ head }: Pick<Received, 'head'>, name: string): string | undefined {
  return new RegExp(`^${name}: ?(.*)$`, 'im').exec(head)?.[1]?.trim();
}

/** `answerTo` says what a request gets. With `x-early` it gets that before its body, with `x-held` never. */
export async function startRawBackend(answerTo: (request: Pick<Received, 'head' | 'target'>) => Answer = () => ({})): Promise<RawBackend> {
  let received: Received[] = [];
  let waiting: (() => void)[] = [];
  let connections = 0;
  const sockets = new Set<Socket>();
  const record = (request: Received) => {
    received.push(request);
    for (const resolve of waiting) resolve();
    waiting = [];
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
    read(socket, { connection: (connections += 1), record, answerTo });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    port: (server.address() as AddressInfo).port,
    taken: () => {
      const all = received;
      received = [];
      return all;
    },
    next: () => new Promise((resolve) => waiting.push(resolve)),
    stop: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((closed) =>
        server.close(() => {
          closed();
        }),
      );
    },
  };
}

interface Reading {
  readonly connection: number;
  readonly record: (request: Received) => void;
  readonly answerTo: (request: Pick<Received, 'head' | 'target'>) => Answer;
}

function read(socket: Socket, { connection, record, answerTo }: Reading): void {
  let buffer = '';
  let open: { request: Received; left: number | 'chunks' } | undefined;
  socket.on('data', (chunk: Buffer) => {
    buffer += chunk.toString('latin1');
    while (step());
  });

  /** Whether something was read. */
  function step(): boolean {
    if (open !== undefined) return stepBody(open);
    const end = buffer.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const [line = '', ...lines] = buffer.slice(0, end).split('\r\n');
    buffer = buffer.slice(end + 4);
    const [method = '', target = ''] = line.split(' ');
    const head = lines.join('\n');
    const request: Received = { method, target, head, bodyBytes: 0, connection, answer: answerTo({ head, target }) };
    record(request);
    const length = Number(fieldOf(request, 'content-length') ?? 0);
    open = { request, left: fieldOf(request, 'transfer-encoding') === undefined ? length : 'chunks' };
    if (fieldOf(request, 'x-early') !== undefined) reply(request);
    return true;
  }

  function stepBody(body: { request: Received; left: number | 'chunks' }): boolean {
    if (body.left === 'chunks') {
      const size = /^([0-9a-fA-F]+)[^\r\n]*\r\n/.exec(buffer);
      if (size === null) return false;
      const bytes = parseInt(size[1] ?? '0', 16);
      const end = bytes === 0 ? buffer.indexOf('\r\n\r\n', size[0].length - 2) + 4 : size[0].length + bytes + 2;
      if (end < 4 || buffer.length < end) return false;
      body.request.bodyBytes += bytes;
      buffer = buffer.slice(end);
      if (bytes === 0) finish(body.request);
      return true;
    }
    const part = Math.min(body.left, buffer.length);
    body.request.bodyBytes += part;
    body.left -= part;
    buffer = buffer.slice(part);
    if (body.left > 0) return false;
    finish(body.request);
    return true;
  }

  function finish(request: Received): void {
    open = undefined;
    if (fieldOf(request, 'x-early') === undefined) reply(request);
  }

  function reply(request: Received): void {
    if (fieldOf(request, 'x-held') !== undefined) return;
    const { status = 200, headers = {}, body = 'from the backend' } = request.answer;
    const lines = Object.entries({ ...headers, 'content-length': String(body.length) }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 ${status} Answered\r\n${lines.join('')}\r\n`);
    if (request.method !== 'HEAD') socket.write(body);
  }
}
