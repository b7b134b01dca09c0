/** A worker's connection to its parent process. */

import { setTimeout as sleep } from 'node:timers/promises';
import { takeConfigNews } from '../../configuration/source/config-news';
import type { RulesInForce } from '../../configuration/source/rules-in-force';
import { DocumentCollector } from '../../configuration/yaml/text-pieces';
import type { MetricReading } from '../observability/metrics/metrics-snapshot';
import type { TailSource } from '../observability/tail/tail-sample';
import type { FromWorker, ToWorker, WorkerPorts } from './messages';
import { WorkerCounts } from './worker-counts';

/** The environment variable of a worker with its number. */
export const WORKER_PLACE = 'WEIR_WORKER_PLACE';

/** How long a worker that ends may take to send its final counts, in milliseconds. */
const LAST_METRICS_MS = 500;

/** The actions of a serving worker at the request of its parent. */
export interface WorkerDuties {
  readonly readMetrics: () => Promise<readonly MetricReading[]>;
  readonly tail: TailSource;
  /** Answers calls from now on. Called once. */
  readonly onOpen: () => void;
  /** Called once. */
  readonly onDrain: () => void;
  /** The file of the decision log was renamed. */
  readonly onReopenLog: () => void;
}

export class WorkerLink {
  private duties: WorkerDuties | undefined;
  private readonly counts = new WorkerCounts(send);
  private readonly configured: Promise<void>;
  private readonly mayListen: Promise<void>;

  /** Reports that this worker has started. From now on every configuration from the parent goes to the rules. */
  constructor(rules: RulesInForce) {
    let onConfigured: () => void;
    let onListen: () => void;
    this.configured = new Promise((resolve) => {
      onConfigured = resolve;
    });
    this.mayListen = new Promise((resolve) => {
      onListen = resolve;
    });
    const parts = new DocumentCollector();
    process.on('message', (message: ToWorker) => {
      if (message.kind === 'config_part') parts.add(message.part);
      if (message.kind === 'config') void takeConfigNews(rules, { ...message.news, documents: parts.take() }).then(onConfigured);
      if (message.kind === 'listen') onListen();
      if (message.kind === 'open') this.duties?.onOpen();
      if (message.kind === 'drain') this.duties?.onDrain();
      if (message.kind === 'reopen_log') this.duties?.onReopenLog();
      if (message.kind === 'read_metrics') this.readMetrics(message.reading);
      if (message.kind === 'tail') this.openTail(message);
      if (message.kind === 'tail_end') this.duties?.tail.close(message.tail);
    });
    void send({ kind: 'begun' });
  }

  /** Resolves once the first message about the configuration is applied. */
  untilConfigured(): Promise<void> {
    return this.configured;
  }

  /** Reports that this worker is ready, and resolves when the parent lets it listen. */
  untilMayListen(): Promise<void> {
    void send({ kind: 'prepared' });
    return this.mayListen;
  }

  /** Reports that the ports are bound, and begins to obey the parent. */
  serve(ports: WorkerPorts, duties: WorkerDuties): void {
    this.duties = duties;
    void send({ kind: 'ready', ports });
  }

  /** Sends the final counts of this worker. Resolves when they are sent, or after the timeout. */
  async sendLast(): Promise<void> {
    const sent = this.duties?.readMetrics().then((readings) => this.counts.report(readings));
    await Promise.race([sent, sleep(LAST_METRICS_MS, undefined, { ref: false })]);
  }

  private openTail({ tail, filter }: Extract<ToWorker, { kind: 'tail' }>): void {
    this.duties?.tail.open(tail, filter, (sample) => {
      void send({ kind: 'sample', tail, sample });
    });
  }

  private readMetrics(reading: number): void {
    void this.duties?.readMetrics().then((readings) => this.counts.report(readings, reading));
  }
}

/** Resolves when the message is sent. */
function send(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    // Without a parent the process is about to end, so the message is dropped.
    if (process.connected)
      process.send?.(message, undefined, undefined, () => {
        resolve();
      });
    else resolve();
  });
}
