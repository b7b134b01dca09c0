/** A limit: so many requests per window, counted by one algorithm. */

import { isCalendarUnit, type Calendar } from './calendar';
import { UNIT_US, WINDOW_US_MAX, type UnitName } from './unit';

export const ALGORITHMS = [
  'token_bucket',
  'leaky_bucket',
  'fixed_window',
  'sliding_window_log',
  'sliding_window_counter',
] as const;

export type Algorithm = (typeof ALGORITHMS)[number];

/** What decides on a bucket: an algorithm, or the slots of requests in flight, which `in_flight` makes and no `algorithm:` names. */
export type BucketAlgorithm = Algorithm | 'in_flight';

/**
 * What decides while the store can't: a share of the limit counted in this process, yes to all, no to all, or nobody
 * (the answer is UNAVAILABLE, and Envoy's `failure_mode_deny` decides).
 */
export const FAILURE_MODES = ['local', 'open', 'closed', 'unavailable'] as const;

export type FailureMode = (typeof FAILURE_MODES)[number];

/**
 * How the headers of a response show a limit: not at all, as envoyproxy/ratelimit shows the one that is nearest, or all of them
 * as draft 11 of the IETF's RateLimit headers does.
 */
export const RESPONSE_HEADERS = ['off', 'reference', 'ietf'] as const;

export type ResponseHeaders = (typeof RESPONSE_HEADERS)[number];

/** The largest `requests_per_unit` and `burst` (both are uint32 on the wire). */
export const UINT32_MAX = 2 ** 32 - 1;

/** The largest `sliding_window_log`: it remembers every hit, and a decision reads and writes them all. */
export const LOG_LIMIT_MAX = 10_000;

export interface Limit {
  /** As configured: what `current_limit` shows. */
  readonly requestsPerUnit: number;
  readonly unit: UnitName;
  readonly unitMultiplier: number;
  /** `""` if the limit has no name. */
  readonly name: string;
  readonly algorithm: BucketAlgorithm;
  /** `unit` times `unit_multiplier`, in microseconds. */
  readonly windowUs: number;
  /** The most hits that fit at once: `burst` of a token bucket, 1 + `burst` of a leaky one, else `requests_per_unit`. */
  readonly capacity: number;
  /** Absent: `FAILURE_MODE`. */
  readonly failureMode?: FailureMode;
  /** Absent: the setting `RESPONSE_HEADERS`. */
  readonly responseHeaders?: ResponseHeaders;
  /** Windows of the calendar in place of `windowUs`; `fixed_window` alone has them. */
  readonly calendar?: Calendar;
  /** A descriptor's own hits are a usage report: charged in full, below zero too. Absent: they are asked for like any others. */
  readonly overdraft?: Overdraft;
  /** Absent: `DEFAULT_RESERVATION_TERMS`. */
  readonly reservations?: ReservationTerms;
}

/** What becomes of hits that were reserved, and neither committed nor released in time. */
export const ON_LAPSE = ['release', 'charge'] as const;

export type OnLapse = (typeof ON_LAPSE)[number];

/** How a limit takes reservations. */
export interface ReservationTerms {
  /** Most of the capacity that may be reserved at once: over 0, at most 1. */
  readonly maxShare: number;
  readonly onLapse: OnLapse;
}

/** Of limits that do not say. */
export const DEFAULT_RESERVATION_TERMS: ReservationTerms = { maxShare: 0.5, onLapse: 'release' };

/** How many hits of a bucket under this limit may be reserved at once: at least one, if it has any. */
export function reservableMax({ capacity, reservations = DEFAULT_RESERVATION_TERMS }: Pick<Limit, 'capacity' | 'reservations'>): number {
  return Math.min(capacity, Math.max(1, Math.floor(capacity * reservations.maxShare)));
}

/** A limit that counts by an algorithm. */
export interface RateLimit extends Limit {
  readonly algorithm: Algorithm;
}

export function isRateLimit(limit: Limit): limit is RateLimit {
  return limit.algorithm !== 'in_flight';
}

/** How a limit takes usage reports. */
export interface Overdraft {
  /** How many hits below zero they may take the bucket. Absent: as many as the limit's capacity. */
  readonly max?: number;
}

/** How many hits below zero a usage report may take a bucket under this limit; undefined: the limit takes none. */
export function overdraftMaxOf({ overdraft, capacity }: Pick<Limit, 'overdraft' | 'capacity'>): number | undefined {
  return overdraft === undefined ? undefined : (overdraft.max ?? capacity);
}

