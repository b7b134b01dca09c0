/** Steps of reservations as the arguments of `lua/reserve.lua`, and its replies. The contract is at the head of that file. */

import type { GroupVerdict, Mode } from '../bucket/take';
import type { Leg, ReservationRecord, ReservationState, SettledLeg } from '../engine/reservation';
import { ALGORITHM_CODES, notAnAnswer, pushLimit, type ScriptArguments } from '../store/script-wire';
import { readAnswer } from '../store/take-wire';
import type { BucketAlgorithm } from '../rule/limit';
import type { ReservationKeys } from './reservation-keys';
import type { ExtendInput, ReservationName, ReserveInput, SettleInput } from './reservations';

const MODE_CODES: Readonly<Record<Mode, string>> = { enforced: '0', quota: '1', shadow: '2' };
const STATE_CODES: Readonly<Record<ReservationState, number>> = { held: 1, committed: 2, released: 3, lapsed: 4 };
const STATES = new Map(Object.entries(STATE_CODES).map(([state, code]) => [code, state as ReservationState]));
const FLAG_SHADOW = 1;
const FLAG_QUOTA_ALWAYS_FITS = 2;
const FLAG_LATE = 1;
const FLAG_UNKNOWN = 2;
const NO_SHARE = '-1';

/** Numbers of a record before those of its legs. */
const RECORD_NUMBERS = 9;

/** A record as it is read: with the plan that was written down, as it was. */
export interface StoredRecord {
  readonly record: ReservationRecord;
  readonly plan: string;
}

export function encodeRead(name: ReservationName, keys: ReservationKeys): ScriptArguments {
  return { keys: [keys.record(name)], args: ['read'] };
}

export function encodeReserve({ name, plan, asked, ttlUs, keepUs }: ReserveInput, keys: ReservationKeys): ScriptArguments {
  const flags = (plan.shadow ? FLAG_SHADOW : 0) + (plan.quotaAlwaysFits ? FLAG_QUOTA_ALWAYS_FITS : 0);
  const args = ['reserve', name.id, String(asked), String(ttlUs), String(keepUs), String(flags), planText(plan.legs)];
  for (const { limit, mode, descriptor, shareMax } of plan.legs) {
    args.push(ALGORITHM_CODES[limit.algorithm], MODE_CODES[mode], String(descriptor), shareMax === undefined ? NO_SHARE : String(shareMax));
    pushLimit(args, limit);
  }
  return { keys: keysOf(name, plan.legs, keys), args };
}

export interface EncodeSettleInput extends Pick<SettleInput, 'name' | 'target' | 'actual'> {
  readonly legs: readonly SettledLeg[];
  readonly plan: string;
  readonly keepUs: number;
}

export function encodeSettle({ name, target, actual, legs, plan, keepUs }: EncodeSettleInput, keys: ReservationKeys): ScriptArguments {
  const args = ['settle', name.id, String(STATE_CODES[target]), String(actual), String(keepUs), plan];
  for (const { limit, overdraftMax, keepsOnLapse } of legs) {
    args.push(ALGORITHM_CODES[limit.algorithm], String(overdraftMax), keepsOnLapse ? '1' : '0', '0');
    pushLimit(args, limit);
  }
  return { keys: keysOf(name, legs, keys), args };
}

export function encodeExtend({ name, ttlUs }: ExtendInput, keys: ReservationKeys): ScriptArguments {
  return { keys: [keys.record(name), keys.lapses(name.tag)], args: ['extend', name.id, String(ttlUs)] };
}

export function encodeDue(tag: string, idsMax: number, keys: ReservationKeys): ScriptArguments {
  return { keys: [keys.lapses(tag)], args: ['due', String(idsMax)] };
}

function keysOf(name: ReservationName, legs: readonly SettledLeg[], keys: ReservationKeys): string[] {
  return [keys.record(name), keys.lapses(name.tag), ...legs.flatMap(({ bucketKey }) => [bucketKey, keys.held(bucketKey)])];
}

/** What a plan is written down as: what settles it. */
type PlanLegText = readonly [bucketKey: string, algorithm: BucketAlgorithm, windowUs: number, requestsPerUnit: number, capacity: number, overdraftMax: number, keeps: 0 | 1, edgesUs: readonly number[]];

export function planText(legs: readonly SettledLeg[]): string {
  const texts = legs.map(({ bucketKey, limit, overdraftMax, keepsOnLapse }): PlanLegText => {
    const { algorithm, windowUs, requestsPerUnit, capacity, edgesUs = [] } = limit;
    return [bucketKey, algorithm, windowUs, requestsPerUnit, capacity, overdraftMax, keepsOnLapse ? 1 : 0, edgesUs];
  });
  return JSON.stringify(texts);
}

/**
 * @throws StoreError if it is no plan
 */
