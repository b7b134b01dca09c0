/** A limit: a number of requests for each window, counted by one algorithm. */

import { TOTAL_ALGORITHM, TRAITS, type Algorithm, type BucketAlgorithm } from '../algorithm/algorithms';
import { multiplyDivide } from '../algorithm/arithmetic';
import type { ResponseBody } from './body/response-body';
import type { AmountForm } from '../../lib/text/amount';
import { isCalendarUnit, type Calendar } from '../descriptor/calendar';
import { ByPart } from './reserve/by-part';
import { reservedHits } from './reserve/reserve';
import type { EventLine } from './soft/event-line';
import type { SoftLine } from './soft/soft-line';
import type { Stage } from './stage/stage';
import type { ByteString } from '../descriptor/descriptor';
import { UNIT_US, WINDOW_US_MAX, type UnitName } from '../descriptor/unit';

/**
 * The mode that decides while the store cannot. `local` counts a share of the limit in this process; `open` admits everything, `closed` nothing;
 * with `unavailable` the answer is UNAVAILABLE, so that Envoy's `failure_mode_deny` decides.
 */
export const FAILURE_MODES = ['local', 'open', 'closed', 'unavailable'] as const;

export type FailureMode = (typeof FAILURE_MODES)[number];

/**
 * How response headers show limits. `off`: not at all; `reference`: only the nearest one, as in envoyproxy/ratelimit; `ietf`: all of
 * them, as in draft 11 of the IETF's RateLimit headers.
 */
export const RESPONSE_HEADERS = ['off', 'reference', 'ietf'] as const;

export type ResponseHeaders = (typeof RESPONSE_HEADERS)[number];

/** The value that the `reference` headers show as the limit. */
export const LIMIT_FORMS = ['requests_per_unit', 'capacity'] as const;

export type LimitForm = (typeof LIMIT_FORMS)[number];

/** How the `reference` headers show the reset: the time until then, in three forms, or its time since 1970 in seconds. */
export const RESET_FORMS = ['seconds', 'milliseconds', 'duration', 'epoch'] as const;

export type ResetForm = (typeof RESET_FORMS)[number];

/** Whether an instance may charge hits ahead of the requests that use them (`src/domain/decide/lease.ts`). */
export const LEASES = ['auto', 'off'] as const;

export type Leases = (typeof LEASES)[number];

/** The most hits of a limit, its overdraft included: larger numbers are not exact. */
export const LIMIT_MAX = Number.MAX_SAFE_INTEGER;

/** The largest number in most fields of the wire, which show larger limits as this one. */
export const UINT32_MAX = 2 ** 32 - 1;

export type LimitRole = 'candidate' | 'penalty' | 'pool' | 'share';

/** The owner of a pool: the tenant whose bucket counts for its whole subtree. */
export interface PoolOwner {
  /** Index of the entry whose value is the tenant. */
  readonly level: number;
  readonly tenant: ByteString;
  /** The limit as the plan of the owner has it: the same object for all owners. */
  readonly limit: Limit;
}

/** The terms of a limit beside its numbers. It stays when a request or control data bring other numbers. */
export interface LimitTerms {
  /** Absent: `FAILURE_MODE`. */
  readonly failureMode?: FailureMode | undefined;
  /** Absent: the setting `RESPONSE_HEADERS`. */
  readonly responseHeaders?: ResponseHeaders | undefined;
  /** Absent: the setting `RESPONSE_BODY`. */
  readonly responseBody?: ResponseBody | undefined;
  /** A descriptor's own hits are a usage report: charged in full, below zero too. Absent: they are requested like other hits. */
  readonly overdraft?: Overdraft | undefined;
  /** Absent: the setting `LEASES`. */
  readonly leases?: Leases | undefined;
  /** Absent: `DEFAULT_RESERVATION_TERMS`. */
  readonly reservations?: ReservationTerms | undefined;
  /** In ascending order. Absent: none. */
  readonly soft?: readonly SoftLine[] | undefined;
  /** How people read its hits. Absent: as hits. */
  readonly show?: AmountForm | undefined;
  /** In ascending order. Absent: none. */
  readonly events?: readonly EventLine[] | undefined;
}

