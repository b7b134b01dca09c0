/** The serving processes on one Redis: each keeps a text about itself, beside the heartbeats that name all processes. */

import type { TakeOptions } from '../../../state/store/port/store';
import { ReplyError } from '../../../state/store/redis/client/reply-error';
import type { ScriptRun } from '../../../state/store/redis/redis-store';
import { loadScript } from '../../../state/store/redis/script-loader';
import {
  CONTROL_STATES,
  type ControlFacts,
  type InstanceFacts,
  type InstancesPort,
  type LoadFacts,
  type StoreErrorFacts,
} from './instance-facts';

export interface RedisInstancesOptions {
  /** Runs a script on the server of its key. */
  readonly run: <Answer>(call: ScriptRun<Answer>, options: TakeOptions) => Promise<Answer>;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
}

/** Texts that are read at the same time. */
const AT_ONCE = 50;

const NO_OPTIONS: TakeOptions = {};

export class RedisInstances implements InstancesPort {
  private readonly script = loadScript('summary');

  constructor(private readonly options: RedisInstancesOptions) {}

  /** Keeps the facts of this process for `ttlMs`. */
  async publish(facts: InstanceFacts, { ttlMs }: { readonly ttlMs: number }): Promise<void> {
    await this.run(this.keyOf(facts.id), [JSON.stringify(facts), String(ttlMs)]);
  }

  /** In the order of their start. */
  async list(): Promise<readonly InstanceFacts[]> {
    const beats = (await this.run(`${this.options.keyPrefix}weir:instances`, [])) ?? '';
    const names = Array.from(beats.matchAll(/(\S+) \d+/g), ([, name = '']) => name);
    const all: InstanceFacts[] = [];
    for (let at = 0; at < names.length; at += AT_ONCE) {
      const texts = await Promise.all(names.slice(at, at + AT_ONCE).map((name) => this.run(this.keyOf(name), [])));
      for (const text of texts) {
        const facts = text === undefined ? undefined : readFacts(text);
        if (facts !== undefined) all.push(facts);
      }
    }
    return all.sort((one, other) => one.startedAtMs - other.startedAtMs);
  }

  private run(key: string, args: readonly string[]): Promise<string | undefined> {
    return this.options.run({ script: this.script, keys: [key], args, read: readText }, NO_OPTIONS);
  }

  private keyOf(name: string): string {
    return `${this.options.keyPrefix}weir:facts:${name}`;
  }
}

function readText(reply: unknown): string | undefined {
  if (reply === null) return undefined;
  if (typeof reply !== 'string') throw new ReplyError('it is not a text');
  return reply;
}

/** Undefined: another version of Weir wrote it in another form. */
function readFacts(text: string): InstanceFacts | undefined {
  try {
    const { id, host, pid, version, startedAtMs, reportedAtMs, generation, domains, configRefused, degraded, load, storeError, control } =
      JSON.parse(text) as Partial<InstanceFacts>;
    if (typeof id !== 'string' || typeof host !== 'string' || typeof version !== 'string' || !Array.isArray(degraded)) return undefined;
    if ([pid, startedAtMs, reportedAtMs, generation, domains].some((each) => typeof each !== 'number')) return undefined;
    return {
      id,
      host,
      version,
      pid: Number(pid),
      startedAtMs: Number(startedAtMs),
      reportedAtMs: Number(reportedAtMs),
      generation: Number(generation),
      domains: Number(domains),
      configRefused: configRefused === true,
      degraded: degraded.map(String),
      ...readLoad(load),
      ...readStoreError(storeError),
      ...readControl(control),
    };
  } catch {
    return undefined;
  }
}

function readLoad(load: Partial<LoadFacts> | undefined): Pick<InstanceFacts, 'load'> {
  const { eventLoopUtilization, decisionsPerS } = load ?? {};
  if (typeof eventLoopUtilization !== 'number' || typeof decisionsPerS !== 'number') return {};
  return { load: { eventLoopUtilization, decisionsPerS } };
}

function readStoreError(error: Partial<StoreErrorFacts> | undefined): Pick<InstanceFacts, 'storeError'> {
  const { store, reason, atMs } = error ?? {};
  if (typeof store !== 'string' || typeof reason !== 'string' || typeof atMs !== 'number') return {};
  return { storeError: { store, reason, atMs } };
}

function readControl(control: Partial<ControlFacts> | undefined): Pick<InstanceFacts, 'control'> {
  const { state: given, lagMs, version, lost } = control ?? {};
  const state = CONTROL_STATES.find((each) => each === given);
  if (state === undefined || [lagMs, version, lost].some((each) => typeof each !== 'number')) return {};
  return { control: { state, lagMs: Number(lagMs), version: Number(version), lost: Number(lost) } };
}
