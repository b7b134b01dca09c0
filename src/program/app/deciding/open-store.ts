/** Opens the store of a process that decides: embedded, or in Redis. */

import { monotonicNowUs } from '../../../lib/clock';
import type { Health } from '../../../server/observability/health';
import type { Metrics } from '../../../server/observability/metrics/metrics';
import { measureStore } from '../../../server/observability/metrics/store-measure';
import { MemoryReservations } from '../../../state/reservation/memory-reservations';
import { MeasuredStore } from '../../../state/store/layers/measured-store';
import type { MemoryStore } from '../../../state/store/memory/memory-store';
import { KEPT_FOR_REDIS, type DecidingProcess } from '../context/memory-store';
import { countLapsed } from './open-reservations';
import type { OpenedStore } from './open-redis-store';

/** Bound of the embedded store: about 60 MB if full. */
const MEMORY_RESERVATIONS_MAX = 100_000;
const MEMORY_RESERVATIONS_BYTES_MAX = 64 * 1024 * 1024;

interface OpenStoreInput extends DecidingProcess {
  readonly health: Health;
  readonly metrics: Metrics;
  readonly memoryStore: MemoryStore;
}

export async function openStore({
  settings,
  storeChoice: choice,
  workers,
  log,
  health,
  metrics,
  memoryStore,
}: OpenStoreInput): Promise<OpenedStore> {
  if (choice.kind === 'memory') return openMemoryStore(memoryStore, metrics);
  // Imported on demand: the Redis client and its wrappers take about 11 MB, which the embedded store does not need.
  const { openRedisStore } = await import('./open-redis-store.js');
  return openRedisStore({
    settings,
    workers,
    choice,
    health,
    log,
    metrics,
    local: memoryStore,
    onLapsed: countLapsed(metrics),
    ...KEPT_FOR_REDIS,
  });
}

function openMemoryStore(memoryStore: MemoryStore, metrics: Metrics): OpenedStore {
  return {
    store: new MeasuredStore(memoryStore, measureStore(metrics, 'memory')),
    reservations: new MemoryReservations({
      store: memoryStore,
      nowUs: monotonicNowUs,
      recordsMax: MEMORY_RESERVATIONS_MAX,
      bytesMax: MEMORY_RESERVATIONS_BYTES_MAX,
      onLapsed: countLapsed(metrics),
    }),
    leave: () => Promise.resolve(),
  };
}
