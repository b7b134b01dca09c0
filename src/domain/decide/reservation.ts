/**
 * The steps of a reservation: how much the shares allow, what each leg is charged, and the final charge.
 * Twin of `lua/include/reservation.lua`, which runs in Redis; this code runs in the embedded store.
 */

import { isOutside } from '../algorithm/window';
import { NOT_ADJUSTED, type BucketLimit, type Adjustment } from '../bucket/take';
import type { FailureMode } from '../rule/limit';
import type { Mode } from '../rule/mode';

/** Longest time that a reservation may be held, extensions included. */
export const RESERVATION_LIFE_US_MAX = 24 * 60 * 60 * 1_000_000;

/** `held`: charged, but not settled. The others are final, except that a lapsed reservation may still be committed. */
export type ReservationState = 'held' | 'committed' | 'released' | 'lapsed';

/** A state that ends a reservation. */
export type SettleTarget = Exclude<ReservationState, 'held'>;

/** One bucket of a reservation, under one limit. */
export interface Leg {
  readonly bucketKey: string;
  readonly limit: BucketLimit;
  readonly mode: Mode;
  readonly descriptor: number;
  /** Most hits of the bucket that may be held at once; undefined: no bound. */
  readonly shareMax: number | undefined;
  /** How far below zero a commit of more hits than held may take the bucket. */
  readonly overdraftMax: number;
  /** Hits stay charged after a lapse. */
  readonly keepsOnLapse: boolean;
  /** Decides the leg while the store cannot; absent: the default. */
  readonly failureMode?: FailureMode;
}

/** The part of a leg that settling needs. */
export type SettledLeg = Pick<Leg, 'bucketKey' | 'limit' | 'overdraftMax' | 'keepsOnLapse'>;

/** Hits that a leg is currently charged, and hits used in its bucket before. */
export interface LegCharge {
  readonly charged: number;
  readonly usedBefore: number;
}

/** A reservation as stored under its id. */
export interface ReservationRecord {
  readonly state: ReservationState;
  /** Committed or released after its expiry. */
  readonly isLate: boolean;
  /** The id was unknown when it was committed or released. */
  readonly isUnknown: boolean;
  readonly asked: number;
  readonly granted: number;
  readonly madeUs: number;
  readonly expiresUs: number;
  /** How long the record is kept after its last step, or its end. */
  readonly keepUs: number;
  /** Used hits, for a committed reservation. */
  readonly actual: number;
  /** Used hits beyond the overdraft, which were not charged: the maximum over the buckets. */
  readonly cut: number;
  /** One for each leg; none after a commit or a release. */
  readonly charges: readonly LegCharge[];
}

/** How many of the requested hits the shares allow. Legs with one bucket divide its rest. `held`: hits held, by bucket. */
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

/** Whether a leg's hits fit, and what remained in its bucket after the group. */
export interface DecidedLeg {
  readonly fits: boolean;
  readonly remaining: number;
}

/** The charge of each leg. Legs with one bucket are charged one after another. */
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

/** The record of a reservation that was granted just now. */
export function heldRecord({ asked, granted, madeUs, ttlUs, keepUs, charges }: HeldRecordInput): ReservationRecord {
  return {
    state: 'held',
    isLate: false,
    isUnknown: false,
    asked,
    granted,
    madeUs,
    expiresUs: madeUs + ttlUs,
    keepUs,
    actual: 0,
    cut: 0,
    charges,
  };
}

interface HeldRecordInput extends Pick<ReservationRecord, 'asked' | 'granted' | 'madeUs' | 'keepUs' | 'charges'> {
  readonly ttlUs: number;
}

/** The record of hits that were used under an unknown id. */
export function unknownRecord({ legs, keepUs, nowUs }: UnknownRecordInput): ReservationRecord {
  const charges = Array.from({ length: legs }, () => ({ charged: 0, usedBefore: 0 }));
  return {
    state: 'lapsed',
    isLate: false,
    isUnknown: true,
    asked: 0,
    granted: 0,
    madeUs: nowUs,
    expiresUs: nowUs,
    keepUs,
    actual: 0,
    cut: 0,
    charges,
  };
}

interface UnknownRecordInput {
  readonly legs: number;
  readonly keepUs: number;
  readonly nowUs: number;
}

/** Whether a step would change nothing. */
export function isSettled({ state, expiresUs }: ReservationRecord, target: SettleTarget, nowUs: number): boolean {
  if (state === 'committed' || state === 'released') return true;
  return target === 'lapsed' && (state === 'lapsed' || expiresUs > nowUs);
}