export interface LimitSpec {
  readonly requestsPerUnit: number;
  readonly unit: UnitName;
  readonly unitMultiplier?: number;
  readonly name?: string;
  readonly algorithm: Algorithm;
  /** Means something to `token_bucket` (default: `requestsPerUnit`) and `leaky_bucket` (default: 0) alone. */
  readonly burst?: number;
  /** The time zone whose calendar the windows follow. Means something to `fixed_window` by day or longer alone. */
  readonly calendarTimeZone?: string | undefined;
  readonly failureMode?: FailureMode | undefined;
  readonly responseHeaders?: ResponseHeaders | undefined;
  readonly overdraft?: Overdraft | undefined;
  readonly reservations?: ReservationTerms | undefined;
}

/** Which field of a limit is out of bounds, and what to do about it. */
export interface LimitProblem {
  readonly field: 'requests_per_unit' | 'unit_multiplier' | 'burst' | 'overdraft_max';
  readonly message: string;
}

/**
 * A limit made of its parts, or what is wrong with them. Bounds: uint32 numbers, a multiplier of at least 1, and
 * neither a window nor a time to full of over 100 years; LOG_LIMIT_MAX for a log.
 */
export function makeLimit(spec: LimitSpec): RateLimit | LimitProblem {
  const { requestsPerUnit, unit, unitMultiplier = 1, name = '', algorithm, burst, failureMode, responseHeaders, overdraft, reservations } = spec;
  if (!isUint32(requestsPerUnit)) {
    return { field: 'requests_per_unit', message: `must be a whole number from 0 to ${UINT32_MAX}` };
  }
  if (!isUint32(unitMultiplier) || unitMultiplier === 0) {
    return { field: 'unit_multiplier', message: `must be a whole number from 1 to ${UINT32_MAX}` };
  }
  const windowUs = UNIT_US[unit] * unitMultiplier;
  if (windowUs > WINDOW_US_MAX) {
    return { field: 'unit_multiplier', message: `makes a window of over 100 years; use a shorter one` };
  }
  if (burst !== undefined && !isUint32(burst)) {
    return { field: 'burst', message: `must be a whole number from 0 to ${UINT32_MAX}` };
  }
  if (algorithm === 'sliding_window_log' && requestsPerUnit > LOG_LIMIT_MAX) {
    return {
      field: 'requests_per_unit',
      message: `is over ${LOG_LIMIT_MAX}, the most that sliding_window_log remembers; use sliding_window_counter`,
    };
  }
  if (algorithm === 'sliding_window_log' && (overdraft?.max ?? 0) > LOG_LIMIT_MAX) {
    return {
      field: 'overdraft_max',
      message: `is over ${LOG_LIMIT_MAX}, the most that sliding_window_log remembers below zero; use sliding_window_counter`,
    };
  }
  const capacity = capacityOf(spec);
  if (capacity > 0 && (capacity / requestsPerUnit) * windowUs > WINDOW_US_MAX) {
    return {
      field: 'burst',
      message: `takes over 100 years to fill at this rate; use a smaller burst or more requests_per_unit`,
    };
  }
  const calendar = calendarOf(spec);
  const optional = { ...(calendar && { calendar }), ...(failureMode && { failureMode }), ...(responseHeaders && { responseHeaders }), ...(overdraft && { overdraft }), ...(reservations && { reservations }) };
  return { requestsPerUnit, unit, unitMultiplier, name, algorithm, windowUs, capacity, ...optional };
}

/** Limits of one window name share a bucket, if all else is the same: seconds, or the calendar's unit and time zone. */
export function windowName({ windowUs, calendar }: Pick<Limit, 'windowUs' | 'calendar'>): string {
  if (calendar === undefined) return String(windowUs / 1_000_000);
  return `${calendar.unitMultiplier}${calendar.unit}@${calendar.timeZone}`;
}

function calendarOf({ unit, unitMultiplier = 1, algorithm, calendarTimeZone }: LimitSpec): Calendar | undefined {
  if (calendarTimeZone === undefined || algorithm !== 'fixed_window' || !isCalendarUnit(unit)) return undefined;
  return { unit, unitMultiplier, timeZone: calendarTimeZone };
}

function capacityOf({ algorithm, requestsPerUnit, burst }: LimitSpec): number {
  if (algorithm === 'token_bucket') return burst ?? requestsPerUnit;
  // Nothing leaks out of a bucket with a rate of 0, so nothing may go in.
  if (algorithm === 'leaky_bucket') return requestsPerUnit === 0 ? 0 : 1 + (burst ?? 0);
  return requestsPerUnit;
}

export function isLimitProblem(made: Limit | LimitProblem): made is LimitProblem {
  return 'field' in made;
}

function isUint32(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= UINT32_MAX;
}
