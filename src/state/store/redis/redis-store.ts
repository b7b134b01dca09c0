/** The Redis store: each call is one EVALSHA of `lua/take.lua` or `lua/adjust.lua`, on Redis's own clock. */

import { monotonicNowMs } from '../../../lib/clock';
import type { Group, Adjustment } from '../../../domain/bucket/take';
import { readSlotList, slotOf, slotOfGroup } from './cluster-slots';
import { readWhole, readWord, type ReadReply } from './client/read-reply';
import { redirectOf } from './client/redirect-error';
import { RedisConnection, type RedisConnectionOptions } from './client/redis-connection';
import { errorCodeOf, wasNotSent } from './client/redis-errors';
import { readInfo, type EvictionReading } from './eviction-watch';
import { isRefusedForSlots, measureWrite, probeEngine, probeKeys, UNKNOWN_ENGINE, type Engine } from './engine-probe';
import { loadScript, type Script } from './script-loader';
import type { ScriptArguments } from './script-wire';
import { decodeApplied, encodeAdjustments } from './adjust-wire';
import { askByPart } from '../layers/ask-by-part';
import type { AdjustOutcome, GroupOutcome, Store, TakeOptions } from '../port/store';
import { overloadError, StoreError } from '../port/store-error';
import { decodeReply, encodeTakes } from './take-wire';

/** How the error of a script begins that has written some buckets and not others: `lua/include/buckets.lua`. */
const WRITTEN_IN_PART = 'PARTLY';

const ASKING = ['ASKING'];
const IMPORTING: RunOptions = { asking: true };
const readOk = readWord('OK');

export interface StoreScripts {
  readonly take: Script;
  readonly adjust: Script;
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
export interface ScriptRun<Answer> extends ScriptArguments {
  readonly script: Script;
  readonly read: ReadReply<Answer>;
}

/** Runs a script on the server of its keys. */
export type RunScript = <Answer>(call: ScriptRun<Answer>, options: TakeOptions) => Promise<Answer>;

/** The options of a call to one server. */
export interface RunOptions {
  /** Time left until the caller's deadline, in milliseconds. */
  readonly timeoutMs?: number;
  /** Prefixes the command with ASKING, for a node of a Redis Cluster that is importing the slot. Default: false. */
  readonly asking?: boolean;
}

export interface RedisStoreOptions extends Omit<RedisConnectionOptions, 'greetings' | 'probe'> {
  /** Examines the server at each connect, with keys below this prefix. Absent: the server is trusted. */
  readonly probe?: { readonly keyPrefix: string };
  /** Default: those of `lua/`. */
  readonly scripts?: StoreScripts;
  /** A node of a Redis Cluster: a redirect becomes a RedirectError. Default: false. */
  readonly isClusterNode?: boolean;
}

/** A script, and the prefix of its keys. */
interface Probe {
  readonly script: Script;
  readonly keyPrefix: string;
}

export class RedisStore implements Store {
  /** The same server for buckets of slots that it is importing. */
  readonly importing: Store = {
    take: (groups) => this.take(groups, IMPORTING),
    adjust: (adjustments) => this.adjust(adjustments, IMPORTING),
    close: () => this.close(),
  };
  private readonly connection: RedisConnection;
  private readonly scripts: StoreScripts;
  private readonly heartbeat = loadScript('heartbeat');
  private readonly probe: Probe | undefined;
  private readonly isClusterNode: boolean;
  private readonly inFlightMax: number;
  private inFlight = 0;
  private found: Engine = UNKNOWN_ENGINE;

  constructor({
    scripts = { take: loadScript('take'), adjust: loadScript('adjust') },
    isClusterNode = false,
    probe,
    ...options
  }: RedisStoreOptions) {
    this.scripts = scripts;
    this.isClusterNode = isClusterNode;
    this.inFlightMax = options.inFlightMax;
    // So that the first call of a new connection need not carry its script.
    this.probe = probe && { script: loadScript('probe'), ...probe };
    const loaded = [scripts.take, scripts.adjust, this.heartbeat, ...(this.probe ? [this.probe.script] : [])];
    const greetings = loaded.map(({ text, sha }) => ({
      command: ['SCRIPT', 'LOAD', text],
      read: readWord(sha),
    }));
    this.connection = new RedisConnection({ ...options, greetings, ...(this.probe && { probe: this.probing(this.probe) }) });
  }

  /** The findings at the last connect. `separatesSlots` also follows an error that the server answered since then. */
  get engine(): Engine {
    return this.found;
  }

  /** Starts to connect, and goes on trying until closed. Resolves when first connected, or after `waitMs` without. */
  connect(options: { readonly waitMs: number }): Promise<void> {
    return this.connection.connect(options);
  }

  /** All buckets of a group must be of one slot if the server separates slots, which `SplitStore` ensures. */
  take(groups: readonly Group[], options: RunOptions = {}): Promise<readonly GroupOutcome[]> {
    if (!this.found.separatesSlots) return this.takeTogether(groups, options);
    return askByPart(groups, { partOf: slotOfGroup, ask: (_, some) => this.takeTogether(some, options) });
  }

  adjust(adjustments: readonly Adjustment[], options: RunOptions = {}): Promise<readonly AdjustOutcome[]> {
    if (!this.found.separatesSlots) return this.adjustTogether(adjustments, options);
    const partOf = ({ bucketKey }: Adjustment) => slotOf(bucketKey);
    return askByPart(adjustments, { partOf, ask: (_, some) => this.adjustTogether(some, options) });
  }

