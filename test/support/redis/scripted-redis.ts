/** A server that greets as a Redis does, and answers everything else when, and what, a test says. */

import { createHash } from 'node:crypto';
import { createServer, type AddressInfo, type Socket } from 'node:net';

const CRLF = '\r\n';

export interface ScriptedRedis {
  readonly port: number;
  /** Since the start. */
  readonly connections: number;
  /** Commands that wait for an answer. */
  readonly waiting: number;
  /** Sends these bytes on the last connection, in one piece: each is the answer to one command. */
  answer(...replies: readonly string[]): void;
  stop(): Promise<void>;
}

export async function startScriptedRedis(): Promise<ScriptedRedis> {
  const sockets = new Set<Socket>();
  let last: Socket | undefined;
  let connections = 0;
  let waiting = 0;
  const server = createServer((socket) => {
    connections += 1;
    last = socket;
    waiting = 0;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    let unread = '';
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      unread += text;
      for (let command = nextCommand(unread); command !== undefined; command = nextCommand(unread)) {
        unread = unread.slice(command.length);
        const greeting = greet(command.words);
        if (greeting === undefined) waiting += 1;
        else socket.write(greeting);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    get waiting() {
      return waiting;
    },
    answer: (...replies) => {
      waiting -= replies.length;
      last?.write(replies.join(''));
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function greet([name, , script = '']: readonly string[]): string | undefined {
  if (name === 'PING') return `+PONG${CRLF}`;
  if (name !== 'SCRIPT') return undefined;
  const sha = createHash('sha1').update(Buffer.from(script, 'latin1')).digest('hex');
  return `$${sha.length}${CRLF}${sha}${CRLF}`;
}

interface Command {
  readonly words: readonly string[];
  /** In bytes. */
  readonly length: number;
}

/** Undefined: not all of it is there. */
function nextCommand(text: string): Command | undefined {
  const head = lineAt(text, 0);
  if (head === undefined) return undefined;
  const words: string[] = [];
  let { end } = head;
  for (let left = Number(head.line.slice(1)); left > 0; left -= 1) {
    const length = lineAt(text, end);
    if (length === undefined) return undefined;
    const wordEnd = length.end + Number(length.line.slice(1));
    if (wordEnd + CRLF.length > text.length) return undefined;
    words.push(text.slice(length.end, wordEnd));
    end = wordEnd + CRLF.length;
  }
  return { words, length: end };
}

function lineAt(text: string, at: number): { readonly line: string; readonly end: number } | undefined {
  const end = text.indexOf(CRLF, at);
  return end < 0 ? undefined : { line: text.slice(at, end), end: end + CRLF.length };
}
