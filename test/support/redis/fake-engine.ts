/** A proxy before a real Redis that changes one behaviour of it, as hosted and compatible engines do. */

import { createHash } from 'node:crypto';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { slotOf, SLOTS } from '../../../src/state/store/redis/cluster-slots';

const CRLF = '\r\n';

export interface EngineBehaviour {
  /** Lua in place of `redis.call('TIME')` in every script. */
  readonly time?: string;
  /** Answers this error to a script with keys of several slots. */
  readonly crossSlot?: string;
  /** Refuses scripts without keys. */
  readonly needsKeys?: boolean;
  /** Commands that the engine does not know, by their first word. */
  readonly unknown?: readonly string[];
  /** Replies to commands, by their words with a space between. */
  readonly replies?: Readonly<Record<string, string>>;
  /** The same for replies that are lists. */
  readonly lists?: Readonly<Record<string, readonly string[]>>;
  /** The port that every script is redirected to: the engine answers MOVED. */
  readonly movedTo?: () => number;
  /** The primary of all slots, by CLUSTER SLOTS. */
  readonly ownerPort?: number;
  /** Time that each script takes longer, in milliseconds. */
  readonly writeMs?: number;
  /** Forgets scripts at once: every EVALSHA is answered this error. */
  readonly forgetsScripts?: string;
  /** Checks AUTH in place of Redis. Other commands need it, and a connection ends when what it was accepted by does. */
  readonly auth?: (words: readonly string[]) => AuthVerdict;
}

export interface AuthVerdict {
  /** Why it is refused. Absent: it is accepted. */
  readonly refusal?: string;
  /** How long the connection may live after it, in milliseconds. */
  readonly forMs?: number;
}

export interface FakeEngine {
  readonly port: number;
  /** Commands by their first word, with those of the greeting. */
  readonly commands: ReadonlyMap<string, number>;
  /** Connections since the start. */
  readonly connections: number;
  /** Connections that ended with their credentials. */
  readonly expired: number;
  /** Changes the engine behind the address, and ends all connections. */
  become(behaviour: EngineBehaviour): void;
  stop(): Promise<void>;
}

