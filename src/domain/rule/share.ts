/** Share: the limit of one member, beside the limit that all members share. */

import { SHARE_ALGORITHM, TRAITS, type Algorithm } from '../algorithm/algorithms';
import { UNIT_US } from '../descriptor/unit';
import { shareOf, type WaterLevel } from './fair/water-level';
import { isRateLimit, LIMIT_MAX, type Limit, type LimitTerms, type RateLimit } from './limit';

/** Shares follow what was asked for in the window before. After a longer window that says too little of the next one. */
const DIVIDED_WINDOW_US_MAX = UNIT_US.hour;

/** Whether members have shares of the limit. */
export function isDivided(limit: Limit): limit is RateLimit {
  const { role, windowUs } = limit;
  return role === undefined && windowUs <= DIVIDED_WINDOW_US_MAX && isRateLimit(limit) && TRAITS[limit.algorithm].restores !== 'never';
}

/** The name of the share of a limit without a name. */
const SHARE_NAME = 'fair_share';

/** Shares of a limit that are kept. Beyond them all are made again. */
const SHARES_MAX = 256;

const made = new WeakMap<Limit, Map<number, Limit>>();

/**
 * The limit of a member with that weight: the same object each time, because later steps know limits by their identity. Without a level it
 * lets pass all that the whole limit does. The whole limit decides too, so shares never admit more than it.
 */
export function shareLimit(whole: RateLimit, weight: number, level: WaterLevel | undefined): Limit {
  const all = hitsOfWindow(whole);
  const hits = level === undefined ? all : Math.min(all, shareOf(level, weight) + roundingOf(algorithmOf(whole)));
  let shares = made.get(whole);
  if (shares === undefined) made.set(whole, (shares = new Map<number, Limit>()));
  const known = shares.get(hits);
  if (known !== undefined) return known;
  if (shares.size >= SHARES_MAX) shares.clear();
  const share = makeShare(whole, hits, all);
  shares.set(hits, share);
  wholes.set(share, whole);
  return share;
}

function algorithmOf({ algorithm }: RateLimit): Algorithm {
  return TRAITS[algorithm].restores === 'evenly' ? SHARE_ALGORITHM : algorithm;
}

/** A sliding window that is full when a hit ends waits for it, and a counter rounds up: both may admit a hit less than their limit in a window. */
function roundingOf(algorithm: Algorithm): number {
  return TRAITS[algorithm].restores === 'in-window' ? 1 : 0;
}

/** The most hits of one member that the limit admits in a window, as its share counts them. */
function hitsOfWindow({ algorithm, capacity, requestsPerUnit }: RateLimit): number {
  return TRAITS[algorithm].restores === 'evenly' ? Math.min(LIMIT_MAX, capacity + requestsPerUnit) : capacity;
}

/** The limit of each share. */
const wholes = new WeakMap<Limit, Limit>();

/** The limit that the share is a part of; otherwise the limit itself. */
export function beforeShare(limit: Limit): Limit {
  return wholes.get(limit) ?? limit;
}

function makeShare(whole: RateLimit, hits: number, all: number): Limit {
  const { unit, unitMultiplier, windowUs, name, failureMode, responseHeaders, responseBody, reservations, show } = whole;
  const terms: LimitTerms = { failureMode, responseHeaders, responseBody, reservations, show };
  return {
    requestsPerUnit: hits,
    unit,
    unitMultiplier,
    name: name === '' ? SHARE_NAME : `${name}_${SHARE_NAME}`,
    algorithm: algorithmOf(whole),
    windowUs,
    capacity: hits,
    leases: 'off',
    role: 'share',
    ...terms,
    ...(whole.overdraft && { overdraft: { max: Math.min(LIMIT_MAX - hits, (whole.overdraft.max ?? whole.capacity) + all - hits) } }),
  };
}
