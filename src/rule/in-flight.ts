/** Requests in flight: how many of them may run at once, as one more limit of a rule. */

import type { SharedEntry } from '../bucket/bucket-key';
import type { FailureMode, Limit, ResponseHeaders } from './limit';
import { UNIT_US } from './unit';

/** The largest `max`: a decision reads and writes every slot of its bucket. */
export const IN_FLIGHT_MAX = 10_000;

/** The longest `hold`, in seconds: a day. */
export const HOLD_S_MAX = 86_400;

/** The name of a limit in flight that has none of its own. */
export const IN_FLIGHT_NAME = 'in_flight';

/** What a rule says of its requests in flight. */
export interface InFlight {
  /** The last of the limits of the rule. */
  readonly limit: Limit;
  /** The entry whose value identifies a request. Absent: the slots of a bucket are alike. */
  readonly id?: IdEntry;
  /** By level, what stands in the bucket keys of the rule in place of an entry: of a shared one its pattern, of the id its key alone. */
  readonly keyEntries: readonly (SharedEntry | undefined)[];
  /** The same for a limit of the request that replaces those of the rule: it shares nothing. */
  readonly overrideEntries: readonly (SharedEntry | undefined)[];
}

export interface IdEntry {
  /** Its place among the entries of a descriptor. */
  readonly level: number;
  /** As configured. */
  readonly key: string;
}

export interface InFlightLimitSpec {
  readonly max: number;
  readonly holdS: number;
  readonly name?: string | undefined;
  readonly failureMode?: FailureMode | undefined;
  readonly responseHeaders?: ResponseHeaders | undefined;
}

/** `max` slots, each of which is free again after `holdS` at the latest. The bounds of both are for the caller to keep. */
export function makeInFlightLimit({ max, holdS, name = IN_FLIGHT_NAME, failureMode, responseHeaders }: InFlightLimitSpec): Limit {
  return {
    requestsPerUnit: max,
    unit: 'second',
    unitMultiplier: holdS,
    name,
    algorithm: 'in_flight',
    windowUs: holdS * UNIT_US.second,
    capacity: max,
    ...(failureMode && { failureMode }),
    ...(responseHeaders && { responseHeaders }),
  };
}
