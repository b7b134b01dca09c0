/** A permanent connection to Redis: reconnects when it is lost, and gives it up when Redis goes silent. */

import { createClient, ErrorReply } from '@redis/client';
import type { RedisClientOptions } from 'redis';
import { monotonicNowMs, readTimeout } from '../../../../lib/clock';
import { backoffMs, type BackoffOptions } from '../../../../lib/backoff';
import { ReplyError } from './reply-error';
import { describeError, errorCodeOf, NotConnectedError } from './redis-errors';
import { readWord, type ReadReply } from './read-reply';

/** Locates a primary that may move. */
export interface RedisLocator {
  /** The current place. Rejects, within a bounded time, if it is unknown. */
  locate(): Promise<RedisPlace>;
  close(): void;
}

export interface RedisPlace {
  /** host:port, for the log and to detect a move. */
  readonly address: string;
  /** The same in the form of node-redis. */
  readonly socket: RedisSocket;
  /** Whether a majority confirms it, so that a working connection may be closed. */
  readonly isAgreed: boolean;
}

export type RedisSocket = NonNullable<RedisClientOptions['socket']>;

export interface RedisConnectionOptions {
  /** Address and credentials in the form of node-redis. `socket` is asked before each dial, and so is `credentials`, in place of the others. */
  readonly server: Pick<RedisClientOptions, 'username' | 'password' | 'database'> & {
    readonly socket?: RedisSocket | (() => RedisSocket);
    readonly credentials?: () => Promise<RedisCredentials>;
  };
  /** Replaces `server.socket`: asked before each dial, and regularly. Closed with the connection. */
  readonly locator?: RedisLocator;
  /** Description of the trusted authorities, for the log. Absent: no TLS. */
  readonly trusted?: string;
  /** Deadline in milliseconds for opening the connection, and then for each reply of the greeting. */
  readonly connectTimeoutMs: number;
  /** Time without any answer, in milliseconds, after which a connection with waiting commands is replaced. */
  readonly silenceMs: number;
  /** Most commands in flight. */
  readonly inFlightMax: number;
  /** Sent on every new connection before it counts as connected. */
  readonly greetings: readonly Greeting[];
  /** Examines the server after the greetings. A rejection ends the connection, and is its cause. Absent: it is trusted. */
  readonly probe?: (send: (command: readonly string[]) => Promise<unknown>) => Promise<void>;
  /** Called whenever Redis is found or lost. */
  readonly onConnection: (state: ConnectionState) => void;
  /** Waits before a reconnect. Default: from about 10 ms to a second. */
  readonly reconnect?: BackoffOptions & { readonly firstMs: number };
}

/** Name and password of a connection. */
export interface RedisCredentials {
  readonly username?: string;
  readonly password: string;
  /** Sends AUTH on the open connection before they end, and returns what ends that. Absent: they do not end. */
  readonly keep?: (send: (command: readonly string[]) => Promise<void>) => () => void;
}

export interface Greeting {
  readonly command: readonly string[];
  readonly read: ReadReply<unknown>;
}

export interface ConnectionState {
  readonly connected: boolean;
  /** The address found, if a locator was asked. */
  readonly address?: string;
  /** Why the connection was lost. */
  readonly cause?: string;
  /** A cluster says again that it is connected, to the same owners of its slots. */
  readonly isUnchanged?: boolean;
}

/** Number of checks within the silence limit. */
const CHECKS_OF_SILENCE = 4;

/** Half of each wait is random, so that many instances do not reconnect in step. */
const RECONNECT = { firstMs: 10, maxMs: 1_000, factor: 2, random: Math.random };

/** The waits start again after a connection of at least this length. */
const GOOD_MS = 1_000;

/** Minimum interval between leaving servers that have become replicas. */
const REDISCOVER_MS = 5_000;
const NOT_THE_PRIMARY = ['READONLY', 'MASTERDOWN'];

/** Interval of checks whether the primary has moved: hits counted by the old one are lost from then on. */
const RELOCATE_MS = 500;

const AUTHENTICATED = readWord('OK');
const PING: Greeting = { command: ['PING'], read: readWord('PONG') };

/** OpenSSL's error codes for a certificate without a trusted issuer. */
const UNTRUSTED = new Set([
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_UNTRUSTED',
]);

/** Most characters of a server's message in the log. */
const WORDS_MAX = 200;

