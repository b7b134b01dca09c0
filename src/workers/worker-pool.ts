/** The processes that serve: begun one after the other, begun anew when one ends, ended together. */

import { backoffMs } from '../backoff';
import { asError } from '../errors';
import type { Logger } from '../observability/logger';
import type { ConfigNews, FromWorker, ToWorker, WorkerPorts } from './messages';

/** Before a worker that has ended is begun anew: doubled each time, up to the longest. */
const RESTART = { firstMs: 100, maxMs: 5_000, factor: 2 };

/** A worker that lived so long was a good one: the waits begin anew after it. */
const GOOD_MS = 10_000;

/** How long workers have beyond their own drain, before they are killed. */
const DRAIN_MARGIN_MS = 2_000;

/** How long is waited for what a worker that has ended had still to say. */
const HEARD_MS_MAX = 1_000;

/** The part of a worker of node:cluster that is used here. */
export interface WorkerProcess {
  readonly id: number;
  /** Without a pid there is no such process: it could not be begun. */
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
  /** Throws, or answers a worker that tells of an error and has no process, if none can be begun. */
  readonly fork: () => WorkerProcess;
  readonly log: Pick<Logger, 'error'>;
  readonly onMetrics: (worker: number, counts: Omit<Extract<FromWorker, { kind: 'metrics' }>, 'kind'>) => void;
  /** Nothing is heard of it after this. */
  readonly onEnd: (worker: number) => void;
  readonly onRestart: () => void;
  /** All that a worker that has just begun must know of the configuration. */
  readonly configNews: () => ConfigNews;
  /** A clock that is never set, in milliseconds. */
  readonly nowMs: () => number;
}

/** A worker ended before it served, and has said why; or it could not be begun at all. */
export class WorkerStartError extends Error {
  override readonly name = 'WorkerStartError';

  constructor(
    readonly exitCode: number,
    what = `a worker ended with exit code ${exitCode} before it served`,
  ) {
    super(what);
  }

  static ofFork(error: unknown): WorkerStartError {
    return new WorkerStartError(1, `a worker could not be begun: ${asError(error).message}`);
  }
}

interface Running {
  readonly process: WorkerProcess;
  readonly begunMs: number;
  readonly exited: Promise<void>;
}

interface Begun {
  readonly id: number;
  /** All is there but the ports. */
  readonly prepared: Promise<void>;
  readonly ready: Promise<WorkerPorts>;
}

export class WorkerPool {
  private readonly running = new Map<number, Running>();
  private readonly serving = new Set<number>();
  private readonly restarts = new Set<NodeJS.Timeout>();
  private failures = 0;
  private isStarted = false;
  private isEnding = false;

  constructor(private readonly options: WorkerPoolOptions) {}

  /** Workers that serve just now. */
  get size(): number {
    return this.serving.size;
  }

  /**
   * Resolves when all serve; the ports are those of each.
   *
   * @throws WorkerStartError if one ended before it did; then none is left
   */
  async start(): Promise<WorkerPorts> {
    const begun: Begun[] = [];
    try {
      for (let missing = this.options.count; missing > 0; missing -= 1) begun.push(this.begin());
      await Promise.all(begun.map(({ prepared }) => prepared));
      // All at one time, or the first would have all the connections of those who wait. But one after the other: what
      // keeps the first from its ports keeps all, and is told once.
      let ports: WorkerPorts | undefined;
      for (const worker of begun) ports = await this.listen(worker);
      if (ports === undefined) throw new Error('a pool without workers');
      this.isStarted = true;
      return ports;
    } catch (error) {
      await this.end((worker) => { worker.kill('SIGKILL'); });
      throw error;
    }
  }

  /** Asks all that serve what they count; how many were asked. */
  readMetrics(reading: number): number {
    return this.tell([...this.serving], { kind: 'read_metrics', reading });
  }

  /** A worker that has not begun yet asks for itself. */
  tellConfig(news: ConfigNews): void {
    this.tell([...this.running.keys()], { kind: 'config', news });
  }

