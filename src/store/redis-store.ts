/** The Redis store: each call is one EVALSHA of `lua/take.lua`, on Redis's own clock. */

import { createClient, ErrorReply, type RedisClientOptions } from 'redis';
import type { Group } from '../bucket/take';
import { loadScript, type Script } from './script-loader';
import { StoreError, type GroupOutcome, type Store } from './store';
import { decodeReply, encodeTakes } from './take-wire';

export interface RedisStoreOptions {
  /** Where Redis is and who we are there, as node-redis takes it. */
  readonly connection: Pick<RedisClientOptions, 'url' | 'username' | 'password' | 'database' | 'socket'>;
  /** Longest wait for a TCP or unix connection, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** Calls that may wait for Redis at once; the next one fails. */
  readonly inFlightMax: number;
  /** Told whenever Redis is found or lost. `cause` says why it was lost. */
  readonly onConnection: (state: { readonly connected: boolean; readonly cause?: string }) => void;
  /** Default: `lua/take.lua`. */
  readonly script?: Script;
}

/** First wait before a reconnect, doubled each time, and the longest one. */
const RECONNECT_MS_MIN = 10;
const RECONNECT_MS_MAX = 1_000;

// Replies in RESP2: the oldest protocol, understood by every server and proxy, and enough for whole numbers.
type Client = ReturnType<typeof makeClient>;

export class RedisStore implements Store {
  private readonly client: Client;
  private readonly script: Script;
  private readonly inFlightMax: number;
  private inFlight = 0;

  constructor(options: RedisStoreOptions) {
    this.client = makeClient(options);
    this.script = options.script ?? loadScript('take');
    this.inFlightMax = options.inFlightMax;
    this.client.on('ready', () => {
      options.onConnection({ connected: true });
      this.loadScript();
    });
    this.client.on('error', (error: unknown) => {
      options.onConnection({ connected: false, cause: describeError(error) });
    });
  }

  /** Starts to connect, and goes on trying until closed. Resolves when first connected, or after `waitMs` without. */
  async connect({ waitMs }: { readonly waitMs: number }): Promise<void> {
    const connected = this.client.connect().then(
      () => undefined,
      () => undefined, // Only close() ends the tries; each failed one was told to onConnection.
    );
    let timer: NodeJS.Timeout | undefined;
    const waited = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, waitMs);
    });
    await Promise.race([connected, waited]);
    clearTimeout(timer);
  }

  async take(groups: readonly Group[]): Promise<readonly GroupOutcome[]> {
    if (this.inFlight >= this.inFlightMax) {
      throw new StoreError(`over ${this.inFlightMax} calls are waiting for Redis`, 'overload');
    }
    this.inFlight += 1;
    try {
      const { keys, args } = encodeTakes(groups);
      return decodeReply(await this.run([String(keys.length), ...keys, ...args]), groups);
    } catch (error) {
      throw toStoreError(error);
    } finally {
      this.inFlight -= 1;
    }
  }

  close(): Promise<void> {
    this.client.destroy();
    return Promise.resolve();
  }

  private async run(args: readonly string[]): Promise<unknown> {
    try {
      return await this.client.sendCommand(['EVALSHA', this.script.sha, ...args]);
    } catch (error) {
      if (!(error instanceof ErrorReply) || !error.message.startsWith('NOSCRIPT')) throw error;
      // Redis has lost its scripts (restart, failover, SCRIPT FLUSH) and has run nothing. EVAL brings the script and
      // runs it in one step, so that no further flush can come between.
      return await this.client.sendCommand(['EVAL', this.script.text, ...args]);
    }
  }

  /** So that the first call after a reconnect need not carry the script. */
  private loadScript(): void {
    this.client.sendCommand(['SCRIPT', 'LOAD', this.script.text]).catch(() => {
      // Lost again, or not allowed to: the next call finds NOSCRIPT, or the same error, and tells it.
    });
  }
}

function makeClient({ connection, connectTimeoutMs, inFlightMax }: RedisStoreOptions) {
  return createClient({
    ...connection,
    socket: { ...connection.socket, connectTimeout: connectTimeoutMs, reconnectStrategy: reconnectAfterMs },
    RESP: 2,
    // A call without a connection fails at once: by the time of the reconnect Envoy has long gone on.
    disableOfflineQueue: true,
    commandsQueueMaxLength: inFlightMax + 1,
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

/** Tells callers what is wrong without Redis's own text, which may hold keys: of an error reply, its first word. */
function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  if (error instanceof ErrorReply) {
    return new StoreError(`Redis answered the error ${errorCode(error)}`, 'script', { cause: error });
  }
  return new StoreError('Redis is not connected', 'connection', { cause: error });
}

function errorCode(error: ErrorReply): string {
  return /^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR';
}

function describeError(error: unknown): string {
  if (error instanceof ErrorReply) return `Redis answered the error ${errorCode(error)}`;
  return error instanceof Error ? error.message : String(error);
}
