/** Makes the limits of one class of a reserve: the same rate and the same bucket, but a capacity without what it may not use. */

import type { InFlight } from '../in-flight';
import type { Limit } from '../limit';
import { reservedHits } from './reserve';

/** By the limit, then by the part that is kept: the same object each time, because a store folds takes whose limits are the same object. */
const limitsOf = new WeakMap<Limit, Map<number, Limit>>();
const listsOf = new WeakMap<readonly Limit[], Map<number, readonly Limit[]>>();
const inFlightOf = new WeakMap<Limit, InFlight>();

/** The limit of each limit that was made. */
const wholes = new WeakMap<Limit, Limit>();

export function reservedLimits(limits: readonly Limit[], part: number): readonly Limit[] {
  const known = listsOf.get(limits)?.get(part);
  if (known !== undefined) return known;
  const made = limits.map((limit) => reservedLimit(limit, part));
  keep(listsOf, limits, part, made);
  return made;
}

/** Requests in flight, whose limit is one of those of `reservedLimits`. */
export function reservedInFlight(inFlight: InFlight, part: number): InFlight {
  const limit = reservedLimit(inFlight.limit, part);
  const known = inFlightOf.get(limit);
  if (known !== undefined) return known;
  const { id, keyEntries, overrideEntries } = inFlight;
  const made = { limit, keyEntries, overrideEntries, ...(id && { id }) };
  inFlightOf.set(limit, made);
  return made;
}

/**
 * States hold used hits, and the rate stays, so a smaller capacity decides nothing but whether a take fits: it does if what is reserved is
 * left after it. A lease would have hits of the reserve for everyone, so there is none.
 */
function reservedLimit(limit: Limit, part: number): Limit {
  const known = limitsOf.get(limit)?.get(part);
  if (known !== undefined) return known;
  const { capacity, candidate, ...others } = limit;
  const reserved = reservedHits(capacity, part);
  const made: Limit = {
    capacity: capacity - reserved,
    ...others,
    leases: 'off',
    ...(reserved > 0 && { reserved }),
    ...(candidate && { candidate: reservedLimit(candidate, part) }),
  };
  keep(limitsOf, limit, part, made);
  wholes.set(made, limit);
  return made;
}

/** The limit of which a limit leaves a part to others; otherwise the limit itself. */
export function beforeReserve(limit: Limit): Limit {
  return wholes.get(limit) ?? limit;
}

function keep<Key extends object, Value>(known: WeakMap<Key, Map<number, Value>>, key: Key, part: number, value: Value): void {
  const ofKey = known.get(key);
  if (ofKey === undefined) known.set(key, new Map([[part, value]]));
  else ofKey.set(part, value);
}
