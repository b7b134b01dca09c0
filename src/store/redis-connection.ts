/** One connection to Redis that is kept, found again when lost, and given up when it goes silent. */

import { createClient, ErrorReply, type RedisClientOptions } from 'redis';

export interface RedisConnectionOptions {
  /** Where Redis is and who we are there, as node-redis takes it. */
  readonly server: Pick<RedisClientOptions, 'username' | 'password' | 'database' | 'socket'>;
  /** Longest wait for a TCP or unix connection, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** Without any answer for so long, in milliseconds, while commands wait, the connection is given up for a new one. */
  readonly silenceMs: number;
  /** Commands that may wait for Redis at once. */
  readonly inFlightMax: number;
  /** Sent on every new connection before it counts as connected: its answer shows that there is a Redis. */
  readonly greeting: readonly string[];
  /** Told whenever Redis is found or lost. `cause` says why it was lost. */
  readonly onConnection: (state: { readonly connected: boolean; readonly cause?: string }) => void;
}

/** How often within a silence it is looked for. */
const CHECKS_OF_SILENCE = 4;

/** First wait before a reconnect, doubled each time, and the longest one. */
const RECONNECT_MS_MIN = 10;
const RECONNECT_MS_MAX = 1_000;

/** A server that says it is no longer the one to write to is left, but not more often than this. */
const REDISCOVER_MS = 5_000;
const NOT_THE_PRIMARY = ['READONLY', 'MASTERDOWN'];

type Client = ReturnType<typeof makeClient>;

/** A client and what is known of its answers. */
interface Line {
  readonly client: Client;
  waiting: number;
  /** When it last answered, or began to wait: on the monotonic clock. */
  heardMs: number;
}

export class RedisConnection {
  private line: Line;
  private isClosed = false;
  private leftMs = -REDISCOVER_MS;
  private readonly watch: NodeJS.Timeout;
  private onFirst: (() => void) | undefined;

  constructor(private readonly options: RedisConnectionOptions) {
    this.line = this.makeLine();
    // Timers run before input is read, and after a pause of this process an answer may lie here unread: read it first.
    this.watch = setInterval(() => setImmediate(() => { this.leaveIfSilent(); }), options.silenceMs / CHECKS_OF_SILENCE);
    this.watch.unref();
  }

  /** Starts to connect, and goes on trying until closed. Resolves when first connected, or after `waitMs` without. */
  async connect({ waitMs }: { readonly waitMs: number }): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const first = new Promise<void>((resolve) => {
      this.onFirst = resolve;
      timer = setTimeout(resolve, waitMs);
    });
    this.open(this.line);
    await first;
    clearTimeout(timer);
  }

  /** Rejects with Redis's ErrorReply, or with node-redis's error if there is no connection or it is lost meanwhile. */
  async send(command: readonly string[]): Promise<unknown> {
    const { line } = this;
    if (line.waiting === 0) line.heardMs = performance.now();
    line.waiting += 1;
    try {
      return await line.client.sendCommand(command);
    } catch (error) {
      if (error instanceof ErrorReply && NOT_THE_PRIMARY.includes(errorCode(error))) this.leaveReplica(line, error);
      throw error;
    } finally {
      line.waiting -= 1;
      line.heardMs = performance.now();
    }
  }

  /** Commands that wait fail. */
  close(): void {
    this.isClosed = true;
    clearInterval(this.watch);
    this.line.client.destroy();
  }

  private makeLine(): Line {
    const line: Line = { client: makeClient(this.options), waiting: 0, heardMs: performance.now() };
    line.client.on('ready', () => {
      this.greet(line);
    });
    line.client.on('error', (error: unknown) => {
      if (line === this.line) this.options.onConnection({ connected: false, cause: describeError(error) });
    });
    return line;
  }

  private open({ client }: Line): void {
    client.connect().catch(() => {
      // Only close() and leave() end the tries; each failed one was told to onConnection.
    });
  }

  private greet(line: Line): void {
    const connected = () => {
      if (line !== this.line) return;
      this.options.onConnection({ connected: true });
      this.onFirst?.();
    };
    line.client.sendCommand(this.options.greeting).then(connected, (error: unknown) => {
      // An answer all the same: what is wrong with it, the next command will find and tell.
      if (error instanceof ErrorReply) connected();
    });
  }

  /** A peer that is gone without a word (a lost host, a forgotten NAT entry) would keep every command for minutes. */
  private leaveIfSilent(): void {
    const { waiting, heardMs } = this.line;
    const { silenceMs } = this.options;
    if (waiting > 0 && performance.now() - heardMs > silenceMs) this.leave(`no answer for ${silenceMs} ms`);
  }

  private leaveReplica(line: Line, error: ErrorReply): void {
    if (line !== this.line || performance.now() - this.leftMs < REDISCOVER_MS) return;
    this.leave(describeError(error));
  }

  private leave(cause: string): void {
    if (this.isClosed) return;
    const { client } = this.line;
    this.leftMs = performance.now();
    this.line = this.makeLine();
    this.options.onConnection({ connected: false, cause });
    client.destroy();
    this.open(this.line);
  }
}

/** The first word of an error of Redis's: the rest may hold keys. */
export function errorCode(error: ErrorReply): string {
  return /^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR';
}

function describeError(error: unknown): string {
  if (error instanceof ErrorReply) return `Redis answered the error ${errorCode(error)}`;
  return error instanceof Error ? error.message : String(error);
}

function makeClient({ server, connectTimeoutMs, inFlightMax }: RedisConnectionOptions) {
  return createClient({
    ...server,
    socket: { ...server.socket, connectTimeout: connectTimeoutMs, reconnectStrategy: reconnectAfterMs },
    // The oldest protocol, understood by every server and proxy, and enough for whole numbers.
    RESP: 2,
    // A call without a connection fails at once: by the time of the reconnect Envoy has long gone on.
    disableOfflineQueue: true,
    // Commands that wait, a greeting, and one more.
    commandsQueueMaxLength: inFlightMax + 2,
    // CLIENT SETINFO and maintenance notices are nothing Weir needs, and commands that a strict ACL refuses.
    disableClientInfo: true,
    maintNotifications: 'disabled',
  });
}

function reconnectAfterMs(retries: number): number {
  const ceilingMs = Math.min(RECONNECT_MS_MAX, RECONNECT_MS_MIN * 2 ** Math.min(retries, 10));
  // Half of it is random, so that many instances do not come back in step.
  return Math.round(ceilingMs * (0.5 + Math.random() / 2));
}