/** Extends the expiry, which never gets earlier, up to the longest life of a reservation. */
export function extendedUntilUs({ madeUs, expiresUs }: ReservationRecord, ttlUs: number, nowUs: number): number {
  return Math.max(expiresUs, Math.min(madeUs + RESERVATION_LIFE_US_MAX, nowUs + ttlUs));
}

/**
 * The record in its next state. Each leg is charged, or given back, the difference to its final charge: the used hits after a commit;
 * after a lapse all or nothing, as its limit says. The last charges are given back first, so that each bucket is in the state that its take left.
 *
 * `apply` adjusts one bucket and returns the hits applied, or `NOT_ADJUSTED`.
 */
export function settleRecord({ record, legs, target, actual, nowUs, apply }: SettleRecordInput): ReservationRecord {
  const { state, expiresUs, madeUs, isLate } = record;
  const charges = record.charges.map((charge) => ({ ...charge }));
  const missing = (i: number): number =>
    wantedHits({ leg: legs[i], charged: charges[i]?.charged ?? 0, target, actual }) - (charges[i]?.charged ?? 0);
  const settle = (i: number, hits: number): number => {
    const [leg, charge] = [legs[i], charges[i]];
    if (leg === undefined || charge === undefined) return 0;
    const { bucketKey, limit, overdraftMax } = leg;
    const applied = apply({ bucketKey, limit, hits, overdraftMax, takenAtUs: madeUs, usedBefore: charge.usedBefore });
    const charged = applied === NOT_ADJUSTED ? 0 : applied;
    // Only a commit charges more, and nobody asks for the charges of one.
    if (hits >= 0) return hits - charged;
    charge.charged += hits;
    return 0;
  };
  for (let i = legs.length - 1; i >= 0; i -= 1) if (missing(i) < 0) settle(i, missing(i));
  let cut = 0;
  for (let i = 0; i < legs.length; i += 1) if (missing(i) > 0) cut = Math.max(cut, settle(i, missing(i)));
  const isOver = state === 'lapsed' || (state === 'held' && expiresUs <= nowUs);
  const { isUnknown, asked, granted, keepUs } = record;
  const isLateNow = isLate || (target !== 'lapsed' && isOver);
  return {
    state: target,
    isLate: isLateNow,
    isUnknown,
    asked,
    granted,
    madeUs,
    expiresUs,
    keepUs,
    actual: target === 'committed' ? actual : record.actual,
    cut,
    // Nothing changes a settled reservation, so nobody asks for its charges.
    charges: target === 'lapsed' ? charges : [],
  };
}

/** Whether a leg is to be charged more, in a calendar window that its edges do not cover. */
export function isOutsideCharge({ record, legs, target, actual, nowUs }: Omit<SettleRecordInput, 'apply'>): boolean {
  return legs.some((leg, i) => {
    const charged = record.charges[i]?.charged ?? 0;
    return wantedHits({ leg, charged, target, actual }) > charged && isOutside(leg.limit, nowUs);
  });
}

/** The legs with the calendar windows of these others on the same buckets: windows of now, in place of those of the reservation. */
export function withEdgesOf<Of extends SettledLeg>(legs: readonly Of[], others: readonly SettledLeg[]): readonly Of[] {
  if (!legs.some(({ limit }) => limit.edgesUs !== undefined)) return legs;
  return legs.map((leg) => {
    const { edgesUs } = others.find(({ bucketKey }) => bucketKey === leg.bucketKey)?.limit ?? {};
    if (edgesUs === undefined || leg.limit.edgesUs === undefined) return leg;
    // oxlint-disable-next-line weir/no-spread-first -- Only late steps on calendar limits come here, no decision does.
    return { ...leg, limit: { ...leg.limit, edgesUs } };
  });
}

/** Whether every calendar limit has the same bucket among the others, so that its windows can be asked for again. */
export function haveEdgesOf(legs: readonly SettledLeg[], others: readonly SettledLeg[]): boolean {
  return legs.every(
    ({ bucketKey, limit }) =>
      limit.edgesUs === undefined || others.some((other) => other.bucketKey === bucketKey && other.limit.edgesUs !== undefined),
  );
}

interface SettleRecordInput {
  readonly record: ReservationRecord;
  readonly legs: readonly SettledLeg[];
  readonly target: SettleTarget;
  /** Used hits, for a commit. */
  readonly actual: number;
  readonly nowUs: number;
  readonly apply: (adjustment: Adjustment) => number;
}

/** The final charge of a leg. */
function wantedHits({ leg, charged, target, actual }: WantedHitsInput): number {
  if (target === 'committed') return actual;
  return target === 'lapsed' && leg?.keepsOnLapse === true ? charged : 0;
}

interface WantedHitsInput extends Pick<SettleRecordInput, 'target' | 'actual'> {
  readonly leg: SettledLeg | undefined;
  readonly charged: number;
}
