/** What the process that runs workers and a worker say to one another. */

import type { ConfigProblem } from '../config/config-error';
import type { ConfigSet } from '../config/rules-in-force';
import type { MetricReading } from '../observability/reading';

/** What one process counts, as prom-client gives it to be merged with others. */
export type MetricSnapshot = readonly MetricReading[];

export interface WorkerPorts {
  /** Or the path of a unix socket. */
  readonly grpc: number | string;
  readonly http: number;
}

/** Of the one process that looks for the configuration, to all. */
export interface ConfigNews {
  /** To be in force from now on; absent: what is in force stays. */
  readonly inForce?: { readonly set: ConfigSet; readonly generation: number };
  /** What was loaded last is not in force. */
  readonly refused?: { readonly problems: readonly ConfigProblem[]; readonly omitted: number };
}

export type ToWorker =
  | { readonly kind: 'config'; readonly news: ConfigNews }
  | { readonly kind: 'listen' }
  | { readonly kind: 'drain' }
  | { readonly kind: 'read_metrics'; readonly reading: number };

export type FromWorker =
  /** It has begun, and waits for the configuration. */
  | { readonly kind: 'begun' }
  /** All is there but the ports. */
  | { readonly kind: 'prepared' }
  | { readonly kind: 'ready'; readonly ports: WorkerPorts }
  /** Without a reading nobody has asked: it is what a worker that ends has counted in all. */
  | { readonly kind: 'metrics'; readonly reading?: number; readonly snapshot: MetricSnapshot };
