/** The port of reservations: whatever keeps their records, beside the buckets that they are charged to. */

import type { GroupVerdict, OutsideWindows } from '../bucket/take';
import type { Leg, ReservationRecord, SettleTarget } from '../engine/reservation';
import { UnavailableError } from '../errors';
import type { TakeOptions } from '../store/store';

/** Whose reservation: an id is one of its domain, and of the value that the domain's buckets are spread by. */
export interface ReservationName {
  /** Hash tag of its buckets. */
  readonly tag: string;
  readonly id: string;
}

/** What is asked of buckets under an id. */
export interface Plan {
  readonly legs: readonly Leg[];
  readonly quotaAlwaysFits: boolean;
  readonly shadow: boolean;
}

export interface ReserveInput {
  readonly name: ReservationName;
  readonly plan: Plan;
  /** Hits for each leg; 0: a check. */
  readonly asked: number;
  readonly ttlUs: number;
  readonly keepUs: number;
}

export interface SettleInput {
  readonly name: ReservationName;
  readonly target: SettleTarget;
  /** Hits used, of a commit. */
  readonly actual: number;
  /** What is charged, and kept, if nothing is known under the id. Undefined: nothing can be. */
  readonly unknown?: { readonly plan: Plan; readonly keepUs: number } | undefined;
}

export interface ExtendInput {
  readonly name: ReservationName;
  readonly ttlUs: number;
}

/** Decided just now; `known`: before, and this is what is kept of it. */
export type ReserveOutcome =
  | { readonly kind: 'decided'; readonly verdict: GroupVerdict; readonly granted: number; readonly record?: ReservationRecord; readonly isDegraded: boolean }
  | { readonly kind: 'known'; readonly record: ReservationRecord; readonly isDegraded: boolean };

export interface StepOutcome {
  readonly record: ReservationRecord;
  /** False: the step had been made before, or is not due; the record is as it was. */
  readonly isChanged: boolean;
  readonly isDegraded: boolean;
}

/** Told of each reservation that has lapsed. */
export type OnLapsed = (record: ReservationRecord) => void;

/** Each step is made once, however often it is asked for: what came of it is kept under the id. */
export interface Reservations {
  /**
   * @throws StoreError if nothing was decided, as far as is known here
   * @throws PartsError if the legs lie in several places
   */
  reserve(input: ReserveInput, options: TakeOptions): Promise<ReserveOutcome | OutsideWindows>;
  /** Undefined: nothing is known under the id, and nothing was done. */
  settle(input: SettleInput, options: TakeOptions): Promise<StepOutcome | undefined>;
  /** Undefined: nothing is known under the id. */
  extend(input: ExtendInput, options: TakeOptions): Promise<StepOutcome | undefined>;
  /** Lapses those whose time is over, as many as one run may; how many of the tag are held then. */
  sweep(tag: string): Promise<number>;
}

/** The buckets of one reservation lie in several slots or servers, so no one script can hold them. */
export class PartsError extends Error {
  override readonly name = 'PartsError';
}

/** As many reservations as may be are held in the memory of this instance. */
export class TooManyReservationsError extends UnavailableError {
  override readonly name = 'TooManyReservationsError';
}

/** Nothing is known under the id, and nothing was named that could be charged in its place. */
export class UnknownReservationError extends Error {
  override readonly name = 'UnknownReservationError';
}
