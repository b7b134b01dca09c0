/** One run of a load: a closed loop keeps a number of streams busy, an open loop makes a number of calls a second. */

import { processorTimeUs, waitedForCoreUs } from '../support/process-usage';
import { prepareCalls, type Asked, type Calls } from './calls';
import { keysOf, type KeyChoice } from './keys';
import { Latencies, type Quantiles } from './latencies';
import { startPacer } from './pacer';
import { RlsConnection, type Outcome } from './rls-connection';
import { Schedule } from './schedule';

/** Servers have this time to finish with new connections, before the first call. */
const SETTLE_MS = 50;
/** The longest wait until every connection has the server's settings. */
const CONNECT_MS_MAX = 5_000;
/** In a closed loop the time of each nth call is taken: reading the clock for all would slow down the generator. */
const TIMED_EACH = 8;
/** Slots of a connection of an open loop, whose calls pile up behind a slow server. */
const OPEN_SLOTS = 2 ** 15;
/** Slots for each stream of a closed loop: ids of finished streams may pass a slow one by as many. */
const SLOTS_PER_STREAM = 64;
/** How long answers are waited for once no more is asked. */
const ANSWERS_MS = 5_000;
const CHECK_MS = 2;
/** An open loop wakes at most so often; what is due by then goes together. */
const TICKS_PER_SECOND_MAX = 5_000;

export interface LoadJob {
  readonly host: string;
  readonly port: number;
  readonly connections: number;
  readonly load: { readonly kind: 'closed'; readonly streams: number } | { readonly kind: 'open'; readonly perSecond: number };
  readonly durationMs: number;
  /** The load ends earlier after this number of calls. */
  readonly callsMax?: number;
  readonly asked: Asked;
  readonly keys: KeyChoice;
  /** Keys whose admitted calls are counted one by one: all below this number. */
  readonly watchedBelow: number;
  /** Processes whose processor time is read at the first call and after the last answer: connecting is not part of it. */
  readonly meteredPids?: readonly number[];
}

export interface LoadResult {
  /** From the first call until the last answer. */
  readonly elapsedMs: number;
  readonly admitted: number;
  readonly denied: number;
  /** Errors, and calls that were never answered. */
  readonly failed: number;
  /** Why the first of them failed, if a connection broke. */
  readonly broken?: string;
  readonly admittedOfWatched: readonly number[];
  /** Of each metered process, in microseconds. */
  readonly processorUs: readonly number[];
  /** How long each metered process was ready to run and waited for a core, in microseconds. */
  readonly waitedUs: readonly number[];
  /** From the time that a call was due (closed loop: was sent) until its answer. */
  readonly latencyMs?: Quantiles;
  /** Of an open loop: from the time that a call was due until it was sent. */
  readonly lateMs?: Quantiles;
  /** Of an open loop: from the time that a call was sent until its answer, which leaves the lateness of the generator out. */
  readonly answerMs?: Quantiles;
}

export function runLoad(job: LoadJob): Promise<LoadResult> {
  return new LoadRun(job).run();
}

class LoadRun {
  private readonly calls: Calls;
  private readonly nextKey: () => number;
  private readonly connections: RlsConnection[];
  private readonly counts: Record<Outcome, number> = { admitted: 0, denied: 0, failed: 0 };
  private readonly admittedOfWatched: Uint32Array;
  private readonly latencies = new Latencies();
  private readonly lates = new Latencies();
  private readonly answers = new Latencies();
  /** Due, while no window was open. */
  private readonly waiting: number[] = [];
  private turn = 0;
  private asked = 0;
  private left: number;
  private isAsking = false;
  private broken: string | undefined;

  constructor(private readonly job: LoadJob) {
    this.calls = prepareCalls(job.asked);
    this.nextKey = keysOf(job.keys);
    this.left = job.callsMax ?? Infinity;
    this.admittedOfWatched = new Uint32Array(job.watchedBelow);
    this.connections = Array.from({ length: job.connections }, () => this.open());
  }

