/** Encodes reservation steps as arguments of `lua/reserve.lua`, and decodes its replies. The head of that file has the contract. */

import { TRAITS, type BucketAlgorithm } from '../../domain/algorithm/algorithms';
import type { GroupVerdict } from '../../domain/bucket/take';
import type { Mode } from '../../domain/rule/mode';
import type { Leg, ReservationRecord, ReservationState, SettledLeg } from '../../domain/decide/reservation';
import { pushLimit, TIME_US_MAX, type ScriptArguments } from '../store/redis/script-wire';
import { readList, readWhole } from '../store/redis/client/read-reply';
import { ReplyError } from '../store/redis/client/reply-error';
import { StoreError } from '../store/port/store-error';
import { readAnswer } from '../store/redis/take-wire';
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

/** Maximum size of a record. */
export const RECORD_BYTES_MAX = 16_384;

/** Upper bounds of the bytes in a record: of all its numbers, of those of a leg, and of a leg in the plan without its key. */
const NUMBERS_BYTES = 160;
const LEG_NUMBERS_BYTES = 34;
const LEG_TEXT_BYTES = 200;

/** A record from Redis, with its plan as unparsed text. */
export interface StoredRecord {
  readonly record: ReservationRecord;
  readonly plan: string;
}

export function encodeRead(name: ReservationName, keys: ReservationKeys): ScriptArguments {
  return { keys: keysOf(name, [], keys), args: ['read', name.id] };
}

export function encodeReserve({ name, plan, asked, ttlUs, keepUs }: ReserveInput, keys: ReservationKeys): ScriptArguments {
  const flags = (plan.shadow ? FLAG_SHADOW : 0) + (plan.quotaAlwaysFits ? FLAG_QUOTA_ALWAYS_FITS : 0);
  const args = ['reserve', name.id, String(asked), String(ttlUs), String(keepUs), String(flags), planText(plan.legs)];
  for (const { limit, mode, descriptor, shareMax } of plan.legs) {
    args.push(
      TRAITS[limit.algorithm].scriptCode,
      MODE_CODES[mode],
      String(descriptor),
      shareMax === undefined ? NO_SHARE : String(shareMax),
    );
    pushLimit(args, limit);
  }
  return { keys: keysOf(name, plan.legs, keys), args };
}

export interface EncodeSettleInput extends Pick<SettleInput, 'name' | 'target' | 'actual'> {
  readonly legs: readonly SettledLeg[];
  /** The plan of the record that was read; an empty text: there was none. */
  readonly plan: string;
  readonly keepUs: number;
  /** Hits outside all edges of their limit are cut, because nobody knows others. */
  readonly isLast: boolean;
}

export function encodeSettle(
  { name, target, actual, legs, plan, keepUs, isLast }: EncodeSettleInput,
  keys: ReservationKeys,
): ScriptArguments {
  const args = ['settle', name.id, String(STATE_CODES[target]), String(actual), String(keepUs), flagOf(isLast), plan];
  for (const { limit, overdraftMax, keepsOnLapse } of legs) {
    args.push(TRAITS[limit.algorithm].scriptCode, String(overdraftMax), flagOf(keepsOnLapse), '0');
    pushLimit(args, limit);
  }
  return { keys: keysOf(name, legs, keys), args };
}

export function encodeExtend({ name, ttlUs }: ExtendInput, keys: ReservationKeys): ScriptArguments {
  return { keys: keysOf(name, [], keys), args: ['extend', name.id, String(ttlUs)] };
}

function keysOf(name: ReservationName, legs: readonly SettledLeg[], keys: ReservationKeys): string[] {
  return [keys.lapses(name.tag), keys.holds(name.tag), keys.record(name), ...legs.map(({ bucketKey }) => bucketKey)];
}

function flagOf(isSet: boolean): string {
  return isSet ? '1' : '0';
}

