/** A worker's side of the line to the process that runs it. */

import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '../config/config-error';
import type { RulesInForce } from '../config/rules-in-force';
import type { ConfigNews, FromWorker, MetricSnapshot, ToWorker, WorkerPorts } from './messages';

/** How long a worker that ends may take to say what it has counted, in milliseconds. */
const LAST_METRICS_MS = 500;

/** What a worker that serves is asked for. */
export interface WorkerDuties {
  readonly readMetrics: () => Promise<MetricSnapshot>;
  /** Called once. */
  readonly onDrain: () => void;
}

export class WorkerLink {
  private duties: WorkerDuties | undefined;
  private readonly told: Promise<void>;
  private readonly mayListen: Promise<void>;

  /** Says that this worker has begun. Whatever configuration it is told of from now on comes to the rules. */
  constructor(rules: RulesInForce) {
    let onTold: () => void;
    let onListen: () => void;
    this.told = new Promise((resolve) => { onTold = resolve; });
    this.mayListen = new Promise((resolve) => { onListen = resolve; });
    process.on('message', (message: ToWorker) => {
      if (message.kind === 'config') void take(rules, message.news).then(onTold);
      if (message.kind === 'listen') onListen();
      if (message.kind === 'drain') this.duties?.onDrain();
      if (message.kind === 'read_metrics') this.readMetrics(message.reading);
    });
    void tell({ kind: 'begun' });
  }

  /** Resolves when this worker goes by what is in force, if anything is. */
  untilConfigured(): Promise<void> {
    return this.told;
  }

  /** Says that this worker could serve, and resolves when it may. */
  untilMayListen(): Promise<void> {
    void tell({ kind: 'prepared' });
    return this.mayListen;
  }

  /** Says that this worker serves, and from now on does what it is told. */
  serve(ports: WorkerPorts, duties: WorkerDuties): void {
    this.duties = duties;
    void tell({ kind: 'ready', ports });
  }

  /** Says what this worker has counted in all, before it ends. Resolves when that is said, or can't be in time. */
  async sayLast(): Promise<void> {
    const said = this.duties?.readMetrics().then((snapshot) => tell({ kind: 'metrics', snapshot }));
    await Promise.race([said, sleep(LAST_METRICS_MS, undefined, { ref: false })]);
  }

  private readMetrics(reading: number): void {
    void this.duties?.readMetrics().then((snapshot) => tell({ kind: 'metrics', reading, snapshot }));
  }
}

/** What comes first is decided first: the rules see to that. */
async function take(rules: RulesInForce, { inForce, refused }: ConfigNews): Promise<void> {
  const taken = inForce && rules.offer(inForce.set, { generation: inForce.generation });
  if (refused !== undefined) rules.refuse(new ConfigError(refused.problems, refused.omitted));
  await taken;
}

/** Resolves when it is on its way. */
function tell(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    // Whoever runs this worker may have ended: then so does it.
    if (process.connected) process.send?.(message, undefined, undefined, () => { resolve(); });
    else resolve();
  });
}
