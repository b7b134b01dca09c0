/** Measures the commands of a store for the metrics. */

import type { StoreMeasure } from '../../../state/store/layers/measured-store';
import type { Metrics } from './metrics';

/** `store` is the label: `memory`, `redis` or `redis_per_second`. */
export function measureStore({ storeLatency, storeErrors }: Pick<Metrics, 'storeLatency' | 'storeErrors'>, store: string): StoreMeasure {
  const latencies = storeLatency.with({ store });
  return {
    onCall: (seconds) => {
      latencies.observe(seconds);
    },
    onError: (reason) => {
      storeErrors.inc({ store, reason });
    },
  };
}
