/** The Redis store: each call is one EVALSHA of `lua/take.lua` or `lua/settle.lua`, on Redis's own clock. */

import { ClientClosedError, ClientOfflineError, ErrorReply } from 'redis';
import type { Group, Settlement } from '../bucket/take';
import { errorCode, RedisConnection, type RedisConnectionOptions } from './redis-connection';
import { loadScript, type Script } from './script-loader';
import type { ScriptArguments } from './script-wire';
import { decodeApplied, encodeSettlements } from './settle-wire';
import { StoreError, type GroupOutcome, type SettleOutcome, type Store } from './store';
import { decodeReply, encodeTakes } from './take-wire';

export interface StoreScripts {
  readonly take: Script;
  readonly settle: Script;
}

/** A heartbeat of this process, in the key that all instances share. */
export interface BeatInput {
  readonly key: string;
  readonly name: string;
  /** False: the instance leaves. */
  readonly lives: boolean;
  /** For how long a heartbeat counts, in milliseconds. */
  readonly ttlMs: number;
  /** Most instances that are written down. */
  readonly instancesMax: number;
}

export interface RedisStoreOptions extends Omit<RedisConnectionOptions, 'greetings'> {
  /** Default: those of `lua/`. */
  readonly scripts?: StoreScripts;
}

export class RedisStore implements Store {
  private readonly connection: RedisConnection;
  private readonly scripts: StoreScripts;
  private readonly heartbeat = loadScript('heartbeat');
  private readonly inFlightMax: number;
  private inFlight = 0;

  constructor({ scripts = { take: loadScript('take'), settle: loadScript('settle') }, ...options }: RedisStoreOptions) {
    this.scripts = scripts;
    this.inFlightMax = options.inFlightMax;
    // So that the first call of a new connection need not carry its script.
    const greetings = [scripts.take, scripts.settle, this.heartbeat].map(({ text }) => ['SCRIPT', 'LOAD', text]);
    this.connection = new RedisConnection({ ...options, greetings });
  }

  /** Starts to connect, and goes on trying until closed. Resolves when first connected, or after `waitMs` without. */
  connect(options: { readonly waitMs: number }): Promise<void> {
    return this.connection.connect(options);
  }

  take(groups: readonly Group[]): Promise<readonly GroupOutcome[]> {
    return this.call(this.scripts.take, encodeTakes(groups), (reply) => decodeReply(reply, groups));
  }

  settle(settlements: readonly Settlement[]): Promise<readonly SettleOutcome[]> {
    return this.call(this.scripts.settle, encodeSettlements(settlements), (reply) => decodeApplied(reply, settlements));
  }

  /** Says in Redis that an instance lives, or leaves; how many live. */
  beat({ key, name, lives, ttlMs, instancesMax }: BeatInput): Promise<number> {
    const args = [name, lives ? '1' : '0', String(ttlMs), String(instancesMax)];
    return this.call(this.heartbeat, { keys: [key], args }, Number);
  }

  close(): Promise<void> {
    this.connection.close();
    return Promise.resolve();
  }

  private async call<Answer>(
    script: Script,
    { keys, args }: ScriptArguments,
    decode: (reply: unknown) => Answer,
  ): Promise<Answer> {
    if (this.inFlight >= this.inFlightMax) {
      throw new StoreError(`over ${this.inFlightMax} calls are waiting for Redis`, 'overload', { mayHaveRun: false });
    }
    this.inFlight += 1;
    try {
      return decode(await this.run(script, [String(keys.length), ...keys, ...args]));
    } catch (error) {
      throw toStoreError(error);
    } finally {
      this.inFlight -= 1;
    }
  }

  private async run({ sha, text }: Script, args: readonly string[]): Promise<unknown> {
    try {
      return await this.connection.send(['EVALSHA', sha, ...args]);
    } catch (error) {
      if (!(error instanceof ErrorReply) || errorCode(error) !== 'NOSCRIPT') throw error;
      // Redis has lost its scripts (restart, failover, SCRIPT FLUSH) and has run nothing. EVAL brings the script and
      // runs it in one step, so that no further flush can come between.
      return await this.connection.send(['EVAL', text, ...args]);
    }
  }
}

/** Tells callers what is wrong without Redis's own text, which may hold keys: of an error reply, its first word. */
function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  if (error instanceof ErrorReply) {
    // A script writes when all is decided, or not at all.
    return new StoreError(`Redis answered the error ${errorCode(error)}`, 'script', { cause: error, mayHaveRun: false });
  }
  const mayHaveRun = !(error instanceof ClientOfflineError || error instanceof ClientClosedError);
  return new StoreError('Redis is not connected', 'connection', { cause: error, mayHaveRun });
}
