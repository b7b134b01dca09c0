/** Scenarios: calls at given times, and what each must answer and leave in Redis, as the TypeScript twin says. */

import { isOutside } from '../../src/domain/algorithm/window';
import {
  isGroupOutside,
  NOT_ADJUSTED,
  type BucketLimit,
  type Group,
  type GroupVerdict,
  type Adjustment,
  type Take,
} from '../../src/domain/bucket/take';
import type { BucketWrite } from '../../src/domain/decide/decide-group';
import { TRAITS, type BucketState } from '../../src/domain/algorithm/algorithms';
import { adjustBucket } from '../../src/domain/decide/adjust-bucket';
import type { StoreScripts } from '../../src/state/store/redis/redis-store';
import { encodeAdjustments } from '../../src/state/store/redis/adjust-wire';
import { encodeTakes } from '../../src/state/store/redis/take-wire';
import { decideGroup } from '../support/decisions/decide-group';
import { packState } from '../support/redis/pack-state';

/** One run of a script. */
export type Call = TakeCall | AdjustCall;

export interface TakeCall {
  readonly nowUs: number;
  readonly groups: readonly Group[];
}

export interface AdjustCall {
  readonly nowUs: number;
  readonly adjustments: readonly Adjustment[];
}

export interface Scenario {
  readonly name: string;
  readonly calls: readonly Call[];
  /** Buckets that are there before the first call. */
  readonly stored?: Readonly<Record<string, BucketState>>;
  /** Keys that hold no bucket but this text; null: a list. */
  readonly unreadable?: Readonly<Record<string, string | null>>;
}

/** A call ready to be made, and what it must come to. */
export interface ExpectedCall {
  readonly nowUs: number;
  readonly script: keyof StoreScripts;
  /** Behind the script's name: number of keys, keys, arguments. */
  readonly args: readonly string[];
  readonly reply: readonly number[];
  readonly buckets: readonly ExpectedBucket[];
  readonly reads: Reads;
}

/** How often the run reads with each command, beside the clock. */
export interface Reads {
  readonly get: number;
  readonly mget: number;
  readonly exists: number;
}

export interface ExpectedBucket {
  readonly key: string;
  /** In latin1; null: no key, or none that GET can read. */
  readonly value: string | null;
  /**
   * `kept`: not written, so that not even its expiry changes. `rewritten` and `increased`: only its expiry stays. `untimed`: written, without an expiry.
   * `mayBeIncreased`: that depends on the other buckets of its groups.
   */
  readonly change: 'kept' | 'deleted' | 'rewritten' | 'increased' | 'untimed' | { readonly ttlMs: number; readonly mayBeIncreased?: true };
}

export interface ExpectedScenario {
  readonly name: string;
  readonly setUp: readonly (readonly string[])[];
  /** Keys that are there from the beginning, without a TTL. */
  readonly setUpKeys: readonly string[];
  readonly calls: readonly ExpectedCall[];
}

/** How the reply says that a group was not decided: a bucket could not be read, the time is outside its windows. */
const UNREADABLE = -1;
const OUTSIDE_WINDOWS = -2;
/** And how it says that not all takes of a group fit, and which do. */
const DENIED = -4;
const ALLOWED = -5;
const FITS = -2;

/** Lets the twin decide the scenario. Its keys begin with `prefix`, so that several share one Redis. */
export function expectScenario({ name, calls, stored = {}, unreadable = {} }: Scenario, prefix: string): ExpectedScenario {
  const states = new Map(Object.entries(stored).map(([key, state]) => [prefix + key, state]));
  const texts = new Map(Object.entries(unreadable).map(([key, text]) => [prefix + key, text]));
  const limits = new Map(
    calls
      .flatMap(limitsOf)
      .reverse()
      .map(([key, limit]) => [prefix + key, limit]),
  );
  return {
    name,
    // Not SET: the script's own are counted.
    setUp: [
      ...[...states].map(([key, state]) => ['APPEND', key, packState(state, limits.get(key)!)]),
      ...[...texts].map(([key, text]) => (text === null ? ['LPUSH', key, 'x'] : ['APPEND', key, text])),
    ],
    setUpKeys: [...states.keys(), ...texts.keys()],
    calls: calls.map((call) => {
      if ('adjustments' in call) {
        const adjustments = call.adjustments.map((adjustment) => withPrefix(adjustment, prefix));
        return expectAdjustCall({ call: { ...call, adjustments }, states, texts, limits });
      }
      // What is one object stays one: it is folded.
      const prefixed = new Map(
        [...new Set(call.groups)].map((group) => [group, { ...group, takes: group.takes.map((take) => withPrefix(take, prefix)) }]),
      );
      return expectTakeCall({ call: { ...call, groups: call.groups.map((group) => prefixed.get(group)!) }, states, texts, limits });
    }),
  };
}