type Client = ReturnType<typeof makeClient>;

/** A client and the state of its answers. Times are of the monotonic clock. */
interface Line {
  /** Absent before dialling. */
  client?: Client;
  waiting: number;
  /** Time of its last answer, or of the start of waiting. */
  answeredMs: number;
  /** When the greeting ended; absent before. */
  foundMs?: number;
  /** Whether the server has confirmed that it is the primary. */
  isPrimary?: boolean;
  /** Ends what keeps its credentials valid. */
  stopKeeping?: (() => void) | undefined;
  /** Timeout of the current step of the greeting. */
  handshake?: NodeJS.Timeout | undefined;
  /** It has sent an invalid reply: replies received together with that one may belong to other commands. */
  isMistrusted: boolean;
}

/**
 * Reconnects itself instead of leaving it to node-redis, which retries at once when an open connection is
 * closed: a server that accepts and closes (no password, too many clients) would get thousands of attempts a second.
 */
export class RedisConnection {
  private line: Line;
  private isClosed = false;
  private tries = 0;
  private leftMs = -REDISCOVER_MS;
  /** A replica was left: `connected` is reported only after a command has succeeded. */
  private isDoubted = false;
  /** The target of the last dial, if a locator was asked. */
  private address: string | undefined;
  private isAskingAgain = false;
  private readonly watch: NodeJS.Timeout;
  private readonly relocation: NodeJS.Timeout | undefined;
  private retry: NodeJS.Timeout | undefined;
  private onFirst: (() => void) | undefined;

  constructor(private readonly options: RedisConnectionOptions) {
    this.line = makeLine();
    // Timers run before input is read: after a pause of this process an unread answer must be read first.
    this.watch = setInterval(
      () =>
        setImmediate(() => {
          this.leaveIfSilent();
        }),
      options.silenceMs / CHECKS_OF_SILENCE,
    );
    this.watch.unref();
    const { locator } = options;
    if (locator === undefined) return;
    this.relocation = setInterval(() => void this.leaveIfMoved(locator), RELOCATE_MS);
    this.relocation.unref();
  }

  /** Starts to connect, and retries until closed. Resolves when first connected, or after `waitMs`. */
  async connect({ waitMs }: { readonly waitMs: number }): Promise<void> {
    if (this.isClosed) return;
    let timer: NodeJS.Timeout | undefined;
    const first = new Promise<void>((resolve) => {
      this.onFirst = resolve;
      timer = setTimeout(resolve, waitMs);
    });
    void this.open(this.line);
    await first;
    clearTimeout(timer);
  }

  /**
   * Resolves to the reply as `read` converts it. Rejects with Redis's ErrorReply; with node-redis's error if the connection is missing or
   * lost meanwhile; and with ReplyError for an invalid reply, after which the connection is given up.
   */
  send<Answer>(command: readonly string[], read: ReadReply<Answer>): Promise<Answer> {
    const { line } = this;
    const { client } = line;
    // Before the greeting ends, the server may not be the primary, and its counts would be lost.
    if (client === undefined || line.foundMs === undefined) return Promise.reject(new NotConnectedError());
    const reply = client.sendCommand(command);
    if (line.waiting === 0) line.answeredMs = monotonicNowMs();
    line.waiting += 1;
    // Not async: every command passes here, and promises are its main garbage.
    return reply.then(
      (answer) => {
        this.recordAnswer(line);
        const result = this.read(line, answer, read);
        this.trust(line);
        return result;
      },
      (error: unknown) => {
        this.recordAnswer(line);
        if (NOT_THE_PRIMARY.includes(errorCodeOf(error) ?? '')) this.leaveReplica(line, error);
        throw error;
      },
    );
  }

  /** Resolves when Redis answers. */
  async ping(): Promise<void> {
    await this.send(PING.command, PING.read);
  }

  /** Waiting commands fail. */
  close(): void {
    this.isClosed = true;
    clearInterval(this.watch);
    clearInterval(this.relocation);
    clearTimeout(this.retry);
    drop(this.line);
    this.options.locator?.close();
    this.onFirst?.();
  }

