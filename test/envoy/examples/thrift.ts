/** Calls of Apache Thrift (framed, binary protocol), and a server that answers each of them. */
import { createServer, type AddressInfo } from 'node:net';
import { rawExchange } from '../../support/clients/raw-request';

const VERSION = 0x8001;
const KINDS = { 1: 'call', 2: 'reply', 3: 'exception' } as const;
type Kind = keyof typeof KINDS;

/** A message without fields. */
function message(kind: Kind, method: string): Buffer {
  const name = Buffer.from(method);
  const body = Buffer.alloc(4 + 4 + name.length + 4 + 1);
  body.writeUInt16BE(VERSION, 0);
  body.writeUInt16BE(kind, 2);
  body.writeUInt32BE(name.length, 4);
  name.copy(body, 8);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([length, body]);
}

function isWhole(bytes: Buffer): boolean {
  return bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE(0);
}

export interface ThriftServer {
  readonly port: number;
  calls(): number;
  stop(): Promise<void>;
}

export async function startThriftServer(): Promise<ThriftServer> {
  let calls = 0;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (frame) => {
      calls += 1;
      const name = frame.subarray(12, 12 + frame.readUInt32BE(8)).toString();
      socket.write(message(2, name));
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    port: (server.address() as AddressInfo).port,
    calls: () => calls,
    stop: () =>
      new Promise((closed) => {
        server.close(() => {
          closed();
        });
      }),
  };
}

export interface ThriftCall {
  readonly port: number;
  readonly from: string;
  readonly method: string;
}

/** Resolves to the kind of the answer. */
export async function callThrift({ port, from, method }: ThriftCall): Promise<(typeof KINDS)[Kind]> {
  const answer = await rawExchange({ port, from, bytes: message(1, method), isComplete: isWhole });
  return KINDS[answer.readUInt16BE(6) as Kind];
}
