/** One connection to Redis that is kept, found again when lost, and given up when it goes silent. */

import { createClient, ErrorReply, type RedisClientOptions } from 'redis';
import { backoffMs } from '../backoff';

/** Knows where a primary is that may move. */
export interface RedisLocator {
  /** Where it is now. Rejects, within a bounded time, if nobody knows. */
  locate(): Promise<RedisPlace>;
  close(): void;
}

export interface RedisPlace {
  /** host:port, for people and to see whether it has moved. */
  readonly address: string;
  /** The same as node-redis takes it. */
  readonly socket: NonNullable<RedisClientOptions['socket']>;
  /** Whether enough of those that know say so to leave a connection that works. */
  readonly isAgreed: boolean;
}

export interface RedisConnectionOptions {
  /** Where Redis is and who we are there, as node-redis takes it. */
  readonly server: Pick<RedisClientOptions, 'username' | 'password' | 'credentialsProvider' | 'database' | 'socket'>;
  /** Takes the place of `server.socket`: asked before each dial, and every now and then. Closed with the connection. */
  readonly locator?: RedisLocator;
  /** Longest wait for a connection, in milliseconds: until Redis has answered its first command. */
  readonly connectTimeoutMs: number;
  /** Without any answer for so long, in milliseconds, while commands wait, the connection is given up for a new one. */
  readonly silenceMs: number;
  /** Commands that may wait for Redis at once. */
  readonly inFlightMax: number;
  /** Sent on every new connection before it counts as connected. */
  readonly greetings: readonly (readonly string[])[];
  /** Told whenever Redis is found or lost. */
  readonly onConnection: (state: ConnectionState) => void;
}

export interface ConnectionState {
  readonly connected: boolean;
  /** Where it was found, if a locator was asked. */
  readonly address?: string;
  /** Why it was lost. */
  readonly cause?: string;
}

/** How often within a silence it is looked for. */
const CHECKS_OF_SILENCE = 4;

/** Before a reconnect. Half of it is random, so that many instances do not come back in step. */
const RECONNECT = { firstMs: 10, maxMs: 1_000, factor: 2, random: Math.random };

/** A connection that lasted so long was a good one: the waits begin anew after it. */
const GOOD_MS = 1_000;

/** A server that says it is no longer the one to write to is left, but not more often than this. */
const REDISCOVER_MS = 5_000;
const NOT_THE_PRIMARY = ['READONLY', 'MASTERDOWN'];

/** How often it is asked whether the primary has moved: what the old one counts from then on is lost. */
const RELOCATE_MS = 500;

/** There is no connection just now: nothing has been sent. */
export class NotConnectedError extends Error {
  override readonly name = 'NotConnectedError';

  constructor() {
    super('not connected');
  }
}

type Client = ReturnType<typeof makeClient>;

/** A client and what is known of its answers. Times are of the monotonic clock. */
interface Line {
  /** Absent: not dialled yet. */
  client?: Client;
  waiting: number;
  /** When it last answered, or began to wait. */
  heardMs: number;
  /** When it was greeted; absent: not yet. */
  foundMs?: number;
  /** Whether it said itself that it is one. */
  isPrimary?: boolean;
  /** Ends the wait for the greeting. */
  handshake?: NodeJS.Timeout;
}

/**
 * Reconnecting is done here and not by node-redis: that one tries again at once when a connection that had opened is
 * closed, so a server that accepts and closes (no password, too many clients) would be asked thousands of times a second.
 */
export class RedisConnection {
  private line: Line;
  private isClosed = false;
  private tries = 0;
  private leftMs = -REDISCOVER_MS;
  /** Since it was left as a replica: connected is told when it has taken a command, not before. */
  private isDoubted = false;
  /** Where the last dial went, if a locator was asked. */
  private address: string | undefined;
  private isAskingAgain = false;
  private readonly watch: NodeJS.Timeout;
  private readonly relocation: NodeJS.Timeout | undefined;
  private retry: NodeJS.Timeout | undefined;
  private onFirst: (() => void) | undefined;