/** Limits of one bucket have their window in common, which is all that its value depends on; without that it is the first one's. */
function limitsOf(call: Call): readonly (readonly [string, BucketLimit])[] {
  const asked = 'adjustments' in call ? call.adjustments : call.groups.flatMap(({ takes }) => takes);
  return asked.map(({ bucketKey, limit }) => [bucketKey, limit]);
}

interface ExpectCallInput<SomeCall extends Call> {
  readonly call: SomeCall;
  /** Moved on by the call. */
  readonly states: Map<string, BucketState>;
  readonly texts: ReadonlyMap<string, string | null>;
  readonly limits: ReadonlyMap<string, BucketLimit>;
}

function expectTakeCall({ call: { nowUs, groups }, states, texts, limits }: ExpectCallInput<TakeCall>): ExpectedCall {
  const { keys, args, folds } = encodeTakes(groups);
  const run = new ExpectedRun({ states, texts, limits });
  const isPlain = args[0] !== '0';
  const reads = readsOf({
    keys,
    isPlain,
    isAbsent: (key) => !states.has(key) && !texts.has(key),
    isNoString: (key) => texts.get(key) === null,
  });
  const reply = [nowUs];
  for (const { group, places } of folds ?? groups.map((alone, place) => ({ group: alone, places: [place] }))) {
    if (group.takes.some(({ bucketKey }) => texts.has(bucketKey))) {
      reply.push(UNREADABLE);
      continue;
    }
    if (isGroupOutside(group, nowUs)) {
      reply.push(OUTSIDE_WINDOWS);
      continue;
    }
    const found = group.takes.flatMap((take) => numbersFound(take, states.get(take.bucketKey), nowUs));
    const before = group.takes.map(({ bucketKey }) => states.get(bucketKey));
    const decided = places.map(() => {
      const one = decideGroup({ group, nowUs, read: (key) => states.get(key) });
      one.writes.forEach((write) => {
        run.write(write);
      });
      return one;
    });
    const after = group.takes.map(({ bucketKey }) => states.get(bucketKey));
    const path = isPlain ? pathOf({ group, decided, states: [...before, ...after], nowUs }) : 'general';
    for (const { bucketKey } of group.takes)
      if (decided.some(({ writes }) => writes.some((write) => write.bucketKey === bucketKey))) run.charge(bucketKey, path);
    if (places.length > 1) reply.push(decided.filter(({ overLimit }) => !overLimit).length, ...found);
    else reply.push(...decided.flatMap((one) => numbersOf(group, one)));
  }
  return { nowUs, script: 'take', args: [String(keys.length), ...keys, ...args], reply, buckets: run.buckets(keys, nowUs), reads };
}

/** How take.lua decides a plain group. `unsure`: it has other buckets than fixed windows, whose values may be unusual. */
type Path = 'straight' | 'general' | 'unsure';

interface PathInput {
  readonly group: Group;
  readonly decided: readonly GroupVerdict[];
  /** Its buckets before and after, in the order of its takes. */
  readonly states: readonly (BucketState | undefined)[];
  readonly nowUs: number;
}

function pathOf({ group: { takes }, decided, states, nowUs }: PathInput): Path {
  if (decided.some(({ overLimit, verdicts }) => overLimit || verdicts.some(({ fits }) => !fits))) return 'general';
  if (takes.some(({ limit }) => limit.algorithm !== 'fixed_window')) return 'unsure';
  const isUsual = states.every((state, i) => {
    const { limit } = takes[i % takes.length]!;
    return state === undefined || (isNumber(packState(state, limit)) && windowOf(state) <= windowAt(limit, nowUs));
  });
  return isUsual ? 'straight' : 'general';
}

function isNumber(value: string): boolean {
  return /^\d+$/.test(value);
}

function windowOf(state: BucketState): number {
  return 'index' in state ? state.index : Number.NaN;
}

function windowAt({ windowUs }: BucketLimit, nowUs: number): number {
  return Math.floor(nowUs / windowUs);
}

/** Plain groups are read at once; if one of them holds something else than a string, then each by itself after all. */
function readsOf({ keys, isPlain, isAbsent, isNoString }: ReadsInput): Reads {
  if (!isPlain) return eachOnce(keys);
  if (keys.length === 1) return { get: 1, mget: 0, exists: 0 };
  const hasOther = keys.some(isNoString);
  return { get: hasOther ? keys.length : 0, mget: 1, exists: hasOther || keys.some(isAbsent) ? 1 : 0 };
}

interface ReadsInput {
  readonly keys: readonly string[];
  readonly isPlain: boolean;
  readonly isAbsent: (key: string) => boolean;
  readonly isNoString: (key: string) => boolean;
}

function eachOnce(keys: readonly string[]): Reads {
  return { get: new Set(keys).size, mget: 0, exists: 0 };
}