  /** Connects and sends the greeting. An open connection counts only after its replies. */
  private async open(line: Line): Promise<void> {
    const { server, locator, greetings, probe } = this.options;
    try {
      const credentials = await server.credentials?.();
      const { address, socket } = locator === undefined ? { socket: socketOf(server) } : await locator.locate();
      if (line !== this.line || this.isClosed) return;
      this.address = address;
      const client = makeClient(this.options, { socket, credentials });
      line.client = client;
      client.on('error', (error: unknown) => {
        this.lose(line, line.foundMs === undefined ? this.refusalOf(error) : describeError(error));
      });
      this.awaitStep(line);
      await client.connect();
      // A short command first: without a password, Redis answers it with the error, but hangs up on a long one.
      for (const { command, read } of [PING, ...greetings]) {
        this.awaitStep(line);
        const reply = await client.sendCommand(command).catch(ignoreNoPermission);
        if (reply !== undefined) read(reply);
      }
      if (locator !== undefined) await this.checkPrimary({ line, client, locator });
      await probe?.((command) => {
        this.awaitStep(line);
        return client.sendCommand(command);
      });
      this.find(line, credentials);
    } catch (error) {
      this.lose(line, this.refusalOf(error));
    }
  }

  private refusalOf(error: unknown): string {
    const { trusted } = this.options;
    const isUntrusted = trusted !== undefined && error instanceof Error && 'code' in error && UNTRUSTED.has(String(error.code));
    return isUntrusted ? `${describeRefusal(error)}; trusted authorities: ${trusted}` : describeRefusal(error);
  }

  /** Limits each step of the greeting on its own, because a host without processor time is slow in total but answers each command. */
  private awaitStep(line: Line): void {
    const { connectTimeoutMs } = this.options;
    clearTimeout(line.handshake);
    if (line !== this.line) return;
    // An unread answer still counts, and sets the next timer.
    const timer = readTimeout(connectTimeoutMs, () => {
      if (line.handshake === timer) this.lose(line, `no answer within ${connectTimeoutMs} ms`);
    });
    line.handshake = timer;
  }

  /**
   * Throws unless the server is the primary, by its own reply and by the locator's answer after that: a server that was
   * stopped accepts a dial, and continues as the primary that it was.
   */
  private async checkPrimary({ line, client, locator }: CheckPrimaryInput): Promise<void> {
    const role = await client.sendCommand(['ROLE']).catch(ignoreNoPermission);
    endHandshake(line);
    if (Array.isArray(role) && role[0] !== 'master') throw new Error(`${this.address ?? 'it'} is a ${String(role[0])}, not a primary`);
    const { address } = await locator.locate();
    if (address !== this.address) throw new Error(`the primary moved to ${address}`);
    line.isPrimary = role !== undefined;
  }

  private find(line: Line, credentials: RedisCredentials | undefined): void {
    if (line !== this.line || this.isClosed) return;
    endHandshake(line);
    line.foundMs = monotonicNowMs();
    line.stopKeeping = credentials?.keep?.((command) => this.send(command, AUTHENTICATED));
    if (line.isPrimary === true) this.isDoubted = false;
    if (!this.isDoubted) this.reportConnected();
    this.onFirst?.();
  }

  private recordAnswer(line: Line): void {
    line.waiting -= 1;
    line.answeredMs = monotonicNowMs();
  }

  private read<Answer>(line: Line, reply: unknown, read: ReadReply<Answer>): Answer {
    if (line.isMistrusted) throw new ReplyError('it arrived together with an invalid reply');
    try {
      return read(reply);
    } catch (error) {
      if (error instanceof ReplyError) {
        line.isMistrusted = true;
        this.lose(line, describeError(error));
      }
      throw error;
    }
  }

  private trust(line: Line): void {
    if (!this.isDoubted || line !== this.line) return;
    this.isDoubted = false;
    this.reportConnected();
  }

  private reportConnected(): void {
    this.options.onConnection({ connected: true, ...(this.address !== undefined && { address: this.address }) });
  }

  /** Without this check, a peer that vanished (a lost host, a forgotten NAT entry) would hold commands for minutes. */
  private leaveIfSilent(): void {
    const { line } = this;
    const { silenceMs } = this.options;
    if (line.waiting > 0 && monotonicNowMs() - line.answeredMs > silenceMs) this.lose(line, `no answer for ${silenceMs} ms`);
  }

