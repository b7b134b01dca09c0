/** Makes the embedded store of one process that decides, in the service and in the library. */

import type { Settings } from '../../../configuration/settings/table/settings';
import type { StoreChoice } from '../../../configuration/settings/redis/store-choice';
import { monotonicNowMs, monotonicNowUs } from '../../../lib/clock';
import { ForgetLog } from '../../../server/observability/log/forget-log';
import type { Logger } from '../../../server/observability/log/logger';
import { MemoryStore } from '../../../state/store/memory/memory-store';

/** Bounds of what is kept to decide without Redis and to charge it afterwards: about 90 MB if full. */
export const KEPT_FOR_REDIS = { lastKnownMax: 65_536, accountsMax: 50_000 } as const;
/** More than accounts plus takes being decided, so that no bucket with an account is evicted. */
const FALLBACK_BUCKETS_MAX = 2 * KEPT_FOR_REDIS.accountsMax;

export interface DecidingProcess {
  readonly settings: Settings;
  readonly storeChoice: StoreChoice;
  /** The number of deciding processes with these settings on this machine. */
  readonly workers: number;
  readonly log: Logger;
}

interface MemoryStoreInput extends Pick<DecidingProcess, 'settings' | 'storeChoice' | 'log'> {
  /** Default: the clock of the process. */
  readonly nowUs?: () => number;
}

/** The embedded store. With Redis it decides only during an outage, as the failure modes say. */
export function makeMemoryStore({ nowUs = monotonicNowUs, ...process }: MemoryStoreInput): MemoryStore {
  return process.storeChoice.kind === 'memory'
    ? makeEmbeddedStore(process, nowUs)
    : new MemoryStore({ nowUs, bucketsMax: FALLBACK_BUCKETS_MAX });
}

function makeEmbeddedStore({ settings, log }: Pick<DecidingProcess, 'settings' | 'log'>, nowUs: () => number): MemoryStore {
  const bucketsMax = settings.memoryBucketsMax;
  const forgetLog = new ForgetLog({ log, bucketsMax, nowMs: monotonicNowMs });
  const store: MemoryStore = new MemoryStore({
    nowUs,
    bucketsMax,
    onForgotten: (forgotten) => {
      forgetLog.forgotten(forgotten, store);
    },
  });
  return store;
}
