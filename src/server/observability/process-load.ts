/** How busy this process is: the use of its event loop, and its decisions in a second, over the last seconds. */

import { performance, type EventLoopUtilization } from 'node:perf_hooks';

const INTERVAL_MS = 5_000;

export interface LoadFigures {
  /** From 0 to 1: at 1 the process cannot do more. */
  readonly eventLoopUtilization: number;
  readonly decisionsPerS: number;
}

export interface ProcessLoadOptions {
  /** Since the start. */
  readonly decisions: () => number;
  readonly nowMs: () => number;
  readonly utilization: () => EventLoopUtilization;
}

interface Reading {
  readonly atMs: number;
  readonly decisions: number;
  readonly utilization: EventLoopUtilization;
}

export class ProcessLoad {
  private readonly timer: NodeJS.Timeout;
  private begin: Reading;
  private last: LoadFigures | undefined;

  constructor(private readonly options: ProcessLoadOptions) {
    this.begin = this.reading();
    this.timer = setInterval(() => {
      this.turn();
    }, INTERVAL_MS).unref();
  }

  /** The figures of the last whole interval; before its end, those since the start. */
  get figures(): LoadFigures {
    return this.last ?? this.since(this.begin, this.reading());
  }

  /** Ends an interval, and begins the next one. */
  turn(): void {
    const end = this.reading();
    this.last = this.since(this.begin, end);
    this.begin = end;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private reading(): Reading {
    const { decisions, nowMs, utilization } = this.options;
    return { atMs: nowMs(), decisions: decisions(), utilization: utilization() };
  }

  private since(begin: Reading, end: Reading): LoadFigures {
    const seconds = (end.atMs - begin.atMs) / 1_000;
    const { utilization } = performance.eventLoopUtilization(end.utilization, begin.utilization);
    return {
      eventLoopUtilization: Number.isFinite(utilization) ? Math.round(utilization * 1_000) / 1_000 : 0,
      decisionsPerS: seconds <= 0 ? 0 : Math.round(((end.decisions - begin.decisions) / seconds) * 10) / 10,
    };
  }
}
