/** What the process that runs workers and a worker say to one another. */

/** What one process counts, as prom-client gives it to be merged with others. */
export type MetricSnapshot = readonly MetricSeries[];

export interface MetricSeries {
  readonly name: string;
  readonly type: string;
}

export interface WorkerPorts {
  readonly grpc: number;
  readonly http: number;
}

export type ToWorker =
  | { readonly kind: 'listen' }
  | { readonly kind: 'drain' }
  | { readonly kind: 'read_metrics'; readonly reading: number };

export type FromWorker =
  /** All is there but the ports. */
  | { readonly kind: 'prepared' }
  | { readonly kind: 'ready'; readonly ports: WorkerPorts }
  | { readonly kind: 'metrics'; readonly reading: number; readonly snapshot: MetricSnapshot };
