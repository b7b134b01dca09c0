/**
 * The steps of a reservation: how much of it the shares leave room for, what each of its legs is charged, and what it is charged in the
 * end. Twin of `lua/include/reservation.lua`: with Redis the steps run there, with the embedded store here.
 */

import { UNSETTLED, type BucketLimit, type Mode, type Settlement } from '../bucket/take';
import type { FailureMode } from '../rule/limit';

/** Longest that a reservation may be held, however often it is extended. */
export const RESERVATION_LIFE_US_MAX = 24 * 60 * 60 * 1_000_000;

/** `held`: charged, and not settled. The others are its ends; of a lapsed one the hits used may still be committed. */
export type ReservationState = 'held' | 'committed' | 'released' | 'lapsed';

/** What brings a reservation to its next state. */
export type SettleTarget = Exclude<ReservationState, 'held'>;

/** One bucket of a reservation, under one limit. */
export interface Leg {
  readonly bucketKey: string;
  readonly limit: BucketLimit;
  readonly mode: Mode;
  readonly descriptor: number;
  /** Most hits of the bucket that may be held at once; undefined: any. */
  readonly shareMax: number | undefined;
  /** How far below zero a commit of more than was held may take the bucket. */
  readonly overdraftMax: number;
  /** Hits that lapse stay charged. */
  readonly keepsOnLapse: boolean;
  /** What decides on it while the store can't; absent: the default. */
  readonly failureMode?: FailureMode;
}

/** What is needed of a leg to settle it. */
export type SettledLeg = Pick<Leg, 'bucketKey' | 'limit' | 'overdraftMax' | 'keepsOnLapse'>;

/** Hits of the reservation that a leg is charged with now, and those used in its bucket before. */
export interface LegCharge {
  readonly charged: number;
  readonly usedBefore: number;
}

/** A reservation as it is kept under its id. */
export interface ReservationRecord {
  readonly state: ReservationState;
  /** Committed or released after its time was over. */
  readonly isLate: boolean;
  /** Nothing was known under the id when it was committed or released. */
  readonly isUnknown: boolean;
  readonly asked: number;
  readonly granted: number;
  readonly madeUs: number;
  readonly expiresUs: number;
  /** How long it is kept after its last step, or its end. */
  readonly keepUs: number;
  /** Hits used, of a committed one. */
  readonly actual: number;
  /** Of them, those that no bucket was charged with, as beyond its overdraft: the most of any. */
  readonly cut: number;
  /** One for each leg. */
  readonly charges: readonly LegCharge[];
}

/** How many hits of those asked for the shares leave room for. Legs of one bucket share what is left of it. `held`: by bucket. */
export function grantableHits(asked: number, legs: readonly Leg[], held: ReadonlyMap<string, number>): number {
  let granted = asked;
  for (const { bucketKey, shareMax } of legs) {
    if (shareMax === undefined) continue;
    const left = Math.max(0, shareMax - (held.get(bucketKey) ?? 0));
    const legsOfBucket = legs.filter((leg) => leg.bucketKey === bucketKey).length;
    granted = Math.min(granted, Math.floor(left / legsOfBucket));
  }
  return granted;
}

/** Whether a leg's hits fit, and what remained in its bucket after those of all. */
export interface DecidedLeg {
  readonly fits: boolean;
  readonly remaining: number;
}

/** What each leg was charged. A bucket that comes more than once is charged for one leg after the other. */
export function chargedLegs(granted: number, legs: readonly Leg[], decided: readonly DecidedLeg[]): LegCharge[] {
  const used = new Map<string, number>();
  const charges: LegCharge[] = [];
  for (let i = legs.length - 1; i >= 0; i -= 1) {
    const leg = legs[i];
    const verdict = decided[i];
    if (leg === undefined || verdict?.fits !== true) {
      charges.unshift({ charged: 0, usedBefore: 0 });
      continue;
    }
    const usedBefore = (used.get(leg.bucketKey) ?? leg.limit.capacity - verdict.remaining) - granted;
    used.set(leg.bucketKey, usedBefore);
    charges.unshift({ charged: granted, usedBefore: Math.max(0, usedBefore) });
  }
  return charges;
}