/** The answer on a group that is no fold. */
function numbersOf({ takes }: Group, { overLimit, verdicts }: GroupVerdict): readonly number[] {
  if (verdicts.length > 0 && verdicts.every(({ fits }) => fits))
    return verdicts.flatMap(({ remaining, resetAfterUs }) => [remaining, resetAfterUs]);
  const each = verdicts.flatMap(({ fits, remaining, debt = 0, resetAfterUs, retryAfterUs, cut = 0 }, i) => {
    const numbers = [remaining - debt, resetAfterUs, fits ? FITS : retryAfterUs];
    return takes[i]?.overdraftMax === undefined ? numbers : [...numbers, cut];
  });
  return [overLimit ? DENIED : ALLOWED, ...each];
}

/** What a fold is told of a bucket: nothing of one that is never folded. */
function numbersFound({ limit }: Take, stored: BucketState | undefined, nowUs: number): readonly number[] {
  if (isOutside(limit, nowUs)) return [];
  const engine = TRAITS[limit.algorithm].engine;
  const state = engine.advance(stored ?? engine.fresh(limit, nowUs), limit, nowUs);
  if ('rest' in state) return [state.used, state.rest];
  if ('current' in state) return [state.current, state.previous];
  return 'used' in state ? [state.used, 0] : [];
}

function expectAdjustCall({ call: { nowUs, adjustments }, states, texts, limits }: ExpectCallInput<AdjustCall>): ExpectedCall {
  const { keys, args } = encodeAdjustments(adjustments);
  const run = new ExpectedRun({ states, texts, limits });
  const reply = adjustments.map((adjustment) => {
    if (texts.has(adjustment.bucketKey)) return NOT_ADJUSTED;
    const { applied, write } = adjustBucket({ adjustment, nowUs, stored: states.get(adjustment.bucketKey) });
    if (write !== undefined) run.write(write);
    return applied;
  });
  return {
    nowUs,
    script: 'adjust',
    args: [String(keys.length), ...keys, ...args],
    reply,
    buckets: run.buckets(keys, nowUs),
    reads: eachOnce(keys),
  };
}

/** What one run does to the buckets. */
class ExpectedRun {
  private readonly before: ReadonlyMap<string, BucketState>;
  private readonly writes = new Map<string, BucketWrite>();
  private readonly paths = new Map<string, Path>();

  private readonly states: Map<string, BucketState>;
  private readonly texts: ReadonlyMap<string, string | null>;
  private readonly limits: ReadonlyMap<string, BucketLimit>;

  constructor({ states, texts, limits }: Pick<ExpectCallInput<Call>, 'states' | 'texts' | 'limits'>) {
    this.states = states;
    this.texts = texts;
    this.limits = limits;
    this.before = new Map(states);
  }

  write(write: BucketWrite): void {
    const { bucketKey, state } = write;
    const expiresAfterUs = write.expiresAfterUs ?? this.writes.get(bucketKey)?.expiresAfterUs;
    this.writes.set(bucketKey, { ...write, ...(expiresAfterUs !== undefined && { expiresAfterUs }) });
    if (state === undefined) this.states.delete(bucketKey);
    else this.states.set(bucketKey, state);
  }

  /** Once the general path has charged a bucket, the run writes it whole. */
  charge(bucketKey: string, path: Path): void {
    const earlier = this.paths.get(bucketKey);
    this.paths.set(
      bucketKey,
      earlier === undefined || path === 'general' || (path === 'unsure' && earlier === 'straight') ? path : earlier,
    );
  }

  buckets(keys: readonly string[], nowUs: number): readonly ExpectedBucket[] {
    return [...new Set(keys)].map((key) => {
      const state = this.states.get(key);
      const value = state === undefined ? (this.texts.get(key) ?? null) : packState(state, this.limits.get(key)!);
      return { key, value, change: this.changeOf(key, nowUs) };
    });
  }

  private changeOf(key: string, nowUs: number): ExpectedBucket['change'] {
    const change = changeOf(this.writes.get(key), this.before.has(key));
    if (change !== 'kept' && this.limits.get(key)?.algorithm === 'budget') return 'untimed';
    const path = this.paths.get(key) ?? 'general';
    if (typeof change === 'string' || path === 'general' || !this.isInCourse(key, nowUs)) return change;
    return path === 'straight' ? 'increased' : { ...change, mayBeIncreased: true };
  }

  /** Whether it is a fixed window that was in course before the run. */
  private isInCourse(key: string, nowUs: number): boolean {
    const [state, limit] = [this.before.get(key), this.limits.get(key)!];
    return (
      state !== undefined &&
      limit.algorithm === 'fixed_window' &&
      windowOf(state) === windowAt(limit, nowUs) &&
      isNumber(packState(state, limit))
    );
  }
}

function changeOf(write: BucketWrite | undefined, existed: boolean): ExpectedBucket['change'] {
  if (write === undefined) return 'kept';
  if (write.state !== undefined)
    return write.expiresAfterUs === undefined ? 'rewritten' : { ttlMs: Math.ceil(write.expiresAfterUs / 1_000) };
  return existed ? 'deleted' : 'kept';
}

function withPrefix<OnBucket extends { readonly bucketKey: string }>(onBucket: OnBucket, prefix: string): OnBucket {
  return { ...onBucket, bucketKey: prefix + onBucket.bucketKey };
}
