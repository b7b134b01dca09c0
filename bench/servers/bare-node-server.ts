/** What any server in Node pays: it reads calls, asks Redis one PING for those of a turn, and says yes to each. It decides nothing. */

import { connect, createServer, type Socket } from 'node:net';
import { Flag, FrameParser, FrameType, type Frame } from '../../src/server/transport/http2/frames/frames';
import { frame } from '../load/calls';

/** Enough for all that a generator ever sends. */
const WINDOW_OPENED = Buffer.from([0x7f, 0, 0, 0]);

/** `:status` 200, of the static table. */
const HEADERS_PAYLOAD = Buffer.from([0x88]);

/** An uncompressed message: `overall_code` OK, and one status of nothing. */
const DATA_PAYLOAD = Buffer.from([0, 0, 0, 0, 4, 0x08, 0x01, 0x12, 0x00]);

const HEAD = frame({ type: FrameType.HEADERS, flags: Flag.END_HEADERS, payload: HEADERS_PAYLOAD });
const DATA = frame({ type: FrameType.DATA, payload: DATA_PAYLOAD });
const TRAILERS = frame({ type: FrameType.HEADERS, flags: Flag.END_HEADERS | Flag.END_STREAM, payload: HEADERS_PAYLOAD });
const ANSWER = Buffer.concat([HEAD, DATA, TRAILERS]);

const STREAM_ID_AT = 5;
const STREAM_IDS_AT = [STREAM_ID_AT, HEAD.length + STREAM_ID_AT, HEAD.length + DATA.length + STREAM_ID_AT];

const PONG_BYTES = '+PONG\r\n'.length;

interface Call {
  readonly socket: Socket;
  readonly streamId: number;
}

const [port, redisPort] = process.argv.slice(2).map(Number);
if (port === undefined || redisPort === undefined) throw new Error('bare-node-server.ts <port> <port of Redis>');

/** Read in this turn, and of each PING under way those that it answers. */
let waiting: Call[] = [];
const asked: Call[][] = [];
let pongBytes = 0;

const redis = connect({ port: redisPort, host: '127.0.0.1', noDelay: true });
redis.on('data', (chunk) => {
  for (pongBytes += chunk.length; pongBytes >= PONG_BYTES; pongBytes -= PONG_BYTES) {
    for (const { socket, streamId } of asked.shift() ?? []) socket.write(answer(streamId));
  }
});

function ask(): void {
  asked.push(waiting);
  waiting = [];
  redis.write('PING\r\n');
}

function answer(streamId: number): Buffer {
  const bytes = Buffer.from(ANSWER);
  for (const at of STREAM_IDS_AT) bytes.writeUInt32BE(streamId, at);
  return bytes;
}

function onFrame(socket: Socket, { type, flags, streamId }: Frame): void {
  if (type === FrameType.SETTINGS && (flags & Flag.ACK) === 0) socket.write(frame({ type, flags: Flag.ACK }));
  if (type !== FrameType.DATA || (flags & Flag.END_STREAM) === 0) return;
  if (waiting.push({ socket, streamId }) === 1) setImmediate(ask);
}

createServer({ noDelay: true }, (socket) => {
  const parser = new FrameParser((each) => {
    onFrame(socket, each);
  });
  socket.on('data', (chunk) => {
    parser.push(chunk);
  });
  // A generator that is done hangs up.
  socket.on('error', () => undefined);
  socket.write(Buffer.concat([frame({ type: FrameType.SETTINGS }), frame({ type: FrameType.WINDOW_UPDATE, payload: WINDOW_OPENED })]));
}).listen(port, '127.0.0.1', () => {
  console.log(`listening on ${port}`);
});