  constructor(private readonly options: RedisConnectionOptions) {
    this.line = makeLine();
    // Timers run before input is read, and after a pause of this process an answer may lie here unread: read it first.
    this.watch = setInterval(() => setImmediate(() => { this.leaveIfSilent(); }), options.silenceMs / CHECKS_OF_SILENCE);
    this.watch.unref();
    const { locator } = options;
    if (locator === undefined) return;
    this.relocation = setInterval(() => void this.leaveIfMoved(locator), RELOCATE_MS);
    this.relocation.unref();
  }

  /** Starts to connect, and goes on trying until closed. Resolves when first connected, or after `waitMs` without. */
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

  /** Rejects with Redis's ErrorReply, or with node-redis's error if there is no connection or it is lost meanwhile. */
  send(command: readonly string[]): Promise<unknown> {
    const { line } = this;
    const { client } = line;
    // What has not been greeted may be no primary, and what it counted would be lost.
    if (client === undefined || line.foundMs === undefined) return Promise.reject(new NotConnectedError());
    const reply = client.sendCommand(command);
    if (line.waiting === 0) line.heardMs = performance.now();
    line.waiting += 1;
    // Not async: every command comes through here, and its promises are what it leaves behind.
    return reply.then(
      (answer) => {
        this.hear(line);
        this.trust(line);
        return answer;
      },
      (error: unknown) => {
        this.hear(line);
        if (error instanceof ErrorReply && NOT_THE_PRIMARY.includes(errorCode(error))) this.leaveReplica(line, error);
        throw error;
      },
    );
  }

  /** Commands that wait fail. */
  close(): void {
    this.isClosed = true;
    clearInterval(this.watch);
    clearInterval(this.relocation);
    clearTimeout(this.retry);
    drop(this.line);
    this.options.locator?.close();
    this.onFirst?.();
  }

  /** Connects and greets. Until Redis has answered that, an open connection shows nothing. */
  private async open(line: Line): Promise<void> {
    const { server, locator, connectTimeoutMs, greetings } = this.options;
    try {
      const { address, socket } = locator === undefined ? { socket: server.socket } : await locator.locate();
      if (line !== this.line || this.isClosed) return;
      this.address = address;
      const client = makeClient(this.options, socket);
      line.client = client;
      client.on('error', (error: unknown) => {
        this.lose(line, line.foundMs === undefined ? describeRefusal(error) : describeError(error));
      });
      line.handshake = setTimeout(() => {
        this.lose(line, `no answer within ${connectTimeoutMs} ms`);
      }, connectTimeoutMs);
      await client.connect();
      // A short command first: of a long one, Redis tells nobody without a password what is wrong, it hangs up.
      for (const command of [['PING'], ...greetings]) await client.sendCommand(command).catch(ignoreNoPermission);
      if (locator !== undefined) await this.checkPrimary({ line, client, locator });
      this.find(line);
    } catch (error) {
      this.lose(line, describeRefusal(error));
    }
  }

  /**
   * Throws unless the server is the primary, by its own word and, once that is there, by the locator's: one that was
   * stopped takes a dial, and answers when it goes on as the primary that it was.
   */
  private async checkPrimary({ line, client, locator }: CheckPrimaryInput): Promise<void> {
    const role = await client.sendCommand(['ROLE']).catch(ignoreNoPermission);
    clearTimeout(line.handshake);
    if (Array.isArray(role) && role[0] !== 'master') throw new Error(`${this.address ?? 'it'} is no primary but a ${String(role[0])}`);
    const { address } = await locator.locate();
    if (address !== this.address) throw new Error(`the primary moved to ${address}`);
    line.isPrimary = role !== undefined;
  }

  private find(line: Line): void {
    if (line !== this.line || this.isClosed) return;
    clearTimeout(line.handshake);
    line.foundMs = performance.now();
    if (line.isPrimary === true) this.isDoubted = false;
    if (!this.isDoubted) this.tellConnected();
    this.onFirst?.();
  }

  private hear(line: Line): void {
    line.waiting -= 1;
    line.heardMs = performance.now();
  }

  private trust(line: Line): void {
    if (!this.isDoubted || line !== this.line) return;
    this.isDoubted = false;
    this.tellConnected();
  }

  private tellConnected(): void {
    this.options.onConnection({ connected: true, ...(this.address !== undefined && { address: this.address }) });
  }