  async run(): Promise<LoadResult> {
    await this.until(() => this.connections.every((connection) => connection.isReady), CONNECT_MS_MAX);
    await pause(SETTLE_MS);
    const { load, meteredPids = [] } = this.job;
    const beforeUs = meteredPids.map(processorTimeUs);
    const waitedBeforeUs = meteredPids.map(waitedForCoreUs);
    this.isAsking = true;
    const startMs = load.kind === 'closed' ? await this.runClosed() : await this.runOpen(load.perSecond);
    this.isAsking = false;
    const inFlight = (): number => this.connections.reduce((sum, connection) => sum + connection.inFlight, this.waiting.length);
    await this.until(() => inFlight() === 0, ANSWERS_MS);
    const elapsedMs = performance.now() - startMs;
    const processorUs = meteredPids.map((pid, index) => processorTimeUs(pid) - beforeUs[index]!);
    const waitedUs = meteredPids.map((pid, index) => waitedForCoreUs(pid) - waitedBeforeUs[index]!);
    const unanswered = inFlight();
    for (const connection of this.connections) connection.close();
    return {
      elapsedMs,
      ...this.counts,
      failed: this.counts.failed + unanswered,
      ...(this.broken !== undefined && { broken: this.broken }),
      admittedOfWatched: [...this.admittedOfWatched],
      processorUs,
      waitedUs,
      ...(this.latencies.size > 0 && { latencyMs: this.latencies.quantiles() }),
      ...(this.lates.size > 0 && { lateMs: this.lates.quantiles() }),
      ...(this.answers.size > 0 && { answerMs: this.answers.quantiles() }),
    };
  }

  /** Resolves when nothing more is asked, to when it began. */
  private async runClosed(): Promise<number> {
    const startMs = performance.now();
    for (const connection of this.connections) this.fill(connection);
    await this.until(() => this.left === 0, startMs + this.job.durationMs - performance.now());
    return startMs;
  }

  private async runOpen(perSecond: number): Promise<number> {
    const { durationMs } = this.job;
    const pacer = await startPacer({ perSecond: Math.min(perSecond, TICKS_PER_SECOND_MAX) });
    const startMs = performance.now();
    const schedule = new Schedule({ startMs, perSecond, durationMs });
    const ask = (): void => {
      for (let due = schedule.dueBy(performance.now()); due > 0; due -= 1) this.waiting.push(schedule.take());
      this.askWaiting();
    };
    pacer.onTick(ask);
    await this.until(() => schedule.isOver, durationMs + ANSWERS_MS);
    pacer.end();
    return startMs;
  }

  private open(): RlsConnection {
    const { host, port, load, connections } = this.job;
    const connection: RlsConnection = new RlsConnection({
      host,
      port,
      calls: this.calls,
      slots: load.kind === 'open' ? OPEN_SLOTS : nextPowerOfTwo(SLOTS_PER_STREAM * load.streams),
      sharedBy: connections,
      onAnswer: ({ outcome, key, dueMs, sentMs }) => {
        this.counts[outcome] += 1;
        if (outcome === 'admitted' && key < this.admittedOfWatched.length) this.admittedOfWatched[key]! += 1;
        if (dueMs === 0) return;
        const nowMs = performance.now();
        this.latencies.add(nowMs - dueMs);
        if (load.kind === 'open') this.answers.add(nowMs - sentMs);
      },
      onAnswers: () => {
        if (this.job.load.kind === 'open') this.askWaiting();
        else if (this.isAsking) this.fill(connection);
      },
      onBroken: (reason) => {
        this.broken ??= reason;
      },
    });
    return connection;
  }

  /** As many streams of it as there are to be. */
  private fill(connection: RlsConnection): void {
    const { load } = this.job;
    const streams = load.kind === 'closed' ? load.streams : 0;
    for (; connection.inFlight < streams && connection.canAsk && this.left > 0; this.left -= 1) {
      this.asked += 1;
      const dueMs = this.asked % TIMED_EACH === 0 ? performance.now() : 0;
      connection.ask({ key: this.nextKey(), dueMs, sentMs: dueMs });
    }
    connection.flush();
  }

  /** What is due, to one connection after another, as far as they take more. */
  private askWaiting(): void {
    const nowMs = performance.now();
    let sent = 0;
    for (let refused = 0; sent < this.waiting.length && refused < this.connections.length;) {
      const connection = this.connections[this.turn]!;
      this.turn = (this.turn + 1) % this.connections.length;
      if (!connection.canAsk) {
        refused += 1;
        continue;
      }
      refused = 0;
      const dueMs = this.waiting[sent]!;
      this.lates.add(nowMs - dueMs);
      connection.ask({ key: this.nextKey(), dueMs, sentMs: nowMs });
      sent += 1;
    }
    this.waiting.splice(0, sent);
    for (const connection of this.connections) connection.flush();
  }

  /** Resolves when the condition holds, when a connection broke, or after the time. */
  private async until(isSo: () => boolean, timeoutMs: number): Promise<void> {
    const endMs = performance.now() + timeoutMs;
    while (!isSo() && this.broken === undefined && performance.now() < endMs) await pause(CHECK_MS);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

function nextPowerOfTwo(least: number): number {
  return 2 ** Math.ceil(Math.log2(least));
}