/** What is kept of hits that were used though nothing was known under their id. */
export function unknownRecord({ legs, keepUs, nowUs }: UnknownRecordInput): ReservationRecord {
  const charges = Array.from({ length: legs }, () => ({ charged: 0, usedBefore: 0 }));
  return { state: 'lapsed', isLate: false, isUnknown: true, asked: 0, granted: 0, madeUs: nowUs, expiresUs: nowUs, keepUs, actual: 0, cut: 0, charges };
}

interface UnknownRecordInput {
  readonly legs: number;
  readonly keepUs: number;
  readonly nowUs: number;
}

/** Whether a step changes nothing of the record any more. */
export function isSettled({ state, expiresUs }: ReservationRecord, target: SettleTarget, nowUs: number): boolean {
  if (state === 'committed' || state === 'released') return true;
  return target === 'lapsed' && (state === 'lapsed' || expiresUs > nowUs);
}

/** Later, never sooner, and never beyond the longest life of a reservation. */
export function extendedUntilUs({ madeUs, expiresUs }: ReservationRecord, ttlUs: number, nowUs: number): number {
  return Math.max(expiresUs, Math.min(madeUs + RESERVATION_LIFE_US_MAX, nowUs + ttlUs));
}

/**
 * The record in its next state. Each leg is charged, or given back, what is missing of what it is to be charged with: of a commit the hits used,
 * of a lapse all or nothing, as its limit says. What was charged last is given back first, so that each is taken off a bucket as its take left it.
 *
 * `apply` puts one bucket right and says how many hits were applied, or `UNSETTLED`.
 */
export function settleRecord({ record, legs, target, actual, nowUs, apply }: SettleRecordInput): ReservationRecord {
  const { state, expiresUs, madeUs, isLate } = record;
  const charges = record.charges.map((charge) => ({ ...charge }));
  const missing = (i: number): number => wantedHits({ leg: legs[i], charged: charges[i]?.charged ?? 0, target, actual }) - (charges[i]?.charged ?? 0);
  const settle = (i: number, hits: number): number => {
    const [leg, charge] = [legs[i], charges[i]];
    if (leg === undefined || charge === undefined) return 0;
    const { bucketKey, limit, overdraftMax } = leg;
    const applied = apply({ bucketKey, limit, hits, overdraftMax, takenAtUs: madeUs, usedBefore: charge.usedBefore });
    const charged = applied === UNSETTLED ? 0 : applied;
    charge.charged += hits < 0 ? hits : charged;
    return hits < 0 ? 0 : hits - charged;
  };
  for (let i = legs.length - 1; i >= 0; i -= 1) if (missing(i) < 0) settle(i, missing(i));
  let cut = 0;
  for (let i = 0; i < legs.length; i += 1) if (missing(i) > 0) cut = Math.max(cut, settle(i, missing(i)));
  const isOver = state === 'lapsed' || (state === 'held' && expiresUs <= nowUs);
  const { isUnknown, asked, granted, keepUs } = record;
  const isLateNow = isLate || (target !== 'lapsed' && isOver);
  return { state: target, isLate: isLateNow, isUnknown, asked, granted, madeUs, expiresUs, keepUs, actual: target === 'committed' ? actual : record.actual, cut, charges };
}

interface SettleRecordInput {
  readonly record: ReservationRecord;
  readonly legs: readonly SettledLeg[];
  readonly target: SettleTarget;
  /** Hits used, of a commit. */
  readonly actual: number;
  readonly nowUs: number;
  readonly apply: (settlement: Settlement) => number;
}

/** What a leg is to be charged with in the end. */
function wantedHits({ leg, charged, target, actual }: WantedHitsInput): number {
  if (target === 'committed') return actual;
  return target === 'lapsed' && leg?.keepsOnLapse === true ? charged : 0;
}

interface WantedHitsInput extends Pick<SettleRecordInput, 'target' | 'actual'> {
  readonly leg: SettledLeg | undefined;
  readonly charged: number;
}
