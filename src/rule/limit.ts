/** A limit: so many requests per window, counted by one algorithm. */

import { UNIT_US, WINDOW_US_MAX, type UnitName } from './unit';

export const ALGORITHMS = ['token_bucket', 'fixed_window'] as const;

export type Algorithm = (typeof ALGORITHMS)[number];

/** The largest `requests_per_unit` and `burst` (both are uint32 on the wire). */
export const UINT32_MAX = 2 ** 32 - 1;

export interface Limit {
  /** As configured: what `current_limit` shows. */
  readonly requestsPerUnit: number;
  readonly unit: UnitName;
  readonly unitMultiplier: number;
  /** `""` if the limit has no name. */
  readonly name: string;
  readonly algorithm: Algorithm;
  /** `unit` times `unit_multiplier`, in microseconds. */
  readonly windowUs: number;
  /** The most hits that fit at once: `burst` of a token bucket, else `requests_per_unit`. */
  readonly capacity: number;
}

export interface LimitSpec {
  readonly requestsPerUnit: number;
  readonly unit: UnitName;
  readonly unitMultiplier?: number;
  readonly name?: string;
  readonly algorithm: Algorithm;
  /** Means something to `token_bucket` alone. */
  readonly burst?: number;
}

/** Which field of a limit is out of bounds, and what to do about it. */
export interface LimitProblem {
  readonly field: 'requests_per_unit' | 'unit_multiplier' | 'burst';
  readonly message: string;
}

/**
 * A limit made of its parts, or what is wrong with them. Bounds: uint32 numbers, a multiplier of at least 1, and
 * neither a window nor a time to full of over 100 years.
 */
export function makeLimit(spec: LimitSpec): Limit | LimitProblem {
  const { requestsPerUnit, unit, unitMultiplier = 1, name = '', algorithm, burst } = spec;
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
  const capacity = algorithm === 'token_bucket' && burst !== undefined ? burst : requestsPerUnit;
  if (capacity > 0 && (capacity / requestsPerUnit) * windowUs > WINDOW_US_MAX) {
    return {
      field: 'burst',
      message: `takes over 100 years to fill at this rate; use a smaller burst or more requests_per_unit`,
    };
  }
  return { requestsPerUnit, unit, unitMultiplier, name, algorithm, windowUs, capacity };
}

export function isLimitProblem(made: Limit | LimitProblem): made is LimitProblem {
  return 'field' in made;
}

function isUint32(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= UINT32_MAX;
}
