/** The port of reservations: a store of records beside the buckets that they charge. */

import type { GroupVerdict, OutsideWindows } from '../../domain/bucket/take';
import type { Leg, ReservationRecord, SettleTarget } from '../../domain/decide/reservation';
import { UnavailableError } from '../../lib/errors';
import type { TakeOptions } from '../store/port/store';

/** Identifies a reservation: ids are unique within a domain and its hash tag. */
export interface ReservationName {
  /** Hash tag of its buckets. */
  readonly tag: string;
  readonly id: string;
}

/** The takes of a reservation, and what settles them. */
export interface ReservationPlan {
  readonly legs: readonly Leg[];
  readonly quotaAlwaysFits: boolean;
  readonly shadow: boolean;
}

export interface ReserveInput {
  readonly name: ReservationName;
  readonly plan: ReservationPlan;
  /** Hits for each leg; 0 is a check. */
  readonly asked: number;
  readonly ttlUs: number;
  readonly keepUs: number;
}

export interface SettleInput {
  readonly name: ReservationName;
  readonly target: SettleTarget;
  /** Hits used, for a commit. */
  readonly actual: number;
  /**
   * Charged and recorded if the id is unknown; its calendar windows also hold for a reservation that is known. Undefined: nothing can be
   * charged.
   */
  readonly unknown?: { readonly plan: ReservationPlan; readonly keepUs: number } | undefined;
}

export interface ExtendInput {
  readonly name: ReservationName;
  readonly ttlUs: number;
}

/** The decision just made, or with `known` the record of an earlier one. */
export type ReserveOutcome =
  | {
      readonly kind: 'decided';
      readonly verdict: GroupVerdict;
      readonly granted: number;
      readonly record?: ReservationRecord;
      readonly isDegraded: boolean;
    }
  | { readonly kind: 'known'; readonly record: ReservationRecord; readonly isDegraded: boolean };

export interface StepOutcome {
  readonly record: ReservationRecord;
  /** False: the step was made before, or is not due; the record is unchanged. */
  readonly isChanged: boolean;
  readonly isDegraded: boolean;
}

/** The reservations of a tag after a sweep. */
export interface Swept {
  readonly held: number;
  /** Time until the first of them lapses, in milliseconds; 0: more are due. Undefined: none is held. */
  readonly firstAfterMs: number | undefined;
}

/** Both together. */
export function sweptBoth(one: Swept, other: Swept): Swept {
  const firstAfterMs = Math.min(one.firstAfterMs ?? Infinity, other.firstAfterMs ?? Infinity);
  return { held: one.held + other.held, firstAfterMs: firstAfterMs === Infinity ? undefined : firstAfterMs };
}

/** How long one sweep lapses reservations, in milliseconds, before others get their turn. */
export const SWEEP_TURN_MS = 500;

/** Called with each lapsed reservation. */
export type OnLapsed = (record: ReservationRecord) => void;

/** Each step is applied once, however often it is sent: its result is kept under the id. */
export interface Reservations {
  /**
   * @throws StoreError if nothing is known to be decided
   * @throws PartsError if the legs are in several slots or servers
   */
  reserve(input: ReserveInput, options: TakeOptions): Promise<ReserveOutcome | OutsideWindows>;
  /** Undefined: the id is unknown. With undefined, and outside calendar windows, nothing was changed. */
  settle(input: SettleInput, options: TakeOptions): Promise<StepOutcome | OutsideWindows | undefined>;
  /** Undefined: the id is unknown, and nothing was changed. */
  extend(input: ExtendInput, options: TakeOptions): Promise<StepOutcome | undefined>;
  /** Lapses expired reservations of the tag, for a while. */
  sweep(tag: string): Promise<Swept>;
}

/** The buckets of one reservation are in several slots or servers, so no script can hold them all. */
export class PartsError extends Error {
  override readonly name = 'PartsError';
}

/** This instance's memory holds its maximum number of reservations. */
export class TooManyReservationsError extends UnavailableError {
  override readonly name = 'TooManyReservationsError';
}

/** The id is unknown, and the step has no descriptors to charge instead. */
export class UnknownReservationError extends Error {
  override readonly name = 'UnknownReservationError';
}
