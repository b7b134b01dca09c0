/** Requests in flight: the number of concurrent requests, as one more limit of a rule. */

import { reservedLimit, type Limit, type LimitTerms } from './limit';
import { ByPart } from './reserve/by-part';
import type { SharedEntry } from './shared-entry';
import { UNIT_US } from '../descriptor/unit';

/** The name of an `in_flight` limit without its own. */
export const IN_FLIGHT_NAME = 'in_flight';

/** The `in_flight` part of a rule. */
export interface InFlight {
  /** The last one of the rule's limits. */
  readonly limit: Limit;
  /** The entry whose value identifies a request. Absent: the slots of a bucket are interchangeable. */
  readonly id?: IdEntry;
  /** By level, what replaces an entry in the rule's bucket keys: the pattern of a shared entry, or only the key of the id. */
  readonly keyEntries: readonly (SharedEntry | undefined)[];
  /** The same for an override, which replaces the rule's limits and shares no buckets by pattern. */
  readonly overrideEntries: readonly (SharedEntry | undefined)[];
}

export interface IdEntry {
  /** Index among the entries of a descriptor. */
  readonly level: number;
  /** As configured. */
  readonly key: string;
}

export interface InFlightLimitSpec extends Pick<LimitTerms, 'failureMode' | 'responseHeaders' | 'responseBody'> {
  readonly max: number;
  readonly holdS: number;
  readonly name?: string | undefined;
}

/** `max` slots, each released after `holdS` at the latest. The caller checks the bounds of both. */
export function makeInFlightLimit(spec: InFlightLimitSpec): Limit {
  const { max, holdS, name = IN_FLIGHT_NAME, failureMode, responseHeaders, responseBody } = spec;
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
    ...(responseBody && { responseBody }),
  };
}

const reserved = new ByPart<InFlight, InFlight>(({ limit, id, keyEntries, overrideEntries }, part) => ({
  limit: reservedLimit(limit, part),
  keyEntries,
  overrideEntries,
  ...(id && { id }),
}));

/** Requests in flight that leave a part of the slots to other classes of a reserve. */
export function reservedInFlight(inFlight: InFlight, part: number): InFlight {
  return reserved.of(inFlight, part);
}