export interface Limit extends LimitTerms {
  /** As configured: what `current_limit` shows. */
  readonly requestsPerUnit: number;
  readonly unit: UnitName;
  readonly unitMultiplier: number;
  /** `""` if the limit has no name. */
  readonly name: string;
  readonly algorithm: BucketAlgorithm;
  /** `unit` times `unit_multiplier`, in microseconds. */
  readonly windowUs: number;
  /** The most hits at once: `burst` of a token bucket, 1 + `burst` of a leaky one, otherwise `requests_per_unit`; without `reserved`. */
  readonly capacity: number;
  /** Hits beyond the capacity that are left to other classes of the reserve. Absent: none. */
  readonly reserved?: number;
  /** Calendar windows instead of `windowUs`; only for `fixed_window`. */
  readonly calendar?: Calendar;
  /** Counted beside this limit in a bucket of its own, and never denies. Absent: there is none. */
  readonly candidate?: Limit;
  /** The candidate may decide a part of the requests. Absent: it never denies, or this is not a candidate. */
  readonly stage?: Stage;
  /** This limit is a candidate itself, counts the denials of a penalty, or is that of a pool or of a member's share, so its bucket is marked. Absent: it is a limit in force. */
  readonly role?: LimitRole;
  /** It counts in the bucket of this tenant, which may be an ancestor of the one that asks. Absent: the entries name the bucket. */
  readonly pool?: PoolOwner;
}

/** The end of reserved hits that are neither committed nor released in time. */
export const ON_LAPSE = ['release', 'charge'] as const;

export type OnLapse = (typeof ON_LAPSE)[number];

/** Reservations under a limit. */
export interface ReservationTerms {
  /** The part of the capacity that may be reserved at once: over 0, at most 1. */
  readonly maxShare: number;
  readonly onLapse: OnLapse;
}

/** A share has nine decimals at most. As whole parts it is exact: 0.29 of 100 is 28.999999999999996 in binary, and means 29. */
const SHARE_PARTS = 1_000_000_000;

/** For limits without `reservations`. */
export const DEFAULT_RESERVATION_TERMS: ReservationTerms = { maxShare: 0.5, onLapse: 'release' };

/** Most hits of a bucket under this limit that may be reserved at once: at least one, unless the limit is 0. */
export function reservableMax({ capacity, reservations = DEFAULT_RESERVATION_TERMS }: Pick<Limit, 'capacity' | 'reservations'>): number {
  const parts = Math.round(reservations.maxShare * SHARE_PARTS);
  if (parts >= SHARE_PARTS) return capacity;
  return Math.min(capacity, Math.max(1, multiplyDivide(parts, capacity, SHARE_PARTS).quotient));
}

/** A limit with a rate-limiting algorithm, unlike `in_flight`. */
export interface RateLimit extends Limit {
  readonly algorithm: Algorithm;
}

export function isRateLimit(limit: Limit): limit is RateLimit {
  return TRAITS[limit.algorithm].holds === 'hits';
}

/** Usage reports under a limit. */
export interface Overdraft {
  /** How many hits below zero they may take the bucket. Absent: the capacity of the limit. */
  readonly max?: number;
}

/**
 * How many hits below zero a usage report may take a bucket under this limit, so that used hits are never more than `LIMIT_MAX`;
 * undefined: the limit takes no reports. Reports of all classes of a reserve end at the same number of used hits.
 */
export function overdraftMaxOf({ overdraft, capacity, reserved = 0 }: OverdrawnLimit): number | undefined {
  const whole = capacity + reserved;
  return overdraft === undefined ? undefined : Math.min(overdraft.max ?? whole, LIMIT_MAX - whole) + reserved;
}

type OverdrawnLimit = Pick<Limit, 'overdraft' | 'capacity' | 'reserved'>;