  /** A peer that is gone without a word (a lost host, a forgotten NAT entry) would keep every command for minutes. */
  private leaveIfSilent(): void {
    const { line } = this;
    const { silenceMs } = this.options;
    if (line.waiting > 0 && performance.now() - line.heardMs > silenceMs) this.lose(line, `no answer for ${silenceMs} ms`);
  }

  /**
   * A primary that lost its place without knowing (stopped and continued, cut off from the others) takes commands as
   * before, and a dial to one that is gone, or the pause before the next, would outlast the news of its successor.
   */
  private async leaveIfMoved(locator: RedisLocator): Promise<void> {
    // A slow answer is not asked for twice.
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
      // Nobody knows: it is not known to have moved.
    } finally {
      this.isAskingAgain = false;
    }
  }

  private leaveReplica(line: Line, error: ErrorReply): void {
    if (line !== this.line || performance.now() - this.leftMs < REDISCOVER_MS) return;
    this.leftMs = performance.now();
    this.isDoubted = true;
    this.lose(line, describeError(error));
  }

  /** Gives the line up, tells why, and opens another one after a while. */
  private lose(line: Line, cause: string): void {
    if (line !== this.line || this.isClosed) return;
    const wasGood = line.foundMs !== undefined && performance.now() - line.foundMs >= GOOD_MS;
    this.tries = wasGood ? 0 : this.tries + 1;
    this.line = makeLine();
    drop(line);
    this.options.onConnection({ connected: false, cause });
    clearTimeout(this.retry);
    this.retry = setTimeout(() => void this.open(this.line), backoffMs({ ...RECONNECT, failures: this.tries }));
  }
}

interface CheckPrimaryInput {
  readonly line: Line;
  readonly client: Client;
  readonly locator: RedisLocator;
}

function makeLine(): Line {
  return { waiting: 0, heardMs: performance.now() };
}

function drop({ client, handshake }: Line): void {
  clearTimeout(handshake);
  // One that is not open can't be destroyed, and need not be.
  if (client?.isOpen === true) client.destroy();
}

/** Not allowed to: Redis is there all the same, and what it matters for, the next command will find and tell. */
function ignoreNoPermission(error: unknown): void {
  if (!(error instanceof ErrorReply) || errorCode(error) !== 'NOPERM') throw error;
}

/** The first word of an error of Redis's: the rest may hold keys. */
export function errorCode(error: ErrorReply): string {
  return /^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR';
}

/**
 * Of a connection that is not greeted yet: nothing has been asked for, so Redis's own words hold no key. But of a command that
 * it does not know it repeats the arguments, and those of AUTH are the password.
 */
function describeRefusal(error: unknown): string {
  return error instanceof ErrorReply ? error.message.replace(/, with args.*/s, '') : describeError(error);
}

export function describeError(error: unknown): string {
  if (error instanceof ErrorReply) return `Redis answered the error ${errorCode(error)}`;
  if (!(error instanceof Error)) return String(error);
  // Of a line of OpenSSL's, the part that is no address in its source.
  return 'library' in error && 'reason' in error ? `TLS: ${String(error.reason)}` : error.message;
}

function makeClient({ server, connectTimeoutMs, inFlightMax }: RedisConnectionOptions, socket: RedisClientOptions['socket']) {
  return createClient({
    ...server,
    socket: { ...socket, connectTimeout: connectTimeoutMs, reconnectStrategy: false },
    // The oldest protocol, understood by every server and proxy, and enough for whole numbers.
    RESP: 2,
    // A call without a connection fails at once: by the time of the reconnect Envoy has long gone on.
    disableOfflineQueue: true,
    // By itself it gives each command an AbortSignal for 5 s, for the moment until it is written, and keeps it all that time: at
    // 2,000 calls/s 10,000 of them, twice the heap, and pauses of 50 ms to collect them. Deadlines are the deadline's.
    commandOptions: { timeout: 0 },
    // Commands that wait, an ASKING before each, a greeting at a time, and one more.
    commandsQueueMaxLength: 2 * inFlightMax + 2,
    // CLIENT SETINFO and maintenance notices are nothing Weir needs, and commands that a strict ACL refuses.
    disableClientInfo: true,
    maintNotifications: 'disabled',
  });
}
