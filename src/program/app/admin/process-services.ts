/** The services that the deciding process offers to the thread of the admin API. */

import type { InstanceFacts } from '../../../state/instances/instance-facts';
import type { ProcessServices } from '../../../administration/admin/link/messages';
import { MemoryBuckets } from '../../../administration/admin/memory-buckets';
import { AdminProblem } from '../../../administration/admin/problem';
import type { ControlStore } from '../../../state/control/control-store';
import { UnavailableError } from '../../../lib/errors';
import type { MemoryStore } from '../../../state/store/memory/memory-store';
import type { MetricReading } from '../../../server/observability/metrics/metrics-snapshot';
import type { DemandReads, EventReads, RolloutReads } from '../../../administration/admin/backend';
import type { TopKeys } from '../../../state/top/top-keys';
import { countsPort } from '../../../administration/admin/live/read-counts';
import type { OpenedStore } from '../deciding/open-redis-store';

export interface ProcessServicesInput extends Pick<OpenedStore, 'forget'> {
  /** Undefined: the buckets are in Redis. */
  readonly memoryStore: MemoryStore | undefined;
  /** Undefined: the control data are in Redis. */
  readonly control: ControlStore | undefined;
  /** Undefined: rollouts are counted in Redis. */
  readonly rollouts: RolloutReads | undefined;
  /** Undefined: the demand of members is in Redis. */
  readonly demand: DemandReads | undefined;
  /** Undefined: there are none, or they are in Redis. */
  readonly events: EventReads | undefined;
  readonly topKeys: TopKeys | undefined;
  /** Undefined: decisions are made in other processes. */
  readonly facts: (() => InstanceFacts) | undefined;
  readonly keyPrefix: string;
  /** All metrics, of all workers. */
  readonly readMetrics: () => Promise<readonly MetricReading[]>;
}

export function processServices({
  memoryStore,
  control,
  rollouts,
  demand,
  events,
  topKeys,
  facts,
  forget,
  keyPrefix,
  readMetrics,
}: ProcessServicesInput): ProcessServices {
  const inRedis = (): Promise<never> => Promise.reject(new Error('the thread of the admin API has its own connection to Redis'));
  return {
    buckets:
      memoryStore === undefined ? { take: inRedis, reset: inRedis, list: inRedis } : new MemoryBuckets({ store: memoryStore, keyPrefix }),
    control: control ?? { read: inRedis, scan: inRedis, write: inRedis, audit: inRedis, changesAfter: inRedis, discardLost: inRedis },
    rollouts: rollouts ?? { read: inRedis },
    demand: demand ?? { read: inRedis },
    events: events ?? { read: inRedis },
    top: topKeys ?? {
      top: () => Promise.reject(new AdminProblem('not-supported', 'this process counts no top keys')),
    },
    live: countsPort(readMetrics),
    process: {
      facts: () => (facts === undefined ? Promise.reject(new UnavailableError('this process does not decide')) : Promise.resolve(facts())),
      forget: (bucketKeys) => {
        forget?.(bucketKeys);
        return Promise.resolve();
      },
    },
  };
}