export async function startFakeEngine(redisPort: number, first: EngineBehaviour): Promise<FakeEngine> {
  let behaviour = first;
  let connections = 0;
  let expired = 0;
  const commands = new Map<string, number>();
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    connections += 1;
    const redis = connect(redisPort, '127.0.0.1');
    for (const socket of [client, redis]) {
      sockets.add(socket);
      socket.setNoDelay(true).setEncoding('latin1');
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        redis.destroy();
      });
    }
    const onCommand = (name: string) => commands.set(name, (commands.get(name) ?? 0) + 1);
    const onExpired = () => {
      expired += 1;
    };
    relay({ client, redis, behaviour, onCommand, onExpired });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    commands,
    get connections() {
      return connections;
    },
    get expired() {
      return expired;
    },
    become: (next) => {
      behaviour = next;
      for (const socket of sockets) socket.destroy();
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface RelayInput {
  readonly client: Socket;
  readonly redis: Socket;
  readonly behaviour: EngineBehaviour;
  readonly onCommand: (name: string) => void;
  readonly onExpired: () => void;
}

/** A command; its reply, once it is known. */
interface Waiting {
  reply?: string;
  readonly delayMs?: number | undefined;
}

/** Keeps the order of replies, whether they come from Redis or from here. */
function relay({ client, redis, behaviour, onCommand, onExpired }: RelayInput): void {
  const guard = makeGuard({ client, behaviour, onExpired });
  const waiting: Waiting[] = [];
  const forwarded: Waiting[] = [];
  let asked = '';
  let answered = '';
  const flush = () => {
    for (let [next] = waiting; next?.reply !== undefined; [next] = waiting) {
      client.write(next.reply, 'latin1');
      waiting.shift();
    }
  };
  client.on('data', (text: string) => {
    asked += text;
    for (let length = lengthOf(asked); length !== undefined; length = lengthOf(asked)) {
      const words = wordsOf(asked.slice(0, length));
      asked = asked.slice(length);
      onCommand(words[0] ?? '');
      const own = guard(words) ?? ownReply(words, behaviour);
      if (own === undefined) redis.write(encode(changed(words, behaviour)), 'latin1');
      const place: Waiting =
        own === undefined ? { delayMs: words[0]?.startsWith('EVAL') === true ? behaviour.writeMs : undefined } : { reply: own };
      waiting.push(place);
      if (own === undefined) forwarded.push(place);
    }
    flush();
  });
  redis.on('data', (text: string) => {
    answered += text;
    for (let length = lengthOf(answered); length !== undefined; length = lengthOf(answered)) {
      const reply = answered.slice(0, length);
      answered = answered.slice(length);
      const place = forwarded.shift();
      if (place === undefined) return;
      const settle = () => {
        place.reply = restored(reply);
        flush();
      };
      if (place.delayMs === undefined) settle();
      else setTimeout(settle, place.delayMs);
    }
  });
}

/** Answers AUTH, and what the credentials of the connection do not allow. */
function makeGuard({
  client,
  behaviour: { auth },
  onExpired,
}: Pick<RelayInput, 'client' | 'behaviour' | 'onExpired'>): (words: readonly string[]) => string | undefined {
  if (auth === undefined) return () => undefined;
  let isAccepted = false;
  let end: NodeJS.Timeout | undefined;
  client.on('close', () => {
    clearTimeout(end);
  });
  return (words) => {
    if (words[0] !== 'AUTH') return isAccepted ? undefined : error('NOAUTH Authentication required.');
    const { refusal, forMs } = auth(words);
    if (refusal !== undefined) return error(refusal);
    isAccepted = true;
    clearTimeout(end);
    end = setTimeout(() => {
      onExpired();
      client.destroy();
    }, forMs);
    return `+OK${CRLF}`;
  };
}

/** SHA-1 of the changed script, by that of the script as sent, and the other way round. */
const changedSha = new Map<string, string>();
const sentSha = new Map<string, string>();

function changed(words: readonly string[], { time }: EngineBehaviour): readonly string[] {
  if (time === undefined) return words;
  const [name, second = '', third = ''] = words;
  const withTime = (text: string) => {
    const replaced = text.replace("redis.call('TIME')", time);
    const [sent, made] = [shaOf(text), shaOf(replaced)];
    changedSha.set(sent, made);
    sentSha.set(made, sent);
    return replaced;
  };
  if (name === 'SCRIPT') return [name, second, withTime(third)];
  if (name === 'EVAL') return [name, withTime(second), ...words.slice(2)];
  return name === 'EVALSHA' ? [name, changedSha.get(second) ?? second, ...words.slice(2)] : words;
}

function restored(reply: string): string {
  for (const [made, sent] of sentSha) if (reply.includes(made)) return reply.replace(made, sent);
  return reply;
}

function ownReply(
  words: readonly string[],
  { crossSlot, needsKeys, unknown, replies, lists, forgetsScripts, movedTo, ownerPort }: EngineBehaviour,
): string | undefined {
  const [name = '', , count = '0'] = words;
  const said = replies?.[words.join(' ')];
  if (said !== undefined) return `$${said.length}${CRLF}${said}${CRLF}`;
  const list = lists?.[words.join(' ')];
  if (list !== undefined) return encode(list);
  if (ownerPort !== undefined && words.join(' ') === 'CLUSTER SLOTS') return slotsOf(ownerPort);
  if (unknown?.includes(name) === true) return error(`ERR unknown command '${name}'`);
  if (name !== 'EVAL' && name !== 'EVALSHA') return undefined;
  const keys = words.slice(3, 3 + Number(count));
  if (needsKeys === true && keys.length === 0) return error('ERR a script needs at least one key');
  if (crossSlot !== undefined && new Set(keys.map(slotOf)).size > 1) return error(crossSlot);
  if (forgetsScripts !== undefined && name === 'EVALSHA') return error(forgetsScripts);
  if (movedTo !== undefined && keys[0] !== undefined) return error(`MOVED ${slotOf(keys[0])} 127.0.0.1:${movedTo()}`);
  return undefined;
}

/** One primary of all slots. */
function slotsOf(port: number): string {
  const id = 'a'.repeat(40);
  const address = encode(['127.0.0.1', 'PORT', id]).replace(`$4${CRLF}PORT`, `:${port}`);
  return `*1${CRLF}*3${CRLF}:0${CRLF}:${SLOTS - 1}${CRLF}${address}`;
}

function error(text: string): string {
  return `-${text}${CRLF}`;
}

function shaOf(text: string): string {
  return createHash('sha1').update(Buffer.from(text, 'latin1')).digest('hex');
}

function encode(words: readonly string[]): string {
  return `*${words.length}${CRLF}${words.map((word) => `$${word.length}${CRLF}${word}${CRLF}`).join('')}`;
}

/** Length of the first RESP2 value; undefined: not all of it is there. */
function lengthOf(text: string, at = 0): number | undefined {
  const end = text.indexOf(CRLF, at);
  if (end < 0) return undefined;
  const count = Number(text.slice(at + 1, end));
  const head = end + CRLF.length;
  if (text[at] === '$') {
    const whole = count < 0 ? head : head + count + CRLF.length;
    return whole <= text.length ? whole : undefined;
  }
  if (text[at] !== '*') return head;
  let next: number | undefined = head;
  for (let i = 0; i < count && next !== undefined; i += 1) next = lengthOf(text, next);
  return next;
}

function wordsOf(command: string): readonly string[] {
  const words: string[] = [];
  for (let at = command.indexOf(CRLF) + CRLF.length; at < command.length;) {
    const end = command.indexOf(CRLF, at);
    const length = Number(command.slice(at + 1, end));
    const from = end + CRLF.length;
    words.push(command.slice(from, from + length));
    at = from + length + CRLF.length;
  }
  return words;
}
