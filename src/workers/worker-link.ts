/** A worker's side of the line to the process that runs it. */

import { once } from 'node:events';
import type { FromWorker, MetricSnapshot, ToWorker, WorkerPorts } from './messages';

export interface WorkerLinkOptions {
  readonly readMetrics: () => Promise<MetricSnapshot>;
  /** Called once. */
  readonly onDrain: () => void;
}

/** Says that this worker could serve, and resolves when it may. */
export async function untilMayListen(): Promise<void> {
  tell({ kind: 'prepared' });
  // The first that is said: a drain is only told to those that serve.
  await once(process, 'message');
}

/** Says that this worker serves, and from now on does what it is told. */
export function linkWorker(ports: WorkerPorts, { readMetrics, onDrain }: WorkerLinkOptions): void {
  process.on('message', (message: ToWorker) => {
    if (message.kind === 'drain') onDrain();
    if (message.kind === 'read_metrics') void readMetrics().then((snapshot) => { tell({ kind: 'metrics', reading: message.reading, snapshot }); });
  });
  tell({ kind: 'ready', ports });
}

function tell(message: FromWorker): void {
  // Whoever runs this worker may have ended: then so does it.
  if (process.connected) process.send?.(message);
}
