/** The pool of worker processes: starts them one after the other, restarts those that end, and drains them together. */

import { backoffMs } from '../../lib/backoff';
import { asError } from '../../lib/errors';
import { partsOf } from '../../configuration/yaml/text-pieces';
import { event } from '../observability/log/log-event';
import type { Logger } from '../observability/log/logger';
import { withoutDocuments, type ConfigNews } from '../../configuration/source/config-news';
import type { FromWorker, ToWorker, WorkerPorts } from './messages';
import { WorkerStartError } from './worker-start-error';

/** Wait before a restart: doubles with each failure, up to the maximum. */
const RESTART = { firstMs: 100, maxMs: 5_000, factor: 2 };

/** A worker that lived this long resets the restart wait. */
const GOOD_MS = 10_000;

/** How long workers may live beyond their own drain before they are killed. */
const DRAIN_MARGIN_MS = 2_000;

/** How long the pool waits for unread messages of a worker that ended. */
const LAST_MESSAGES_MS_MAX = 1_000;

/** The part of node:cluster's worker that the pool uses. */
export interface WorkerProcess {
  readonly id: number;
  /** Without a pid the fork failed. */
  readonly process: { readonly pid?: number | undefined };
  send(message: ToWorker): unknown;
  isConnected(): boolean;
  kill(signal: NodeJS.Signals): void;
  on(event: 'message', listener: (message: FromWorker) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  once(event: 'exit', listener: (code: number | null, signal: string | null) => void): unknown;
  once(event: 'disconnect', listener: () => void): unknown;
}

export interface WorkerPoolOptions {
  readonly count: number;
  /** Throws, or returns a worker without a process that emits an error, if the fork fails. `place`: its number from 1 among the workers that run. */
  readonly fork: (place: number) => WorkerProcess;
  readonly log: Pick<Logger, 'error'>;
  readonly onMetrics: (worker: number, counts: Extract<FromWorker, { kind: 'metrics' | 'metric_rows' }>) => void;
  readonly onSample: (tail: number, sample: Extract<FromWorker, { kind: 'sample' }>['sample']) => void;
  /** The worker serves from now on. */
  readonly onServing: (worker: number) => void;
  /** No message of the worker follows. */
  readonly onEnd: (worker: number) => void;
  readonly onRestart: () => void;
  /** The whole state of the configuration, for a worker that has just started. */
  readonly configNews: () => ConfigNews;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

interface Running {
  readonly process: WorkerProcess;
  readonly place: number;
  readonly begunMs: number;
  readonly exited: Promise<void>;
}

interface Begun {
  readonly id: number;
  /** Resolves when the worker is ready to open its ports. */
  readonly prepared: Promise<void>;
  readonly ready: Promise<WorkerPorts>;
}

export class WorkerPool {
  private readonly running = new Map<number, Running>();
  private readonly serving = new Set<number>();
  private readonly restarts = new Set<NodeJS.Timeout>();
  /** The workers of the start, until they have bound their ports. */
  private readonly first: Begun[] = [];
  private failures = 0;
  private isStarted = false;
  private isOpen = false;
  private isEnding = false;

  constructor(private readonly options: WorkerPoolOptions) {}

  /** The number of workers that serve now. */
  get size(): number {
    return this.serving.size;
  }

  /**
   * Starts the workers, and resolves when all are ready to bind their ports.
   *
   * @throws WorkerStartError if one ended before that; then all are stopped
   */
  async start(): Promise<void> {
    await this.orEnd(async () => {
      for (let missing = this.options.count; missing > 0; missing -= 1) this.first.push(this.begin());
      await Promise.all(this.first.map(({ prepared }) => prepared));
    });
  }

  /**
   * Resolves when all workers have bound the ports that they share.
   *
   * @throws WorkerStartError if one ended before that; then all are stopped
   */
  async listen(): Promise<WorkerPorts> {
    return this.orEnd(async () => {
      // They bind one after the other: an error that keeps the first from its ports keeps all, and is logged once.
      let ports: WorkerPorts | undefined;
      for (const worker of this.first.splice(0)) ports = await this.bind(worker);
      if (ports === undefined) throw new Error('a pool without workers');
      this.isStarted = true;
      return ports;
    });
  }

  /** Lets all workers answer, also those that start later. */
  open(): void {
    this.isOpen = true;
    this.publish({ kind: 'open' });
  }

  private async orEnd<T>(start: () => Promise<T>): Promise<T> {
    try {
      return await start();
    } catch (error) {
      await this.end((worker) => {
        worker.kill('SIGKILL');
      });
      throw error;
    }
  }

  /** Requests the metrics of all serving workers; returns their number. */
  readMetrics(reading: number): number {
    return this.send([...this.serving], { kind: 'read_metrics', reading });
  }

  /** Sends a message to all serving workers, or to one of them. */
  publish(message: ToWorker, worker?: number): void {
    this.send(worker === undefined ? [...this.serving] : [worker], message);
  }

  /** Sends the configuration to all workers that have started. A new one requests it itself. */
  publishConfig(news: ConfigNews): void {
    this.sendConfig([...this.running.keys()], news);
  }

  /** Sends the documents in parts, so that the workers answer calls between them. */
  private sendConfig(ids: readonly number[], news: ConfigNews): void {
    for (const document of news.inForce?.set.documents ?? []) {
      for (const part of partsOf(document)) this.send(ids, { kind: 'config_part', part });
    }
    this.send(ids, { kind: 'config', news: withoutDocuments(news) });
  }

