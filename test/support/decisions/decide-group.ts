/** The decision on one group over states that a test keeps, with its writes in a list. */

import type { Group, GroupVerdict } from '../../../src/domain/bucket/take';
import { decideGroup as decide, type BucketWrite } from '../../../src/domain/decide/decide-group';
import type { BucketState } from '../../../src/domain/algorithm/algorithms';

export interface GroupDecision extends GroupVerdict {
  readonly writes: readonly BucketWrite[];
}

interface DecideGroupInput {
  readonly group: Group;
  readonly read: (bucketKey: string) => BucketState | undefined;
  readonly nowUs: number;
}

export function decideGroup({ group, read, nowUs }: DecideGroupInput): GroupDecision {
  const writes: BucketWrite[] = [];
  const buckets = {
    read,
    write: (bucketKey: string, state: BucketState | undefined, expiresAfterUs: number | undefined) => {
      writes.push({ bucketKey, ...(state !== undefined && { state }), ...(expiresAfterUs !== undefined && { expiresAfterUs }) });
    },
  };
  return { ...decide({ group, buckets, nowUs }), writes };
}