export interface LimitSpec extends LimitTerms {
  readonly requestsPerUnit: number;
  readonly unit: UnitName;
  readonly unitMultiplier?: number;
  readonly name?: string;
  readonly algorithm: Algorithm;
  /** Only for `token_bucket` (default: `requestsPerUnit`) and `leaky_bucket` (default: 0). */
  readonly burst?: number;
  /** The time zone of calendar windows. Only for `fixed_window` with a unit of a day or longer. */
  readonly calendarTimeZone?: string | undefined;
}

/** The invalid field of a limit, and how to fix it. */
export interface LimitProblem {
  readonly field: 'unit' | 'requests_per_unit' | 'unit_multiplier' | 'burst' | 'overdraft_max';
  readonly message: string;
}

/**
 * Makes a limit, or returns a problem. Bounds: whole numbers up to `LIMIT_MAX`, a multiplier of at least 1, at most 100 years
 * for the window and for the time to full, and LOG_LIMIT_MAX for a log. `terms`: those of a limit that it replaces, given whole.
 */
export function makeLimit(spec: LimitSpec, terms: LimitTerms = spec): RateLimit | LimitProblem {
  const { requestsPerUnit, unit, unitMultiplier = 1, name = '', algorithm, burst } = spec;
  if (!isWhole(requestsPerUnit, LIMIT_MAX)) {
    return { field: 'requests_per_unit', message: `must be a whole number from 0 to ${LIMIT_MAX}` };
  }
  if (!isWhole(unitMultiplier, UINT32_MAX) || unitMultiplier === 0) {
    return { field: 'unit_multiplier', message: `must be a whole number from 1 to ${UINT32_MAX}` };
  }
  if (unit === 'total' && unitMultiplier > 1) return { field: 'unit_multiplier', message: 'has no meaning with unit: total; remove it' };
  if ((unit === 'total') !== (algorithm === TOTAL_ALGORITHM)) return { field: 'unit', message: explainTotal(algorithm) };
  const windowUs = UNIT_US[unit] * unitMultiplier;
  if (windowUs > WINDOW_US_MAX) {
    return { field: 'unit_multiplier', message: `makes a window of over 100 years; use a shorter one` };
  }
  if (burst !== undefined && !isWhole(burst, LIMIT_MAX)) {
    return { field: 'burst', message: `must be a whole number from 0 to ${LIMIT_MAX}` };
  }
  const { recordsMax = Infinity, lighter } = TRAITS[algorithm];
  if (requestsPerUnit > recordsMax) {
    return { field: 'requests_per_unit', message: `is over ${recordsMax}, the most that ${algorithm} remembers; use ${lighter}` };
  }
  if ((terms.overdraft?.max ?? 0) > recordsMax) {
    return { field: 'overdraft_max', message: `is over ${recordsMax}, the most that ${algorithm} remembers below zero; use ${lighter}` };
  }
  const capacity = capacityOf(spec);
  if (capacity > LIMIT_MAX) return { field: 'burst', message: `and the first hit are over ${LIMIT_MAX}; use a smaller one` };
  // `overdraftMaxOf` cuts the overdraft of a limit that this one replaces.
  if ((spec.overdraft?.max ?? 0) + capacity > LIMIT_MAX) {
    return { field: 'overdraft_max', message: `and the limit are over ${LIMIT_MAX} together; use a smaller one` };
  }
  if (capacity > 0 && (capacity / requestsPerUnit) * windowUs > WINDOW_US_MAX) {
    return {
      field: 'burst',
      message: `takes over 100 years to fill at this rate; use a smaller burst or more requests_per_unit`,
    };
  }
  const calendar = calendarOf(spec);
  const { failureMode, responseHeaders, responseBody, overdraft, leases, reservations, soft, show, events } = terms;
  // In one literal: requests bring limits, and V8 is slow with the spread of an object of another function.
  return {
    requestsPerUnit,
    unit,
    unitMultiplier,
    name,
    algorithm,
    windowUs,
    capacity,
    ...(calendar && { calendar }),
    ...(failureMode && { failureMode }),
    ...(responseHeaders && { responseHeaders }),
    ...(responseBody && { responseBody }),
    ...(overdraft && { overdraft }),
    ...(leases && { leases }),
    ...(reservations && { reservations }),
    ...(soft && { soft }),
    ...(show && { show }),
    ...(events && { events }),
  };
}

