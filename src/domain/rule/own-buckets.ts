/** Whether the limits of a rule count in buckets of their own. */

import { windowName, type Limit } from './limit';

/** False: two of the limits, or two of their candidates, have one algorithm and window, so they would share a bucket, where each hit would count twice. */
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
