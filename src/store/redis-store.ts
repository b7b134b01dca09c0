/** The Redis store: each call is one EVALSHA of `lua/take.lua` or `lua/settle.lua`, on Redis's own clock. */

import { ClientClosedError, ClientOfflineError, ErrorReply } from 'redis';
import type { Group, Settlement } from '../bucket/take';
import { errorCode, NotConnectedError, RedisConnection, type RedisConnectionOptions } from './redis-connection';
import { redirectOf } from './redirect-error';
import { loadScript, type Script } from './script-loader';
import type { ScriptArguments } from './script-wire';
import { decodeApplied, encodeSettlements } from './settle-wire';
import { overloadError, StoreError, type GroupOutcome, type SettleOutcome, type Store, type TakeOptions } from './store';
import { decodeReply, encodeTakes } from './take-wire';

/** How the error of a script begins that has written some buckets and not others: `lua/include/buckets.lua`. */
const WRITTEN_IN_PART = 'PARTLY';

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

/** A run of a script, all of whose keys are of one slot. */
export interface ScriptRun extends ScriptArguments {
  readonly script: Script;
}

export interface RedisStoreOptions extends Omit<RedisConnectionOptions, 'greetings'> {
  /** Default: those of `lua/`. */
  readonly scripts?: StoreScripts;
  /** A node of a Redis Cluster: where it sends us is told as a RedirectError. Default: false. */
  readonly isClusterNode?: boolean;
}

export class RedisStore implements Store {
  private readonly connection: RedisConnection;
  private readonly scripts: StoreScripts;
  private readonly heartbeat = loadScript('heartbeat');
  private readonly isClusterNode: boolean;
  private readonly inFlightMax: number;
  private inFlight = 0;

  constructor({ scripts = { take: loadScript('take'), settle: loadScript('settle') }, isClusterNode = false, ...options }: RedisStoreOptions) {
    this.scripts = scripts;
    this.isClusterNode = isClusterNode;
    this.inFlightMax = options.inFlightMax;
    // So that the first call of a new connection need not carry its script.
    const greetings = [scripts.take, scripts.settle, this.heartbeat].map(({ text }) => ['SCRIPT', 'LOAD', text]);
    this.connection = new RedisConnection({ ...options, greetings });
  }

  /** Starts to connect, and goes on trying until closed. Resolves when first connected, or after `waitMs` without. */
  connect(options: { readonly waitMs: number }): Promise<void> {
    return this.connection.connect(options);
  }

  take(groups: readonly Group[], options: TakeOptions = {}): Promise<readonly GroupOutcome[]> {
    const { keys, args, folds } = encodeTakes(groups);
    return this.call({ script: this.scripts.take, keys, args, options }, (reply) => decodeReply(reply, { groups, folds }));
  }

  settle(settlements: readonly Settlement[], options: TakeOptions = {}): Promise<readonly SettleOutcome[]> {
    const call = { script: this.scripts.settle, ...encodeSettlements(settlements), options };
    return this.call(call, (reply) => decodeApplied(reply, settlements));
  }

  /** What a script answers that is none of the store's own. */
  run({ script, keys, args }: ScriptRun, options: TakeOptions = {}): Promise<unknown> {
    return this.call({ script, keys, args, options }, (reply) => reply);
  }

  /** What CLUSTER SLOTS answers: who has which slots, as far as this node knows. */
  async readSlots(): Promise<unknown> {
    try {
      return await this.connection.send(['CLUSTER', 'SLOTS']);
    } catch (error) {
      throw toStoreError(error);
    }
  }

  /** Says in Redis that an instance lives, or leaves; how many live. */
  beat({ key, name, lives, ttlMs, instancesMax }: BeatInput, options: TakeOptions = {}): Promise<number> {
    const args = [name, lives ? '1' : '0', String(ttlMs), String(instancesMax)];
    return this.call({ script: this.heartbeat, keys: [key], args, options }, Number);
  }

  /** Resolves when Redis answers. */
  async ping(): Promise<void> {
    await this.connection.send(['PING']);
  }

  close(): Promise<void> {
    this.connection.close();
    return Promise.resolve();
  }

  /** Not async, nor is what it calls: every command comes through here, and its promises are what it leaves behind. */
  private call<Answer>(call: ScriptCall, decode: (reply: unknown) => Answer): Promise<Answer> {
    if (this.inFlight >= this.inFlightMax) return Promise.reject(overloadError(this.inFlightMax));
    this.inFlight += 1;
    const { script, options } = call;
    return this.send(commandOf('EVALSHA', script.sha, call), options).then(
      (reply) => this.answer(reply, decode),
      (error: unknown) => {
        if (!(error instanceof ErrorReply) || errorCode(error) !== 'NOSCRIPT') return this.fail(error);
        // Redis has lost its scripts (restart, failover, SCRIPT FLUSH) and has run nothing. EVAL brings the script and
        // runs it in one step, so that no further flush can come between.
        return this.send(commandOf('EVAL', script.text, call), options).then(
          (reply) => this.answer(reply, decode),
          (again: unknown) => this.fail(again),
        );
      },
    );
  }

  private answer<Answer>(reply: unknown, decode: (reply: unknown) => Answer): Answer {
    try {
      const answer = decode(reply);
      this.inFlight -= 1;
      return answer;
    } catch (error) {
      return this.fail(error);
    }
  }

  /**
   * @throws StoreError always
   */
  private fail(error: unknown): never {
    this.inFlight -= 1;
    throw this.redirectOf(error) ?? toStoreError(error);
  }

  private redirectOf(error: unknown): StoreError | undefined {
    return this.isClusterNode && error instanceof ErrorReply ? redirectOf(error) : undefined;
  }

  private send(command: readonly string[], { asking = false }: TakeOptions): Promise<unknown> {
    // It holds for the next command of the connection alone; should it fail, that one is answered MOVED, or fails too.
    if (asking) this.connection.send(['ASKING']).catch(() => undefined);
    return this.connection.send(command);
  }
}

interface ScriptCall extends ScriptRun {
  readonly options: TakeOptions;
}

/** Made at its length: some hundred arguments that are spread into an array, and once more, are copied each time that it grows. */
function commandOf(name: 'EVALSHA' | 'EVAL', script: string, { keys, args }: ScriptArguments): readonly string[] {
  const command = new Array<string>(3 + keys.length + args.length);
  command[0] = name;
  command[1] = script;
  command[2] = String(keys.length);
  let at = 3;
  for (const key of keys) {
    command[at] = key;
    at += 1;
  }
  for (const arg of args) {
    command[at] = arg;
    at += 1;
  }
  return command;
}

/** Tells callers what is wrong without Redis's own text, which may hold keys: of an error reply, its first word. */
function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  if (error instanceof ErrorReply) {
    const code = errorCode(error);
    // A script writes when all is decided, or not at all; should a later write of it be refused, it says so.
    return new StoreError(`Redis answered the error ${code}`, 'script', { cause: error, mayHaveRun: code === WRITTEN_IN_PART });
  }
  const mayHaveRun = !(error instanceof NotConnectedError || error instanceof ClientOfflineError || error instanceof ClientClosedError);
  return new StoreError('Redis is not connected', 'connection', { cause: error, mayHaveRun });
}