function explainTotal(algorithm: Algorithm): string {
  if (algorithm === TOTAL_ALGORITHM) return 'is not total, and the limit is a budget, which never refills; use total';
  return `has no time in which ${algorithm} could restore hits; remove algorithm, or use another unit`;
}

/** The limit of each limit that was made for a class. */
const wholes = new WeakMap<Limit, Limit>();

const reserved = new ByPart<Limit, Limit>(leavePart);

/**
 * The limit of requests that leave a part of it, in millionths, to other classes of a reserve. States hold used hits, and the rate stays,
 * so the smaller capacity only decides whether a take fits: it does if the part is left after it. A lease would have hits of the
 * reserve for everyone, so there is none.
 */
export function reservedLimit(limit: Limit, part: number): Limit {
  return reserved.of(limit, part);
}

function leavePart(limit: Limit, part: number): Limit {
  const { capacity, candidate, pool, ...others } = limit;
  const hits = reservedHits(capacity, part);
  const made: Limit = {
    capacity: capacity - hits,
    ...others,
    leases: 'off',
    ...(hits > 0 && { reserved: hits }),
    ...(candidate && { candidate: reservedLimit(candidate, part) }),
    // Takes count under the limit of the plan, which is one object for all owners.
    ...(pool && { pool: { level: pool.level, tenant: pool.tenant, limit: reservedLimit(pool.limit, part) } }),
  };
  wholes.set(made, limit);
  return made;
}

/** The limit that `reservedLimit` was given; otherwise the limit itself. */
export function beforeReserve(limit: Limit): Limit {
  return wholes.get(limit) ?? limit;
}

/** `100/minute`, `100/5minute` or `100/total`. */
export function rateText({ requestsPerUnit, unit, unitMultiplier }: Pick<Limit, 'requestsPerUnit' | 'unit' | 'unitMultiplier'>): string {
  return `${requestsPerUnit}/${unitMultiplier === 1 ? '' : unitMultiplier}${unit}`;
}

/** Limits with the same window name share a bucket, if all else is equal: seconds, or the calendar's unit and time zone. */
export function windowName({ windowUs, calendar }: Pick<Limit, 'windowUs' | 'calendar'>): string {
  if (calendar === undefined) return String(windowUs / 1_000_000);
  return `${calendar.unitMultiplier}${calendar.unit}@${calendar.timeZone}`;
}

/** Whether limits count in buckets of their own. False: two of the limits, or two of their candidates, have one algorithm and window, so they would share a bucket, where each hit would count twice. */
export function haveOwnBuckets(limits: readonly Limit[]): boolean {
  const seen = new Set<string>();
  for (const limit of limits) {
    for (const one of limit.candidate === undefined ? [limit] : [limit, limit.candidate]) {
      const identity = `${one.role ?? ''} ${one.algorithm} ${windowName(one)}`;
      if (seen.has(identity)) return false;
      seen.add(identity);
    }
  }
  return true;
}

function calendarOf({ unit, unitMultiplier = 1, algorithm, calendarTimeZone }: LimitSpec): Calendar | undefined {
  if (calendarTimeZone === undefined || TRAITS[algorithm].restores !== 'at-window-end' || !isCalendarUnit(unit)) return undefined;
  return { unit, unitMultiplier, timeZone: calendarTimeZone };
}

function capacityOf({ algorithm, requestsPerUnit, burst }: LimitSpec): number {
  const { burst: meaning } = TRAITS[algorithm];
  return meaning === undefined ? requestsPerUnit : meaning.capacity(requestsPerUnit, burst);
}

export function isLimitProblem(made: Limit | LimitProblem): made is LimitProblem {
  return 'field' in made;
}

function isWhole(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= max;
}