/** A leg in the text of a plan: what settling it needs. */
type PlanLegText = readonly [
  bucketKey: string,
  algorithm: BucketAlgorithm,
  windowUs: number,
  requestsPerUnit: number,
  capacity: number,
  overdraftMax: number,
  keeps: 0 | 1,
  edgesUs: readonly number[],
];

export function planText(legs: readonly SettledLeg[]): string {
  const texts = legs.map(({ bucketKey, limit, overdraftMax, keepsOnLapse }): PlanLegText => {
    const { algorithm, windowUs, requestsPerUnit, capacity, edgesUs = [] } = limit;
    return [bucketKey, algorithm, windowUs, requestsPerUnit, capacity, overdraftMax, keepsOnLapse ? 1 : 0, edgesUs];
  });
  return JSON.stringify(texts);
}

/** The size that a record of these legs may reach: an estimate if it is far below the maximum. */
export function recordBytesOf(legs: readonly SettledLeg[]): number {
  let bytes = NUMBERS_BYTES + legs.length * (LEG_NUMBERS_BYTES + LEG_TEXT_BYTES);
  // Each character may be escaped.
  for (const { bucketKey } of legs) bytes += 2 * bucketKey.length;
  return bytes <= RECORD_BYTES_MAX ? bytes : NUMBERS_BYTES + legs.length * LEG_NUMBERS_BYTES + planText(legs).length;
}

/**
 * @throws StoreError for an invalid plan
 */
export function legsOfPlan(plan: string): readonly SettledLeg[] {
  try {
    return (JSON.parse(plan) as readonly PlanLegText[]).map(readLeg);
  } catch {
    throw notARecord();
  }
}

/** @throws Error, because another program may have written it */
function readLeg([bucketKey, algorithm, windowUs, requestsPerUnit, capacity, overdraftMax, keeps, edgesUs]: PlanLegText): SettledLeg {
  const numbers = [windowUs, requestsPerUnit, capacity, overdraftMax, ...edgesUs];
  const isLeg = typeof bucketKey === 'string' && algorithm in TRAITS && numbers.every((each) => Number.isSafeInteger(each));
  if (!isLeg) throw new Error('it is not a leg');
  const limit = { algorithm, windowUs, requestsPerUnit, capacity };
  return { bucketKey, limit: edgesUs.length === 0 ? limit : { ...limit, edgesUs }, overdraftMax, keepsOnLapse: keeps === 1 };
}

/**
 * @throws StoreError if the text is not a record, because another program wrote it; ReplyError if it is not text
 */
export function decodeRecord(value: unknown): StoredRecord {
  if (typeof value !== 'string') throw new ReplyError('a record is not text');
  const end = value.indexOf('\n');
  const numbers = value.slice(0, end).split(' ').map(Number);
  const [stateCode = 0, flags = 0, asked = 0, granted = 0, madeUs = 0, expiresUs = 0, keepUs = 0, actual = 0, cut = 0, ...rest] = numbers;
  const state = STATES.get(stateCode);
  const isWhole =
    end >= 0 &&
    numbers.length >= RECORD_NUMBERS &&
    rest.length % 2 === 0 &&
    numbers.every((number) => Number.isSafeInteger(number) && number >= 0);
  if (!isWhole || state === undefined || flags > FLAG_LATE + FLAG_UNKNOWN) throw notARecord();
  const charges = Array.from({ length: rest.length / 2 }, (_, i) => ({ charged: rest[2 * i] ?? 0, usedBefore: rest[2 * i + 1] ?? 0 }));
  const record = {
    state,
    isLate: flags % 2 === FLAG_LATE,
    isUnknown: flags >= FLAG_UNKNOWN,
    asked,
    granted,
    madeUs,
    expiresUs,
    keepUs,
    actual,
    cut,
    charges,
  };
  return { record, plan: value.slice(end + 1) };
}