export function legsOfPlan(plan: string): readonly SettledLeg[] {
  try {
    return (JSON.parse(plan) as readonly PlanLegText[]).map(([bucketKey, algorithm, windowUs, requestsPerUnit, capacity, overdraftMax, keeps, edgesUs]) => {
      const limit = { algorithm, windowUs, requestsPerUnit, capacity };
      return { bucketKey, limit: edgesUs.length === 0 ? limit : { ...limit, edgesUs }, overdraftMax, keepsOnLapse: keeps === 1 };
    });
  } catch {
    throw notAnAnswer();
  }
}

/**
 * @throws StoreError if it is no record
 */
export function decodeRecord(value: unknown): StoredRecord {
  if (typeof value !== 'string') throw notAnAnswer();
  const end = value.indexOf('\n');
  const numbers = value.slice(0, end).split(' ').map(Number);
  const [stateCode = 0, flags = 0, asked = 0, granted = 0, madeUs = 0, expiresUs = 0, keepUs = 0, actual = 0, cut = 0, ...rest] = numbers;
  const state = STATES.get(stateCode);
  if (end < 0 || state === undefined || numbers.length < RECORD_NUMBERS || !numbers.every(Number.isSafeInteger)) throw notAnAnswer();
  const charges = Array.from({ length: rest.length / 2 }, (_, i) => ({ charged: rest[2 * i] ?? 0, usedBefore: rest[2 * i + 1] ?? 0 }));
  const record = { state, isLate: flags % 2 === FLAG_LATE, isUnknown: flags >= FLAG_UNKNOWN, asked, granted, madeUs, expiresUs, keepUs, actual, cut, charges };
  return { record, plan: value.slice(end + 1) };
}

/** Undefined: there is none. */
export function decodeRead(reply: unknown): StoredRecord | undefined {
  const [nowUs, value] = listOf(reply);
  if (typeof nowUs !== 'number') throw notAnAnswer();
  return value === undefined || value === null ? undefined : decodeRecord(value);
}

export type ReserveReply =
  | { readonly kind: 'known'; readonly stored: StoredRecord }
  | { readonly kind: 'undecided'; readonly why: 'unreadable' | 'outside' | 'undecidable'; readonly nowUs: number }
  | { readonly kind: 'decided'; readonly due: number; readonly granted: number; readonly verdict: GroupVerdict; readonly stored?: StoredRecord };

const KNOWN = 1;
const DENIED = 2;
const ALLOWED = 3;
const UNDECIDED = new Map([[-1, 'unreadable'], [-2, 'outside'], [-3, 'undecidable']] as const);

export function decodeReserve(reply: unknown, legs: readonly Leg[]): ReserveReply {
  const values = listOf(reply);
  const [nowUs, code] = values;
  if (typeof nowUs !== 'number') throw notAnAnswer();
  if (code === KNOWN) return { kind: 'known', stored: decodeRecord(values[2]) };
  const why = UNDECIDED.get(code as -1);
  if (why !== undefined) return { kind: 'undecided', why, nowUs };
  const [, , due, granted] = values;
  if ((code !== DENIED && code !== ALLOWED) || typeof due !== 'number' || typeof granted !== 'number') throw notAnAnswer();
  const isAllowed = code === ALLOWED;
  const group = { takes: legs.map(({ bucketKey, limit, mode, descriptor }) => ({ bucketKey, limit, hits: granted, mode, descriptor })), quotaAlwaysFits: false, shadow: false };
  const outcome = readAnswer(isAllowed ? values.slice(4, -1) : values.slice(4), group, nowUs);
  const verdict = { ...outcome, overLimit: !isAllowed };
  return isAllowed ? { kind: 'decided', due, granted, verdict, stored: decodeRecord(values.at(-1)) } : { kind: 'decided', due, granted, verdict };
}

export type StepReply = { readonly kind: 'none' } | { readonly kind: 'unchanged' | 'changed' | 'otherPlan'; readonly stored: StoredRecord };

const STEP_KINDS = new Map([[1, 'unchanged'], [2, 'changed'], [3, 'otherPlan']] as const);

export function decodeStep(reply: unknown): StepReply {
  const [, code, value] = listOf(reply);
  if (code === 0) return { kind: 'none' };
  const kind = STEP_KINDS.get(code as 1);
  if (kind === undefined) throw notAnAnswer();
  return { kind, stored: decodeRecord(value) };
}

export function decodeDue(reply: unknown): { readonly held: number; readonly ids: readonly string[] } {
  const [, held, ...ids] = listOf(reply);
  if (typeof held !== 'number') throw notAnAnswer();
  return { held, ids: ids.map(String) };
}

function listOf(reply: unknown): readonly unknown[] {
  if (!Array.isArray(reply)) throw notAnAnswer();
  return reply;
}
