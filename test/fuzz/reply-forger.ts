/** A proxy in front of a real Redis that forges some of its replies: cut, lost, repeated, swapped, extreme, of another type, or no reply at all. */

import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Random } from '../support/random/random';

const CRLF = Buffer.from('\r\n');

/** Where Redis's own numbers end, where those of JavaScript do, and what is none. */
const NUMBERS = [
  '0',
  '-1',
  '-2',
  '-3',
  '-4',
  '-5',
  '-6',
  '1',
  '7',
  '2147483648',
  '4294967297',
  '9007199254740991',
  '9007199254740992',
  '-9007199254740993',
  '9223372036854775807',
  '-9223372036854775808',
  `1${'0'.repeat(400)}`,
  '',
  'x',
  '1.5',
  '-',
  'nan',
];

const LENGTHS = ['0', '1', '2', '-1', '3', '5', '100', '1000', '65537', '4294967295', '4294967296', '9223372036854775807', 'x', ''];

/** In place of a reply. */
const OTHERS = [
  '+OK\r\n',
  '$-1\r\n',
  '*-1\r\n',
  '*0\r\n',
  ':5\r\n',
  ':-9223372036854775808\r\n',
  '$2\r\nno\r\n',
  '$0\r\n\r\n',
  '*1\r\n*1\r\n:1\r\n',
  '*2\r\n:1800000000000000\r\n$1\r\n9\r\n',
  '-ERR no such thing\r\n',
  '-MOVED 1 127.0.0.1:99999\r\n',
  '-ASK 1 :0\r\n',
  '-TRYAGAIN later\r\n',
  '-NOSCRIPT none\r\n',
  '-READONLY x\r\n',
  '-\r\n',
  '-PARTLY written\r\n',
  '%1\r\n+a\r\n+b\r\n',
  '~1\r\n:1\r\n',
  ',1.5\r\n',
  '#t\r\n',
  '_\r\n',
  '(12\r\n',
  '>2\r\n+a\r\n+b\r\n',
  'HTTP/1.1 200 OK\r\n\r\n',
  '\0\0\0\0',
  '\r\n',
];

/** Lists within lists: more than the stack has room for. */
const DEEP_MAX = 20_000;

type Forgery = 'cut' | 'lost' | 'repeated' | 'swapped' | 'number' | 'length' | 'other' | 'bytes' | 'deep';

const FORGERIES: readonly Forgery[] = [
  'cut',
  'lost',
  'repeated',
  'swapped',
  'number',
  'number',
  'number',
  'length',
  'other',
  'other',
  'bytes',
  'deep',
];

export interface ForgerOptions {
  /** The port of Redis. */
  readonly target: number;
  readonly random: Random;
}

export class ReplyForger {
  /** The replies that Redis gave, and how many of them were forged. */
  replies = 0;
  forged = 0;
  private oneIn = Infinity;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly options: ForgerOptions,
  ) {
    server.on('connection', (socket) => {
      this.forward(socket);
    });
  }

  /** Forges nothing yet. */
  static async start(options: ForgerOptions): Promise<ReplyForger> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve));
    return new ReplyForger(server, options);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** From now on one reply in this number is forged; 0: none. */
  forgeOneIn(replies: number): void {
    this.oneIn = replies === 0 ? Infinity : replies;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private forward(client: Socket): void {
    const redis = connect({ host: '127.0.0.1', port: this.options.target });
    for (const socket of [client, redis]) {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.sockets.delete(socket);
        client.destroy();
        redis.destroy();
      });
    }
    client.pipe(redis);
    let unread = Buffer.alloc(0);
    let held: Buffer | undefined;
    redis.on('data', (bytes) => {
      unread = Buffer.concat([unread, bytes]);
      for (let end = endOfReply(unread, 0); end !== undefined && !client.destroyed; end = endOfReply(unread, 0)) {
        const reply = unread.subarray(0, end);
        unread = unread.subarray(end);
        const forgery = this.nextForgery();
        if (forgery === 'swapped' && held === undefined) {
          held = reply;
          continue;
        }
        client.write(forgery === undefined ? reply : forge(forgery, reply, this.options.random));
        if (held !== undefined) client.write(held);
        held = undefined;
      }
    });
  }

  private nextForgery(): Forgery | undefined {
    const { random } = this.options;
    this.replies += 1;
    if (this.oneIn === Infinity || random(this.oneIn) > 0) return undefined;
    this.forged += 1;
    return FORGERIES[random(FORGERIES.length)];
  }
}

function forge(forgery: Forgery, reply: Buffer, random: Random): Buffer {
  switch (forgery) {
    case 'cut':
      return reply.subarray(0, random(reply.length));
    case 'lost':
      return Buffer.alloc(0);
    case 'repeated':
      return Buffer.concat([reply, reply]);
    case 'swapped':
      return reply;
    case 'number':
      return replaceOne(reply, { type: ':', by: NUMBERS[random(NUMBERS.length)]!, random });
    case 'length':
      return replaceOne(reply, { type: '*', by: LENGTHS[random(LENGTHS.length)]!, random });
    case 'other':
      return Buffer.from(OTHERS[random(OTHERS.length)]!, 'latin1');
    case 'bytes': {
      const copy = Buffer.from(reply);
      for (let i = 0; i <= random(4); i += 1) copy[random(copy.length)] = random(256);
      return copy;
    }
    case 'deep':
      return Buffer.from('*1\r\n'.repeat(1 + random(DEEP_MAX)));
  }
}

interface Replacement {
  readonly type: ':' | '*';
  readonly by: string;
  readonly random: Random;
}

/** One of the lines of that type, if there is any. */
function replaceOne(reply: Buffer, { type, by, random }: Replacement): Buffer {
  const lines = reply.toString('latin1').split('\r\n');
  const places = lines.flatMap((line, i) => (line.startsWith(type) ? [i] : []));
  const place = places[random(Math.max(1, places.length))];
  if (place !== undefined) lines[place] = type + by;
  return Buffer.from(lines.join('\r\n'), 'latin1');
}

/** Where the reply that begins at `at` ends, of one that Redis has written; undefined: not all of it is there. */
function endOfReply(bytes: Buffer, at: number): number | undefined {
  const lineEnd = bytes.indexOf(CRLF, at);
  if (lineEnd < 0) return undefined;
  const next = lineEnd + CRLF.length;
  const type = String.fromCharCode(bytes[at]!);
  const length = Number(bytes.toString('latin1', at + 1, lineEnd));
  if (type === '$') {
    const end = length < 0 ? next : next + length + CRLF.length;
    return end <= bytes.length ? end : undefined;
  }
  if (type !== '*') return next;
  let end: number | undefined = next;
  for (let i = 0; i < length && end !== undefined; i += 1) end = endOfReply(bytes, end);
  return end;
}
