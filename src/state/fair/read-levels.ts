/** Reads what the limits of one request are divided by now, for a process that does not decide. */

import { isDivided } from '../../domain/rule/share';
import type { WaterLevel } from '../../domain/rule/fair/water-level';
import type { RateLimitRequest } from '../../domain/descriptor/descriptor';
import type { FairLevels, RequestMatch } from '../../domain/rule/match';
import type { DemandBoard } from './demand-board';
import { configuredOf, levelOfDemand, sharedBucket, windowStartUs } from './divided-limit';

export interface ReadLevelsInput {
  readonly request: RateLimitRequest;
  readonly matched: RequestMatch;
  readonly board: Pick<DemandBoard, 'read'>;
  readonly nowUs: number;
}

/** Rejects with a StoreError if the store cannot answer. */
export async function readLevels({ request, matched, board, nowUs }: ReadLevelsInput): Promise<FairLevels> {
  const levels = new Map<string, WaterLevel | undefined>();
  for (const [i, match] of matched.matches.entries()) {
    const { fair, limits } = match;
    const entries = request.descriptors[i]?.entries;
    if (fair === undefined || entries === undefined) continue;
    for (const limit of limits.filter(isDivided)) {
      const bucket = sharedBucket({ domain: request.domain, hashTag: matched.hashTag, entries, match, limit });
      if (levels.has(bucket)) continue;
      const { windowUs } = limit;
      const counts = await board.read({ bucket, startUs: windowStartUs(nowUs, windowUs) - windowUs, windowUs });
      levels.set(bucket, levelOfDemand(configuredOf({ match, limit }), fair, counts));
    }
  }
  return { version: 0, levelOf: (divided) => levels.get(sharedBucket(divided)) };
}
