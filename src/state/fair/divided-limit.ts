/** The shared bucket of a divided limit, its windows, and the level that the demand of a window makes. */

import { bucketKey, type KeyHeads } from '../../domain/bucket/bucket-key';
import { bucketEntries, sharedOf } from '../../domain/bucket/to-group';
import { weightOf, type Fair } from '../../domain/rule/fair/fair';
import { leaveRoom, waterLevel, type WaterLevel } from '../../domain/rule/fair/water-level';
import { windowName, type Limit } from '../../domain/rule/limit';
import type { DividedLimit } from '../../domain/rule/match';
import type { DemandCounts } from './demand-board';

/** The bucket key of the limit that members share, without `CACHE_KEY_PREFIX`. */
export function sharedBucket({ domain, hashTag, entries, match, limit }: DividedLimit, heads?: KeyHeads): string {
  const own = bucketEntries(entries, match, limit);
  return bucketKey({ prefix: '', domain, hashTag, entries: own, limit, shared: sharedOf(match), heads });
}

/** The limit as the rule has it: an override or a candidate of one member is not what all of them divide. */
export function configuredOf({ match, limit }: Pick<DividedLimit, 'match' | 'limit'>): Limit {
  const isOf = (own: Limit) => own.algorithm === limit.algorithm && windowName(own) === windowName(limit);
  return match.rule?.limits.find(isOf) ?? limit;
}

/** When the window of that time began. */
export function windowStartUs(timeUs: number, windowUs: number): number {
  return Math.floor(timeUs / windowUs) * windowUs;
}

/** Undefined: nobody asked for more than there is. */
export function levelOfDemand(
  { requestsPerUnit }: Pick<Limit, 'requestsPerUnit'>,
  fair: Fair,
  counts: DemandCounts,
): WaterLevel | undefined {
  const demands = Array.from(counts, ([member, hits]) => ({ hits: Math.min(hits, requestsPerUnit), weight: weightOf(fair, member) }));
  const level = waterLevel(requestsPerUnit, demands);
  return level && leaveRoom(level, requestsPerUnit);
}
