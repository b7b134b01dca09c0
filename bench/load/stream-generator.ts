/** Keeps a number of ShouldRateLimit streams under way on a number of connections, by prepared frames, and counts their ends. */

import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { encodeHeaderBlock } from '../../src/server/transport/http2/hpack/hpack-encoder';
import { SHOULD_RATE_LIMIT_PATH } from '../../src/server/transport/http2/connection/request-head';
import { loadProto } from '../../src/server/transport/messages/proto';

const FRAME_HEADER_BYTES = 9;
const END_STREAM = 0x1;
const END_HEADERS = 0x4;
const [DATA, HEADERS, SETTINGS, WINDOW_UPDATE] = [0, 1, 4, 8];

/** As Envoy sends them. */
const BLOCK = encodeHeaderBlock([
  { name: ':method', value: 'POST' },
  { name: ':path', value: SHOULD_RATE_LIMIT_PATH },
  { name: ':authority', value: 'rls' },
  { name: ':scheme', value: 'http' },
  { name: 'te', value: 'trailers' },
  { name: 'grpc-timeout', value: '5000m' },
  { name: 'content-type', value: 'application/grpc' },
  { name: 'x-envoy-internal', value: 'true' },
  { name: 'x-forwarded-for', value: '10.0.0.7' },
  { name: 'x-envoy-expected-rq-timeout-ms', value: '5000' },
]);

const message = loadProto().rateLimit.ShouldRateLimit.requestSerialize({
  domain: 'edge',
  descriptors: [{ entries: [{ key: 'user', value: 'user-4711' }] }],
});
const BODY = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);

export interface StreamGeneratorOptions {
  readonly port: number;
  readonly connections: number;
  /** On each of them. */
  readonly streams: number;
  readonly isTls?: boolean;
}

export class StreamGenerator {
  done = 0;
  private readonly sockets: Socket[];
  private isStopped = false;

  constructor({ port, connections, streams, isTls = false }: StreamGeneratorOptions) {
    const place = { port, host: '127.0.0.1', noDelay: true };
    // Who it is does not matter to what it costs.
    const dial = () => (isTls ? connectTls({ ...place, ALPNProtocols: ['h2'], rejectUnauthorized: false }) : connect(place));
    this.sockets = Array.from({ length: connections }, () => this.open(dial(), streams));
  }

  stop(): void {
    this.isStopped = true;
    for (const socket of this.sockets) socket.destroy();
  }

  private open(socket: Socket, streams: number): Socket {
    const unlimited = Buffer.alloc(4);
    unlimited.writeUInt32BE(2 ** 31 - 1 - 65_535);
    const preface = Buffer.concat([
      Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
      frame(SETTINGS, 0, Buffer.alloc(0)),
      frame(WINDOW_UPDATE, 0, unlimited),
    ]);
    let nextId = 1;
    let rest = Buffer.alloc(0);
    const ask = (count: number): void => {
      const requests: Buffer[] = [];
      for (let left = count; left > 0; left--) {
        requests.push(frame(HEADERS, nextId, BLOCK, END_HEADERS), frame(DATA, nextId, BODY, END_STREAM));
        nextId += 2;
      }
      socket.write(Buffer.concat(requests));
    };
    socket.write(preface);
    ask(streams);
    socket.on('data', (chunk: Buffer) => {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let ended = 0;
      let at = 0;
      for (; at + FRAME_HEADER_BYTES <= bytes.length;) {
        const end = at + FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3);
        if (end > bytes.length) break;
        if (bytes[at + 3] === HEADERS && (bytes[at + 4]! & END_STREAM) !== 0) ended += 1;
        if (bytes[at + 3] === SETTINGS && (bytes[at + 4]! & 1) === 0) socket.write(frame(SETTINGS, 0, Buffer.alloc(0), 1));
        at = end;
      }
      rest = Buffer.from(bytes.subarray(at));
      this.done += ended;
      if (ended > 0 && !this.isStopped) ask(ended);
    });
    socket.on('error', () => undefined);
    return socket;
  }
}

function frame(type: number, streamId: number, payload: Buffer, flags = 0): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(streamId, 5);
  return Buffer.concat([header, payload]);
}
