/** The serving processes on one Redis: each keeps a text about itself, beside the heartbeats that name all processes. */

import {
  CONTROL_STATES,
  type ControlFacts,
  type EngineFacts,
  type InstanceFacts,
  type InstancesPort,
  type LoadFacts,
  type StoreErrorFacts,
} from './instance-facts';
import type { PublishedTexts } from './published-texts';

/** Engines of a process that are shown. */
const ENGINES_MAX = 8;

/** Texts that are read at the same time. */
const AT_ONCE = 50;

export class RedisInstances implements InstancesPort {
  constructor(private readonly texts: PublishedTexts) {}

  /** Keeps the facts of this process for `ttlMs`. */
  publish(facts: InstanceFacts, { ttlMs }: { readonly ttlMs: number }): Promise<void> {
    return this.texts.write(nameOf(facts.id), JSON.stringify(facts), { ttlMs });
  }

  /** In the order of their start. */
  async list(): Promise<readonly InstanceFacts[]> {
    const names = await this.texts.names();
    const all: InstanceFacts[] = [];
    for (let at = 0; at < names.length; at += AT_ONCE) {
      const texts = await Promise.all(names.slice(at, at + AT_ONCE).map((name) => this.texts.read(nameOf(name))));
      for (const text of texts) {
        const facts = text === undefined ? undefined : readFacts(text);
        if (facts !== undefined) all.push(facts);
      }
    }
    return all.sort((one, other) => one.startedAtMs - other.startedAtMs);
  }
}

function nameOf(instance: string): string {
  return `facts:${instance}`;
}

/** Undefined: another version of Weir wrote it in another form. */
function readFacts(text: string): InstanceFacts | undefined {
  try {
    const facts = JSON.parse(text) as Partial<InstanceFacts>;
    const { id, host, pid, version, startedAtMs, reportedAtMs, generation, domains, configRefused, degraded } = facts;
    const { load, engines, storeError, control } = facts;
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
      ...readEngines(engines),
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

function readEngines(engines: readonly Partial<EngineFacts>[] | undefined): Pick<InstanceFacts, 'engines'> {
  if (!Array.isArray(engines)) return {};
  const read = engines.slice(0, ENGINES_MAX).map(({ store, engine, version }: Partial<EngineFacts>) => ({
    store: String(store),
    engine: String(engine),
    version: String(version),
  }));
  return { engines: read };
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
