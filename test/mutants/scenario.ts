/** Scenarios: calls at given times, and what each must answer and leave in Redis, as the TypeScript twin says. */

import { isOutside, isOutsideWindows, UNSETTLED, type Group, type GroupVerdict, type Settlement, type Take } from '../../src/bucket/take';
import type { BucketWrite } from '../../src/engine/decide-group';
import { ENGINES, type BucketState } from '../../src/engine/engines';
import { settleBucket } from '../../src/engine/settle-bucket';
import type { StoreScripts } from '../../src/store/redis-store';
import { encodeSettlements } from '../../src/store/settle-wire';
import { encodeTakes } from '../../src/store/take-wire';
import { decideGroup } from '../support/decide-group';
import { packState } from '../support/pack-state';

/** One run of a script. */
export type Call = TakeCall | SettleCall;

export interface TakeCall {
  readonly nowUs: number;
  readonly groups: readonly Group[];
}

export interface SettleCall {
  readonly nowUs: number;
  readonly settlements: readonly Settlement[];
}

export interface Scenario {
  readonly name: string;
  readonly calls: readonly Call[];
  /** Buckets that are there before the first call, of ASCII only. */
  readonly stored?: Readonly<Record<string, BucketState>>;
  /** Keys that hold no bucket but this text; null: a list. */
  readonly unreadable?: Readonly<Record<string, string | null>>;
  /** Keys that hold a bucket on which any decision fails. */
  readonly broken?: Readonly<Record<string, string>>;
}

/** A call ready to be made, and what it must come to. */
export interface ExpectedCall {
  readonly nowUs: number;
  readonly script: keyof StoreScripts;
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

/** How the reply says that a group was not decided: a bucket could not be read, the time is outside its windows, it failed. */
const UNREADABLE = -1;
const OUTSIDE_WINDOWS = -2;
const FAILED = -3;
/** And how it says that not all takes of a group fit, and which do. */
const DENIED = -4;
const ALLOWED = -5;
const FITS = -2;

/** Lets the twin decide the scenario. Its keys begin with `prefix`, so that several share one Redis. */
export function expectScenario({ name, calls, stored = {}, unreadable = {}, broken = {} }: Scenario, prefix: string): ExpectedScenario {
  const states = new Map(Object.entries(stored).map(([key, state]) => [prefix + key, state]));
  const texts = new Map(Object.entries({ ...unreadable, ...broken }).map(([key, text]) => [prefix + key, text]));
  const failing = new Set(Object.keys(broken).map((key) => prefix + key));
  return {
    name,
    // Not SET: the script's own are counted.
    setUp: [
      ...[...states].map(([key, state]) => ['APPEND', key, packState(state)]),
      ...[...texts].map(([key, text]) => (text === null ? ['LPUSH', key, 'x'] : ['APPEND', key, text])),
    ],
    setUpKeys: [...states.keys(), ...texts.keys()],
    calls: calls.map((call) => {
      if ('settlements' in call) {
        const settlements = call.settlements.map((settlement) => withPrefix(settlement, prefix));
        return expectSettleCall({ call: { ...call, settlements }, states, texts });
      }
      // What is one object stays one: it is folded.
      const prefixed = new Map([...new Set(call.groups)].map((group) => [group, { ...group, takes: group.takes.map((take) => withPrefix(take, prefix)) }]));
      return expectTakeCall({ call: { ...call, groups: call.groups.map((group) => prefixed.get(group)!) }, states, texts, failing });
    }),
  };
}

interface ExpectCallInput<SomeCall extends Call> {
  readonly call: SomeCall;
  /** Moved on by the call. */
  readonly states: Map<string, BucketState>;
  readonly texts: ReadonlyMap<string, string | null>;
}

function expectTakeCall({ call: { nowUs, groups }, states, texts, failing }: ExpectTakeCallInput): ExpectedCall {
  const { keys, args, folds } = encodeTakes(groups);
  const run = new ExpectedRun(states, texts);
  const reply = [nowUs];
  for (const { group, places } of folds ?? groups.map((alone, place) => ({ group: alone, places: [place] }))) {
    if (group.takes.some(({ bucketKey }) => texts.has(bucketKey) && !failing.has(bucketKey))) {
      reply.push(UNREADABLE);
      continue;
    }
    if (isOutsideWindows(group, nowUs)) {
      reply.push(OUTSIDE_WINDOWS);
      continue;
    }
    if (group.takes.some(({ bucketKey }) => failing.has(bucketKey))) {
      reply.push(FAILED);
      continue;
    }
    const found = group.takes.flatMap((take) => numbersFound(take, states.get(take.bucketKey), nowUs));
    const decided = places.map(() => {
      const one = decideGroup({ group, nowUs, read: (key) => states.get(key) });
      one.writes.forEach((write) => { run.write(write); });
      return one;
    });
    if (places.length > 1) reply.push(decided.filter(({ overLimit }) => !overLimit).length, ...found);
    else reply.push(...decided.flatMap((one) => numbersOf(group, one)));
  }
  return { nowUs, script: 'take', args: [String(keys.length), ...keys, ...args], reply, buckets: run.buckets(keys) };
}

/** The answer on a group that is no fold. */
function numbersOf({ takes }: Group, { overLimit, verdicts }: GroupVerdict): readonly number[] {
  if (verdicts.length > 0 && verdicts.every(({ fits }) => fits)) return verdicts.flatMap(({ remaining, resetAfterUs }) => [remaining, resetAfterUs]);
  const each = verdicts.flatMap(({ fits, remaining, debt = 0, resetAfterUs, retryAfterUs, cut = 0 }, i) => {
    const numbers = [remaining - debt, resetAfterUs, fits ? FITS : retryAfterUs];
    return takes[i]?.overdraftMax === undefined ? numbers : [...numbers, cut];
  });
  return [overLimit ? DENIED : ALLOWED, ...each];
}

interface ExpectTakeCallInput extends ExpectCallInput<TakeCall> {
  readonly failing: ReadonlySet<string>;
}

/** What a fold is told of a bucket: nothing of one that is never folded. */
function numbersFound({ limit }: Take, stored: BucketState | undefined, nowUs: number): readonly number[] {
  if (isOutside(limit, nowUs)) return [];
  const engine = ENGINES[limit.algorithm];
  const state = engine.advance(stored ?? engine.fresh(limit, nowUs), limit, nowUs);
  if ('rest' in state) return [state.used, state.rest];
  if ('current' in state) return [state.current, state.previous];
  return 'used' in state ? [state.used, 0] : [];
}

function expectSettleCall({ call: { nowUs, settlements }, states, texts }: ExpectCallInput<SettleCall>): ExpectedCall {
  const { keys, args } = encodeSettlements(settlements);
  const run = new ExpectedRun(states, texts);
  const reply = settlements.map((settlement) => {
    if (texts.has(settlement.bucketKey)) return UNSETTLED;
    const { applied, write } = settleBucket({ settlement, nowUs, stored: states.get(settlement.bucketKey) });
    if (write !== undefined) run.write(write);
    return applied;
  });
  return { nowUs, script: 'settle', args: [String(keys.length), ...keys, ...args], reply, buckets: run.buckets(keys) };
}

/** What one run does to the buckets. */
class ExpectedRun {
  private readonly before: ReadonlySet<string>;
  private readonly writes = new Map<string, BucketWrite>();