/** Undefined: the id has no record. */
export function decodeRead(reply: unknown): StoredRecord | undefined {
  const {
    rest: [value, ...more],
  } = timedList(reply);
  if (more.length > 0) throw new ReplyError('it has elements after the record');
  return value === undefined || value === null ? undefined : decodeRecord(value);
}

export type ReserveReply =
  | { readonly kind: 'known'; readonly stored: StoredRecord }
  | { readonly kind: 'undecided'; readonly why: 'unreadable' | 'outside' | 'undecidable'; readonly nowUs: number }
  | {
      readonly kind: 'decided';
      readonly due: number;
      readonly granted: number;
      readonly verdict: GroupVerdict;
      readonly stored?: StoredRecord;
    };

const KNOWN = 1;
const DENIED = 2;
const ALLOWED = 3;
const UNDECIDED = new Map([
  [-1, 'unreadable'],
  [-2, 'outside'],
  [-3, 'undecidable'],
] as const);

/** The parts of a reserve step that its reply depends on. */
type AskedReservation = Pick<ReserveInput, 'asked'> & {
  readonly plan: Pick<ReserveInput['plan'], 'quotaAlwaysFits'> & { readonly legs: readonly Leg[] };
};

export function decodeReserve(reply: unknown, { asked, plan: { legs, quotaAlwaysFits } }: AskedReservation): ReserveReply {
  const {
    nowUs,
    rest: [code, ...values],
  } = timedList(reply);
  if (code === KNOWN) return { kind: 'known', stored: decodeRecord(values[0]) };
  const why = UNDECIDED.get(code as -1);
  if (why !== undefined) return { kind: 'undecided', why, nowUs };
  if (code !== DENIED && code !== ALLOWED) throw new ReplyError('it has no valid code of a reservation');
  const due = readWhole(values[0], 0, Number.MAX_SAFE_INTEGER);
  const granted = readWhole(values[1], 0, asked);
  const isAllowed = code === ALLOWED;
  // If the shares leave no room, the reply describes one hit, which is charged nowhere.
  const group = {
    takes: legs.map(({ bucketKey, limit, mode, descriptor }) => ({ bucketKey, limit, hits: granted, mode, descriptor })),
    quotaAlwaysFits,
    shadow: false,
  };
  const outcome = readAnswer(isAllowed ? values.slice(2, -1) : values.slice(2), group, nowUs);
  const verdict = { ...outcome, overLimit: !isAllowed };
  return isAllowed
    ? { kind: 'decided', due, granted, verdict, stored: decodeRecord(values.at(-1)) }
    : { kind: 'decided', due, granted, verdict };
}

/** A step of a reservation: `gone`: another step has dropped the record meanwhile. */
export type StepReply =
  | { readonly kind: 'none' | 'gone' }
  | { readonly kind: 'outside'; readonly nowUs: number }
  | { readonly kind: 'unchanged' | 'changed' | 'otherPlan'; readonly stored: StoredRecord };

const STEP_KINDS = new Map([
  [1, 'unchanged'],
  [2, 'changed'],
  [3, 'otherPlan'],
] as const);

export function decodeStep(reply: unknown): StepReply {
  const {
    nowUs,
    rest: [code, value],
  } = timedList(reply);
  if (code === 0) return { kind: 'none' };
  if (code === 4) return { kind: 'gone' };
  if (code === 5) return { kind: 'outside', nowUs };
  const kind = STEP_KINDS.get(code as 1);
  if (kind === undefined) throw new ReplyError('it has no valid code of a step');
  return { kind, stored: decodeRecord(value) };
}

/** The time at which the script ran, and the rest of the reply. */
export function timedList(reply: unknown): { readonly nowUs: number; readonly rest: readonly unknown[] } {
  const [nowUs, ...rest] = readList(reply);
  return { nowUs: readWhole(nowUs, 0, TIME_US_MAX), rest };
}

/** Another program may have written the record; the connection is not at fault. */
function notARecord(): StoreError {
  return new StoreError('the store returned an invalid reply', 'script');
}
