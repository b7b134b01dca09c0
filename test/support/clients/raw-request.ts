/** One HTTP/1.1 request exactly as it is written here: doubled headers, paths that no client library would send, bytes that are no text. */
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { hangLimitMs } from '../clock/hang-limit';

const TIMEOUT_MS = hangLimitMs(30_000);

export interface RawRequest {
  /** The address of this machine that it is sent from. */
  readonly from?: string;
  readonly method?: string;
  /** As it stands in the first line. */
  readonly target: string;
  /** In their order; a name may come twice. Each character is one byte. */
  readonly headers?: readonly (readonly [string, string])[];
  /** With the framing that `headers` announce. */
  readonly body?: string;
  readonly tls?: ConnectionOptions;
}

/** The status of the answer; 0: the connection was closed without one. */
export function rawRequest(port: number, { from, method = 'GET', target, headers = [], body = '', tls }: RawRequest): Promise<number> {
  const host = headers.some(([name]) => name.toLowerCase() === 'host') ? [] : [['host', 'example.com'] as const];
  const lines = [`${method} ${target} HTTP/1.1`, ...[...host, ...headers].map(([name, value]) => `${name}: ${value}`)];
  const bytes = Buffer.from(`${lines.join('\r\n')}\r\nconnection: close\r\n\r\n${body}`, 'latin1');
  const isComplete = (answer: Buffer) => answer.includes('\r\n\r\n');
  // Envoy keeps the connection of a bad request open for a second.
  return rawExchange({ port, from, tls, bytes, isComplete }).then((answer) =>
    Number(/^HTTP\/1\.1 (\d{3})/.exec(answer.toString('latin1'))?.[1] ?? 0),
  );
}

export interface RawExchange {
  readonly port: number;
  readonly from?: string | undefined;
  readonly tls?: ConnectionOptions | undefined;
  readonly bytes: Buffer;
  /** Ends the exchange before the server closes the connection. */
  readonly isComplete?: (answer: Buffer) => boolean;
}

/** Sends bytes over a connection of its own, and resolves to what came back until its end. */
export function rawExchange({ port, from, tls, bytes, isComplete = () => false }: RawExchange): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const address = { host: '127.0.0.1', port, localAddress: from };
    const socket: Socket = tls === undefined ? connectPlain(address) : connectTls({ ...address, ...tls });
    const chunks: Buffer[] = [];
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`no end of the answer from port ${port} within ${TIMEOUT_MS} ms`)));
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      if (isComplete(Buffer.concat(chunks))) socket.destroy();
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      // A listener that refuses a connection resets it, or sends an alert of TLS.
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE' && error.code?.startsWith('ERR_SSL_') !== true) reject(error);
    });
    socket.once('close', () => {
      resolve(Buffer.concat(chunks));
    });
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => socket.write(bytes));
  });
}
