/** The Redis store: each call is one EVALSHA of `lua/take.lua`, on Redis's own clock. */

import { ErrorReply } from 'redis';
import type { Group } from '../bucket/take';
import { errorCode, RedisConnection, type RedisConnectionOptions } from './redis-connection';
import { loadScript, type Script } from './script-loader';
import { StoreError, type GroupOutcome, type Store } from './store';
import { decodeReply, encodeTakes } from './take-wire';

export interface RedisStoreOptions extends Omit<RedisConnectionOptions, 'greeting'> {
  /** Default: `lua/take.lua`. */
  readonly script?: Script;
}

export class RedisStore implements Store {
  private readonly connection: RedisConnection;
  private readonly script: Script;
  private readonly inFlightMax: number;
  private inFlight = 0;

  constructor({ script = loadScript('take'), ...options }: RedisStoreOptions) {
    this.script = script;
    this.inFlightMax = options.inFlightMax;
    // So that the first call of a new connection need not carry the script.
    this.connection = new RedisConnection({ ...options, greeting: ['SCRIPT', 'LOAD', script.text] });
  }

  /** Starts to connect, and goes on trying until closed. Resolves when first connected, or after `waitMs` without. */
  connect(options: { readonly waitMs: number }): Promise<void> {
    return this.connection.connect(options);
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
    this.connection.close();
    return Promise.resolve();
  }

  private async run(args: readonly string[]): Promise<unknown> {
    try {
      return await this.connection.send(['EVALSHA', this.script.sha, ...args]);
    } catch (error) {
      if (!(error instanceof ErrorReply) || errorCode(error) !== 'NOSCRIPT') throw error;
      // Redis has lost its scripts (restart, failover, SCRIPT FLUSH) and has run nothing. EVAL brings the script and
      // runs it in one step, so that no further flush can come between.
      return await this.connection.send(['EVAL', this.script.text, ...args]);
    }
  }
}

/** Tells callers what is wrong without Redis's own text, which may hold keys: of an error reply, its first word. */
function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  if (error instanceof ErrorReply) {
    return new StoreError(`Redis answered the error ${errorCode(error)}`, 'script', { cause: error });
  }
  return new StoreError('Redis is not connected', 'connection', { cause: error });
}