  /** Drains all workers, and kills those left after `timeoutMs` and a margin. */
  async drain({ timeoutMs }: { readonly timeoutMs: number }): Promise<void> {
    const timer = setTimeout(() => {
      for (const { process: worker } of this.running.values()) worker.kill('SIGKILL');
    }, timeoutMs + DRAIN_MARGIN_MS);
    await this.end((worker) => {
      // A worker that does not serve yet has nothing to drain.
      if (this.serving.has(worker.id)) this.send([worker.id], { kind: 'drain' });
      else worker.kill('SIGKILL');
    });
    clearTimeout(timer);
  }

  private async end(how: (worker: WorkerProcess) => void): Promise<void> {
    this.isEnding = true;
    for (const timer of this.restarts) clearTimeout(timer);
    this.restarts.clear();
    const ending = [...this.running.values()];
    for (const { process: worker } of ending) how(worker);
    await Promise.all(ending.map(({ exited }) => exited));
  }

  /** @throws WorkerStartError */
  private begin(): Begun {
    const place = this.freePlace();
    const worker = this.fork(place);
    const ended = new Promise<never>((_, reject) => {
      worker.on('error', (error) => {
        // Otherwise 'exit' follows and is handled.
        if (worker.process.pid !== undefined || !this.running.has(worker.id)) return;
        const failure = WorkerStartError.ofFork(error);
        this.onEnd(worker.id, failure.message);
        reject(failure);
      });
      worker.once('exit', (code, signal) => {
        onceDisconnected(worker, () => {
          this.onEnd(worker.id, `worker ${worker.id} ended (${signal ?? `exit code ${code ?? 'unknown'}`})`);
          reject(new WorkerStartError(code ?? 1));
        });
      });
    });
    const exited = ended.catch(() => undefined);
    const prepared = new Promise<void>((resolve) => {
      worker.on('message', ({ kind }) => {
        if (kind === 'begun') this.sendConfig([worker.id], this.options.configNews());
        if (kind === 'prepared') resolve();
      });
    });
    const ready = new Promise<WorkerPorts>((resolve) => {
      worker.on('message', (message) => {
        const isCounts = message.kind === 'metrics' || message.kind === 'metric_rows';
        if (isCounts && this.running.has(worker.id)) this.options.onMetrics(worker.id, message);
        if (message.kind === 'sample') this.options.onSample(message.tail, message.sample);
        if (message.kind !== 'ready') return;
        this.serving.add(worker.id);
        if (this.isOpen) this.publish({ kind: 'open' }, worker.id);
        this.options.onServing(worker.id);
        resolve(message.ports);
      });
    });
    this.running.set(worker.id, { process: worker, place, begunMs: this.options.nowMs(), exited });
    const begun = { id: worker.id, prepared: Promise.race([prepared, ended]), ready: Promise.race([ready, ended]) };
    // The promise that somebody awaits reports the end; the other must not become an unhandled rejection.
    for (const promise of [begun.prepared, begun.ready]) promise.catch(() => undefined);
    return begun;
  }

  /** A worker takes the place of one that ended, and goes on with its file. */
  private freePlace(): number {
    const taken = new Set([...this.running.values()].map(({ place }) => place));
    let place = 1;
    while (taken.has(place)) place += 1;
    return place;
  }

  private fork(place: number): WorkerProcess {
    try {
      return this.options.fork(place);
    } catch (error) {
      throw WorkerStartError.ofFork(error);
    }
  }

  private bind({ id, ready }: Begun): Promise<WorkerPorts> {
    this.send([id], { kind: 'listen' });
    return ready;
  }

  private restart(): void {
    this.options.onRestart();
    let worker: Begun;
    try {
      worker = this.begin();
    } catch (error) {
      this.restartLater(asError(error).message, { isGood: false });
      return;
    }
    // A worker that fails to serve ends, which starts the next one.
    worker.prepared.then(() => this.bind(worker)).catch(() => undefined);
  }

  private onEnd(id: number, what: string): void {
    const begunMs = this.running.get(id)?.begunMs ?? 0;
    this.running.delete(id);
    this.serving.delete(id);
    this.options.onEnd(id);
    if (this.isEnding || !this.isStarted) return;
    this.restartLater(what, { isGood: this.options.nowMs() - begunMs >= GOOD_MS });
  }

  private restartLater(what: string, { isGood }: { readonly isGood: boolean }): void {
    this.failures = isGood ? 0 : this.failures + 1;
    const waitMs = backoffMs({ ...RESTART, failures: this.failures });
    this.options.log.error(event('worker_ended', { waitMs }), `${what}; restart in ${waitMs} ms`);
    const timer = setTimeout(() => {
      this.restarts.delete(timer);
      this.restart();
    }, waitMs);
    this.restarts.add(timer);
  }

  private send(ids: readonly number[], message: ToWorker): number {
    const receivers = ids.map((id) => this.running.get(id)?.process).filter((worker) => worker?.isConnected() === true);
    for (const worker of receivers) worker?.send(message);
    return receivers.length;
  }
}

/** Runs `then` once all messages of a worker that ended are read: its channel closes after the last one. */
function onceDisconnected(worker: WorkerProcess, then: () => void): void {
  if (!worker.isConnected()) {
    then();
    return;
  }
  let isOver = false;
  const finish = (): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    then();
  };
  const timer = setTimeout(finish, LAST_MESSAGES_MS_MAX);
  worker.once('disconnect', finish);
}