  /**
   * Leaves a primary that was replaced without noticing (stopped and continued, or cut off), which still takes commands.
   * Also ends a dial to a lost primary, or the pause before the next dial, when its successor is known.
   */
  private async leaveIfMoved(locator: RedisLocator): Promise<void> {
    // Only one question at a time.
    if (this.isAskingAgain || this.address === undefined) return;
    this.isAskingAgain = true;
    try {
      const { line } = this;
      const { address, isAgreed } = await locator.locate();
      if (address !== this.address && (isAgreed || line.foundMs === undefined)) {
        if (line === this.line) this.tries = 0;
        this.lose(line, `the primary moved to ${address}`);
      }
    } catch {
      // The locator does not know, so the primary has not provably moved.
    } finally {
      this.isAskingAgain = false;
    }
  }

  private leaveReplica(line: Line, error: unknown): void {
    if (line !== this.line || monotonicNowMs() - this.leftMs < REDISCOVER_MS) return;
    this.leftMs = monotonicNowMs();
    this.isDoubted = true;
    this.lose(line, describeError(error));
  }

  /** Gives the line up, reports the cause, and opens another one after a wait. */
  private lose(line: Line, cause: string): void {
    if (line !== this.line || this.isClosed) return;
    const wasGood = line.foundMs !== undefined && monotonicNowMs() - line.foundMs >= GOOD_MS;
    this.tries = wasGood ? 0 : this.tries + 1;
    this.line = makeLine();
    drop(line);
    this.options.onConnection({ connected: false, cause });
    clearTimeout(this.retry);
    this.retry = setTimeout(() => void this.open(this.line), backoffMs({ ...(this.options.reconnect ?? RECONNECT), failures: this.tries }));
  }
}

interface CheckPrimaryInput {
  readonly line: Line;
  readonly client: Client;
  readonly locator: RedisLocator;
}

function socketOf({ socket }: RedisConnectionOptions['server']): RedisSocket | undefined {
  return typeof socket === 'function' ? socket() : socket;
}

function makeLine(): Line {
  return { waiting: 0, answeredMs: monotonicNowMs(), isMistrusted: false };
}

function endHandshake(line: Line): void {
  clearTimeout(line.handshake);
  line.handshake = undefined;
}

function drop(line: Line): void {
  endHandshake(line);
  line.stopKeeping?.();
  const { client } = line;
  // Only an open client can be destroyed, and only an open one needs it.
  if (client?.isOpen === true) client.destroy();
}

/** Ignores a missing permission: Redis is available, and the next command that needs the permission reports it. */
function ignoreNoPermission(error: unknown): void {
  if (errorCodeOf(error) !== 'NOPERM') throw error;
}

/**
 * For a connection before the end of its greeting: its errors contain no keys, because no bucket was requested. But Redis repeats the
 * arguments of unknown commands, and those of AUTH are the password. A proxy may repeat a token, the only word of that length.
 */
function describeRefusal(error: unknown): string {
  if (!(error instanceof ErrorReply)) return describeError(error);
  return error.message
    .replace(/, with args.*/s, '')
    .replace(/\S{100,}/g, '…')
    .slice(0, WORDS_MAX);
}

interface DialInput {
  readonly socket: RedisClientOptions['socket'];
  readonly credentials: RedisCredentials | undefined;
}

function makeClient({ server, connectTimeoutMs, inFlightMax }: RedisConnectionOptions, { socket, credentials }: DialInput) {
  const { username, password } = credentials ?? server;
  return createClient({
    ...(server.database !== undefined && { database: server.database }),
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    // `awaitStep` ends a dial; node-redis's own timer could fire after a pause although the connection is established.
    socket: { ...socket, connectTimeout: 2 * connectTimeoutMs, reconnectStrategy: false },
    // The oldest protocol, which every server and proxy supports, and sufficient for integers.
    RESP: 2,
    // Calls without a connection fail at once: Envoy does not wait for a reconnect.
    disableOfflineQueue: true,
    // By default node-redis gives each command an AbortSignal for 5 s, used only until it is written, but kept for the whole time: at
    // 2,000 calls/s that is 10,000 signals, twice the heap, and pauses of 50 ms to collect them. DeadlineStore handles deadlines.
    commandOptions: { timeout: 0 },
    // Waiting commands, an ASKING before each, one step of the greeting, and one more.
    commandsQueueMaxLength: 2 * inFlightMax + 2,
    // Weir needs neither CLIENT SETINFO nor maintenance notices, and a strict ACL rejects their commands.
    disableClientInfo: true,
    maintNotifications: 'disabled',
  });
}