  private takeTogether(groups: readonly Group[], options: RunOptions): Promise<readonly GroupOutcome[]> {
    const { keys, args, folds } = encodeTakes(groups);
    return this.call({ script: this.scripts.take, keys, args, read: (reply) => decodeReply(reply, { groups, folds }) }, options);
  }

  private adjustTogether(adjustments: readonly Adjustment[], options: RunOptions): Promise<readonly AdjustOutcome[]> {
    const { keys, args } = encodeAdjustments(adjustments);
    return this.call({ script: this.scripts.adjust, keys, args, read: (reply) => decodeApplied(reply, adjustments) }, options);
  }

  /** The answer of a script that is none of the store's own. */
  run<Answer>(call: ScriptRun<Answer>, options: RunOptions = {}): Promise<Answer> {
    return this.call(call, options);
  }

  /** The answer to CLUSTER SLOTS: who has which slots, as far as this node knows. */
  async readSlots(): Promise<unknown> {
    try {
      return await this.connection.send(['CLUSTER', 'SLOTS'], readSlotList);
    } catch (error) {
      throw toStoreError(error);
    }
  }

  /** Says in Redis that an instance lives, or leaves; how many live. */
  beat({ key, name, lives, ttlMs, instancesMax }: BeatInput, options: RunOptions = {}): Promise<number> {
    const args = [name, lives ? '1' : '0', String(ttlMs), String(instancesMax)];
    const read = (reply: unknown) => readWhole(reply, lives ? 1 : 0, instancesMax);
    return this.call({ script: this.heartbeat, keys: [key], args, read }, options);
  }

  /** Whether the server evicts keys. Rejects with the server's own error. */
  async readEviction(): Promise<EvictionReading> {
    const ask = (section: string) => this.connection.send(['INFO', section], (reply) => reply);
    const [memory, stats] = await Promise.all([ask('memory'), ask('stats')]);
    return readInfo(memory, stats);
  }

  /** Time that a write adds to a round trip, in milliseconds. Rejects without a probe, or if the server refuses its script. */
  measureWrite(): Promise<number> {
    const { probe } = this;
    if (probe === undefined) return Promise.reject(new Error('this connection has no probe'));
    const [key] = probeKeys(probe.keyPrefix);
    const run = { script: probe.script, keys: [key], args: [], read: (reply: unknown) => reply };
    return measureWrite({ write: () => this.call(run, {}), ping: () => this.ping(), nowMs: monotonicNowMs });
  }

  /** Resolves when Redis answers. */
  ping(): Promise<void> {
    return this.connection.ping();
  }

  close(): Promise<void> {
    this.connection.close();
    return Promise.resolve();
  }

  /** Not async, nor is what it calls: every command comes through here, and its promises are what it leaves behind. */
  private call<Answer>(run: ScriptRun<Answer>, options: RunOptions): Promise<Answer> {
    if (this.inFlight >= this.inFlightMax) return Promise.reject(overloadError(this.inFlightMax));
    this.inFlight += 1;
    const { script, read } = run;
    return this.send(commandOf('EVALSHA', script.sha, run), read, options).then(
      (answer) => this.end(answer),
      (error: unknown) => {
        if (errorCodeOf(error) !== 'NOSCRIPT') return this.fail(error);
        // Redis has lost its scripts (restart, failover, SCRIPT FLUSH) and has run nothing. EVAL brings the script and
        // runs it in one step, so that no further flush can come between.
        return this.send(commandOf('EVAL', script.text, run), read, options).then(
          (answer) => this.end(answer),
          (again: unknown) => this.fail(again),
        );
      },
    );
  }

  private end<Answer>(answer: Answer): Answer {
    this.inFlight -= 1;
    return answer;
  }

  /**
   * @throws StoreError always
   */
  private fail(error: unknown): never {
    this.inFlight -= 1;
    // The next calls hold to it; this one ran nothing.
    if (!this.isClusterNode && isRefusedForSlots(error)) this.found = { ...this.found, separatesSlots: true };
    throw this.redirectOf(error) ?? toStoreError(error);
  }

  private probing(probe: Probe): NonNullable<RedisConnectionOptions['probe']> {
    return async (send) => {
      this.found = await probeEngine(send, { ...probe, isClusterNode: this.isClusterNode });
    };
  }

  private redirectOf(error: unknown): StoreError | undefined {
    return this.isClusterNode && error instanceof Error ? redirectOf(error) : undefined;
  }

  private send<Answer>(command: readonly string[], read: ReadReply<Answer>, { asking = false }: RunOptions): Promise<Answer> {
    // It holds for the next command of the connection alone; should it fail, that one is answered MOVED, or fails too.
    if (asking) this.connection.send(ASKING, readOk).catch(() => undefined);
    return this.connection.send(command, read);
  }
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
  const code = errorCodeOf(error);
  if (code !== undefined) {
    // A script writes when all is decided, or not at all; should a later write of it be refused, it says so.
    return new StoreError(`Redis answered the error ${code}`, 'script', { cause: error, mayHaveRun: code === WRITTEN_IN_PART });
  }
  return new StoreError('Redis is not connected', 'connection', { cause: error, mayHaveRun: !wasNotSent(error) });
}
