/** The bytes of an attempt, in HTTP/1 and in HTTP/2, however malformed it is. */
import { HpackWriter } from '../../fuzz/hpack-writer';
import type { Attempt } from './attempt';

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const [DATA, HEADERS, RST_STREAM, SETTINGS] = [0, 1, 3, 4];
const [END_STREAM, END_HEADERS] = [0x1, 0x4];
const CANCEL = 8;
const FRAME_MAX = 16_384;
const FRAME_HEADER = 9;

/** Fields that only HTTP/1 has. */
const HOP_BY_HOP = new Set(['connection', 'transfer-encoding', 'keep-alive', 'upgrade', 'host']);

export function bytesOf(attempt: Attempt): Buffer {
  return attempt.protocol === 'HTTP/2' ? bytesOfHttp2(attempt) : bytesOfHttp1(attempt);
}

function bytesOfHttp1(attempt: Attempt): Buffer {
  const requests = Array.from({ length: attempt.copies }, (_, index) => requestOf(attempt, { isLast: index === attempt.copies - 1 }));
  return Buffer.from(`${attempt.before}${requests.join('')}`, 'latin1');
}

function requestOf({ protocol, method, target, headers, body, trailers, lineEnd }: Attempt, { isLast }: { isLast: boolean }): string {
  const closes = isLast && !headers.some(([name]) => name.toLowerCase() === 'connection');
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  const head = [`${method} ${target} ${protocol}`, ...lines, ...(closes ? ['connection: close'] : [])];
  // A body in chunks ends with an empty line, before which trailers stand.
  const end = trailers.length === 0 ? '' : trailers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `${head.join(lineEnd)}${lineEnd}${lineEnd}${end === '' ? body : body.replace(/\r\n$/, `${end}\r\n`)}`;
}

function bytesOfHttp2({ method, target, headers, body, trailers, copies, resets }: Attempt): Buffer {
  const writer = new HpackWriter(() => 1);
  const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1] ?? 'example.com';
  const fields = [
    { name: ':method', value: method },
    { name: ':scheme', value: 'http' },
    { name: ':authority', value: host },
    { name: ':path', value: target },
    ...headers.filter(([name]) => !HOP_BY_HOP.has(name.toLowerCase())).map(([name, value]) => ({ name, value })),
  ];
  const streams = Array.from({ length: copies }, (_, index) => {
    const id = 2 * index + 1;
    const hasMore = body !== '' || trailers.length > 0;
    const block = writer.block(fields);
    const ends = trailers.length > 0 ? frame(HEADERS, END_STREAM | END_HEADERS, id, writer.block(trailers.map(toField))) : '';
    return Buffer.concat([
      headerFrames(id, block, hasMore ? 0 : END_STREAM),
      hasMore ? frame(DATA, ends === '' ? END_STREAM : 0, id, Buffer.from(body, 'latin1').subarray(0, FRAME_MAX)) : Buffer.alloc(0),
      Buffer.from(ends),
      resets && index % 2 === 0 ? frame(RST_STREAM, 0, id, Buffer.from([0, 0, 0, CANCEL])) : Buffer.alloc(0),
    ]);
  });
  return Buffer.concat([Buffer.from(PREFACE), frame(SETTINGS, 0, 0, Buffer.alloc(0)), ...streams]);
}

function toField([name, value]: readonly [string, string]) {
  return { name, value };
}

/** A block that is longer than a frame goes on in CONTINUATION frames. */
function headerFrames(id: number, block: Buffer, flags: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at === 0 || at < block.length; at += FRAME_MAX) parts.push(block.subarray(at, at + FRAME_MAX));
  const frames = parts.map((part, index) => {
    const isLast = index === parts.length - 1;
    const CONTINUATION = 9;
    return frame(index === 0 ? HEADERS : CONTINUATION, (isLast ? END_HEADERS : 0) | (index === 0 ? flags : 0), id, part);
  });
  return Buffer.concat(frames);
}

function frame(type: number, flags: number, id: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEADER);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
}

/** How many streams of HTTP/2 have ended in what came back; all of them if the connection has. */
export function endedStreams(answer: Buffer): number {
  const [GOAWAY] = [7];
  let ended = 0;
  for (let at = 0; at + FRAME_HEADER <= answer.length; at += FRAME_HEADER + answer.readUIntBE(at, 3)) {
    const [type, flags] = [answer[at + 3], answer[at + 4] ?? 0];
    if (type === GOAWAY) return Infinity;
    const isComplete = at + FRAME_HEADER + answer.readUIntBE(at, 3) <= answer.length;
    if (isComplete && (type === RST_STREAM || ((type === DATA || type === HEADERS) && (flags & END_STREAM) !== 0))) ended += 1;
  }
  return ended;
}

/** How many answers of HTTP/1 are complete; `method` says whether they have a body. */
export function endedAnswers(answer: Buffer, method: string): number {
  const text = answer.toString('latin1');
  let ended = 0;
  for (let at = 0; ;) {
    const headEnd = text.indexOf('\r\n\r\n', at);
    if (headEnd < 0) return ended;
    const head = text.slice(at, headEnd);
    const status = Number(head.slice(9, 12));
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    let end = headEnd + 4;
    if (/\r\ntransfer-encoding: chunked/i.test(head)) {
      const last = text.indexOf('\r\n0\r\n\r\n', headEnd);
      if (last < 0) return ended;
      end = last + 7;
    } else if (method !== 'HEAD') end += length;
    if (end > text.length) return ended;
    if (status >= 200) ended += 1;
    at = end;
  }
}