  constructor(
    private readonly states: Map<string, BucketState>,
    private readonly texts: ReadonlyMap<string, string | null>,
  ) {
    this.before = new Set(states.keys());
  }

  write(write: BucketWrite): void {
    const { bucketKey, state } = write;
    const expiresAfterUs = write.expiresAfterUs ?? this.writes.get(bucketKey)?.expiresAfterUs;
    this.writes.set(bucketKey, { ...write, ...(expiresAfterUs !== undefined && { expiresAfterUs }) });
    if (state === undefined) this.states.delete(bucketKey);
    else this.states.set(bucketKey, state);
  }

  buckets(keys: readonly string[]): readonly ExpectedBucket[] {
    return [...new Set(keys)].map((key) => {
      const state = this.states.get(key);
      const value = state === undefined ? (this.texts.get(key) ?? null) : packState(state);
      return { key, value, change: changeOf(this.writes.get(key), this.before.has(key)) };
    });
  }
}

function changeOf(write: BucketWrite | undefined, existed: boolean): ExpectedBucket['change'] {
  if (write === undefined) return 'kept';
  if (write.state !== undefined) return write.expiresAfterUs === undefined ? 'rewritten' : { ttlMs: Math.ceil(write.expiresAfterUs / 1_000) };
  return existed ? 'deleted' : 'kept';
}

function withPrefix<OnBucket extends { readonly bucketKey: string }>(onBucket: OnBucket, prefix: string): OnBucket {
  return { ...onBucket, bucketKey: prefix + onBucket.bucketKey };
}
