/** The messages between the parent process and its workers. */

import type { ConfigNews } from '../../configuration/source/config-news';
import type { DocumentPart } from '../../configuration/yaml/text-pieces';
import type { Labels } from '../observability/metrics/count-table';
import type { TailSample } from '../observability/tail/tail-sample';
import type { MetricReading } from '../observability/metrics/metrics-snapshot';
import type { TailOrder } from './worker-tails';

/** The metrics of one process at one moment. */
export interface MetricSnapshot {
  /** Metrics with few series, in the form that prom-client merges. */
  readonly few: readonly MetricReading[];
  readonly columns: readonly ColumnCounts[];
}

/** A counter with a series for each row of a table. */
export interface ColumnCounts {
  readonly name: string;
  readonly help: string;
  readonly table: string;
  /** Counts by row of the table, in the order in which the worker sent the rows. */
  readonly counts: Float64Array;
}

export interface WorkerPorts {
  /** A port, or the path of a unix socket. */
  readonly grpc: number | string;
  readonly http: number;
}

export type ToWorker =
  | { readonly kind: 'config_part'; readonly part: DocumentPart }
  | { readonly kind: 'config'; readonly news: ConfigNews }
  | { readonly kind: 'listen' }
  /** All ports of Weir are bound: the worker may answer. */
  | { readonly kind: 'open' }
  | { readonly kind: 'drain' }
  /** The file of the decision log was renamed. */
  | { readonly kind: 'reopen_log' }
  | { readonly kind: 'read_metrics'; readonly reading: number }
  | TailOrder;

export type FromWorker =
  /** The worker has started and waits for the configuration. */
  | { readonly kind: 'begun' }
  /** The worker is ready to open its ports. */
  | { readonly kind: 'prepared' }
  /** The ports are bound. */
  | { readonly kind: 'ready'; readonly ports: WorkerPorts }
  /** A sample of a live tail. */
  | { readonly kind: 'sample'; readonly tail: number; readonly sample: TailSample }
  /** Label sets of a table; they follow those sent before. */
  | { readonly kind: 'metric_rows'; readonly table: string; readonly rows: readonly Labels[] }
  /** Without `reading` this is the final report of a worker that ends. */
  | { readonly kind: 'metrics'; readonly reading?: number; readonly snapshot: MetricSnapshot };
