/** Scenarios: calls at given times, and what each must answer and leave in Redis, as the TypeScript twin says. */

import { isOutsideWindows, type Group, type Take } from '../../src/bucket/take';
import { decideGroup, type BucketWrite } from '../../src/engine/decide-group';
import type { BucketState } from '../../src/engine/engines';
import { encodeTakes } from '../../src/store/take-wire';
import { packState } from '../support/pack-state';

/** One run of the script. */
export interface Call {
  readonly nowUs: number;
  readonly groups: readonly Group[];
}

export interface Scenario {
  readonly name: string;
  readonly calls: readonly Call[];
  /** Buckets that are there before the first call, of ASCII only. */
  readonly stored?: Readonly<Record<string, BucketState>>;
  /** Keys that hold no bucket but this text; null: a list. */
  readonly unreadable?: Readonly<Record<string, string | null>>;
}

/** A call ready to be made, and what it must come to. */
export interface ExpectedCall {
  readonly nowUs: number;
  /** Behind the script's name: number of keys, keys, arguments. */
  readonly args: readonly string[];
  readonly reply: readonly number[];
  readonly buckets: readonly ExpectedBucket[];
}

export interface ExpectedBucket {
  readonly key: string;
  /** In latin1; null: no key, or none that GET can read. */
  readonly value: string | null;
  /** `kept`: not written, so that not even its expiry changes. `rewritten`: only its expiry stays. */
  readonly change: 'kept' | 'deleted' | 'rewritten' | { readonly ttlMs: number };
}

export interface ExpectedScenario {
  readonly name: string;
  readonly setUp: readonly (readonly string[])[];
  /** Keys that are there from the beginning, without a TTL. */
  readonly setUpKeys: readonly string[];
  readonly calls: readonly ExpectedCall[];
}

/** How the reply says that a group was not decided: a bucket could not be read, or the time is outside its windows. */
const UNREADABLE = -1;
const OUTSIDE_WINDOWS = -2;

/** Lets the twin decide the scenario. Its keys begin with `prefix`, so that several share one Redis. */
export function expectScenario({ name, calls, stored = {}, unreadable = {} }: Scenario, prefix: string): ExpectedScenario {
  const states = new Map(Object.entries(stored).map(([key, state]) => [prefix + key, state]));
  const texts = new Map(Object.entries(unreadable).map(([key, text]) => [prefix + key, text]));
  return {
    name,
    // Not SET: the script's own are counted.
    setUp: [
      ...[...states].map(([key, state]) => ['APPEND', key, packState(state)]),
      ...[...texts].map(([key, text]) => (text === null ? ['LPUSH', key, 'x'] : ['APPEND', key, text])),
    ],
    setUpKeys: [...states.keys(), ...texts.keys()],
    calls: calls.map(({ nowUs, groups }) => {
      const prefixed = groups.map((group) => ({ ...group, takes: group.takes.map((take) => withPrefix(take, prefix)) }));
      return expectCall({ call: { nowUs, groups: prefixed }, states, texts });
    }),
  };
}

interface ExpectCallInput {
  readonly call: Call;
  /** Moved on by the call. */
  readonly states: Map<string, BucketState>;
  readonly texts: ReadonlyMap<string, string | null>;
}

function expectCall({ call: { nowUs, groups }, states, texts }: ExpectCallInput): ExpectedCall {
  const { keys, args } = encodeTakes(groups);
  const before = new Set(states.keys());
  const writes = new Map<string, BucketWrite>();
  const reply = [nowUs];
  for (const group of groups) {
    if (group.takes.some((take) => texts.has(take.bucketKey))) {
      reply.push(UNREADABLE);
      continue;
    }
    if (isOutsideWindows(group, nowUs)) {
      reply.push(OUTSIDE_WINDOWS);
      continue;
    }
    const decided = decideGroup({ group, nowUs, read: (key) => states.get(key) });
    reply.push(decided.overLimit ? 1 : 0);
    for (const { fits, remaining, retryAfterUs, resetAfterUs } of decided.verdicts) {
      reply.push(fits ? 1 : 0, remaining, retryAfterUs, resetAfterUs);
    }
    for (const write of decided.writes) {
      const expiresAfterUs = write.expiresAfterUs ?? writes.get(write.bucketKey)?.expiresAfterUs;
      writes.set(write.bucketKey, { ...write, ...(expiresAfterUs !== undefined && { expiresAfterUs }) });
      if (write.state === undefined) states.delete(write.bucketKey);
      else states.set(write.bucketKey, write.state);
    }
  }
  const buckets = keys.map((key): ExpectedBucket => {
    const state = states.get(key);
    const value = state === undefined ? (texts.get(key) ?? null) : packState(state);
    return { key, value, change: changeOf(writes.get(key), before.has(key)) };
  });
  return { nowUs, args: [String(keys.length), ...keys, ...args], reply, buckets };
}

function changeOf(write: BucketWrite | undefined, existed: boolean): ExpectedBucket['change'] {
  if (write === undefined) return 'kept';
  if (write.state !== undefined) return write.expiresAfterUs === undefined ? 'rewritten' : { ttlMs: Math.ceil(write.expiresAfterUs / 1_000) };
  return existed ? 'deleted' : 'kept';
}

function withPrefix(take: Take, prefix: string): Take {
  return { ...take, bucketKey: prefix + take.bucketKey };
}
