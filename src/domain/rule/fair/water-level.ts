/**
 * Weighted max-min fairness, by filling with water: each member gets what it asks for, or its weight's part of the level, whichever is
 * less, and the level is as high as the capacity lets it be (Bertsekas and Gallager, Data Networks, section 6.5.2).
 */

import { multiplyDivide } from '../../algorithm/arithmetic';

/** The hits that one member asks for, and its weight. */
export interface Demand {
  readonly hits: number;
  readonly weight: number;
}

/** The level for a member of weight 1 is `hits` / `weight`; kept as two whole numbers, so that no share is rounded twice. */
export interface WaterLevel {
  /** Hits that are left to those who ask for more than their share. */
  readonly hits: number;
  /** The sum of their weights. */
  readonly weight: number;
}

/** Undefined: there is enough for all. */
export function waterLevel(capacity: number, demands: readonly Demand[]): WaterLevel | undefined {
  let hits = capacity;
  let weight = demands.reduce((sum, demand) => sum + demand.weight, 0);
  for (const demand of [...demands].sort((a, b) => a.hits / a.weight - b.hits / b.weight)) {
    if (demand.weight < weight && demand.hits > multiplyDivide(demand.weight, hits, weight).quotient) return { hits, weight };
    if (demand.hits > hits) return { hits, weight };
    hits -= demand.hits;
    weight -= demand.weight;
  }
  return undefined;
}

/** Members that ask for more than their share leave at most this part of it. */
const ROOM_PARTS = 25;

/**
 * One window is a sample of the demand. Members that ask for little may ask for more in the next window, and members that ask for
 * everything would use it before them. So the latter leave room for one standard deviation of random arrivals, and never more than 4 % of their hits.
 */
export function leaveRoom({ hits, weight }: WaterLevel, capacity: number): WaterLevel {
  const room = Math.min(Math.ceil(Math.sqrt(capacity - hits)), Math.floor(hits / ROOM_PARTS));
  return { hits: hits - room, weight };
}

/**
 * The share of a member, rounded up: if more ask than there are hits, each may still have one, and the limit itself decides who gets it.
 * A weight above that of all who ask for more counts as theirs.
 */
export function shareOf({ hits, weight: all }: WaterLevel, weight: number): number {
  if (weight >= all) return hits;
  const { quotient, remainder } = multiplyDivide(weight, hits, all);
  return quotient + (remainder > 0 ? 1 : 0);
}