  /** All drain; after `timeoutMs` and a margin those that are left are killed. */
  async drain({ timeoutMs }: { readonly timeoutMs: number }): Promise<void> {
    const timer = setTimeout(() => {
      for (const { process: worker } of this.running.values()) worker.kill('SIGKILL');
    }, timeoutMs + DRAIN_MARGIN_MS);
    await this.end((worker) => {
      // One that does not serve yet has nothing to drain.
      if (this.serving.has(worker.id)) this.tell([worker.id], { kind: 'drain' });
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
    const worker = this.fork();
    const ended = new Promise<never>((_, reject) => {
      worker.on('error', (error) => {
        // Else it is told by 'exit', which follows.
        if (worker.process.pid !== undefined || !this.running.has(worker.id)) return;
        const failure = WorkerStartError.ofFork(error);
        this.onEnd(worker.id, failure.message);
        reject(failure);
      });
      worker.once('exit', (code, signal) => {
        onceHeard(worker, () => {
          this.onEnd(worker.id, `worker ${worker.id} ended (${signal ?? `exit code ${code ?? 'unknown'}`})`);
          reject(new WorkerStartError(code ?? 1));
        });
      });
    });
    const exited = ended.catch(() => undefined);
    const prepared = new Promise<void>((resolve) => {
      worker.on('message', ({ kind }) => {
        if (kind === 'begun') this.tell([worker.id], { kind: 'config', news: this.options.configNews() });
        if (kind === 'prepared') resolve();
      });
    });
    const ready = new Promise<WorkerPorts>((resolve) => {
      worker.on('message', (message) => {
        if (message.kind === 'metrics' && this.running.has(worker.id)) this.options.onMetrics(worker.id, message);
        if (message.kind !== 'ready') return;
        this.serving.add(worker.id);
        resolve(message.ports);
      });
    });
    this.running.set(worker.id, { process: worker, begunMs: this.options.nowMs(), exited });
    const begun = { id: worker.id, prepared: Promise.race([prepared, ended]), ready: Promise.race([ready, ended]) };
    // One that ends is told by whichever of its promises is waited for.
    for (const promise of [begun.prepared, begun.ready]) promise.catch(() => undefined);
    return begun;
  }

  private fork(): WorkerProcess {
    try {
      return this.options.fork();
    } catch (error) {
      throw WorkerStartError.ofFork(error);
    }
  }

  private listen({ id, ready }: Begun): Promise<WorkerPorts> {
    this.tell([id], { kind: 'listen' });
    return ready;
  }

  private beginAnew(): void {
    this.options.onRestart();
    let worker: Begun;
    try {
      worker = this.begin();
    } catch (error) {
      this.beginLater(asError(error).message, { isGood: false });
      return;
    }
    // One that does not come to serve ends, which begins the next.
    worker.prepared.then(() => this.listen(worker)).catch(() => undefined);
  }

  private onEnd(id: number, what: string): void {
    const begunMs = this.running.get(id)?.begunMs ?? 0;
    this.running.delete(id);
    this.serving.delete(id);
    this.options.onEnd(id);
    if (this.isEnding || !this.isStarted) return;
    this.beginLater(what, { isGood: this.options.nowMs() - begunMs >= GOOD_MS });
  }

  private beginLater(what: string, { isGood }: { readonly isGood: boolean }): void {
    this.failures = isGood ? 0 : this.failures + 1;
    const waitMs = backoffMs({ ...RESTART, failures: this.failures });
    this.options.log.error(`${what}: another one begins in ${waitMs} ms`);
    const timer = setTimeout(() => {
      this.restarts.delete(timer);
      this.beginAnew();
    }, waitMs);
    this.restarts.add(timer);
  }

  private tell(ids: readonly number[], message: ToWorker): number {
    const told = ids.map((id) => this.running.get(id)?.process).filter((worker) => worker?.isConnected() === true);
    for (const worker of told) worker?.send(message);
    return told.length;
  }
}

/** What a worker has said may still lie unread when it has ended: the line to it is closed when all of it was read. */
function onceHeard(worker: WorkerProcess, then: () => void): void {
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
  const timer = setTimeout(finish, HEARD_MS_MAX);
  worker.once('disconnect', finish);
}
