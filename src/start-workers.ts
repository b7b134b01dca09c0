/** The composition root of a process that serves through workers: it runs them, and has the debug port for all of them. */

import cluster from 'node:cluster';
import { Counter, Gauge, Registry } from 'prom-client';
import { describeRules } from './config/describe-rules';
import type { Settings } from './config/settings';
import type { Logger } from './observability/logger';
import { WORKER_METRICS } from './observability/metrics';
import type { RuleSet } from './rule/rule-set';
import { debugRoutes } from './transport/debug-routes';
import { HttpServer } from './transport/http-server';
import type { WorkerPorts } from './workers/messages';
import { WorkerMetrics } from './workers/worker-metrics';
import { WorkerPool } from './workers/worker-pool';

export interface StartWorkersOptions {
  readonly settings: Settings;
  readonly count: number;
  readonly ruleSet: RuleSet;
  readonly log: Logger;
}

export interface RunningWorkers {
  /** Those of the workers, and our own debug port. */
  readonly ports: WorkerPorts & { readonly debug: number };
  drain(): Promise<void>;
}

/** Resolves when all workers serve. Rejects with WorkerStartError if one does not, and if the debug port can't be bound. */
export async function startWorkers({ settings, count, ruleSet, log }: StartWorkersOptions): Promise<RunningWorkers> {
  const own = new Registry();
  const restarts = new Counter({ ...WORKER_METRICS.restarts, labelNames: [], registers: [own] });
  const metrics = new WorkerMetrics({ own, ask: (reading) => pool.readMetrics(reading) });
  const pool = new WorkerPool({
    count,
    fork: () => cluster.fork(),
    log,
    onMetrics: (worker, answer) => {
      metrics.hear(worker, answer);
    },
    onEnd: (worker) => void metrics.retire(worker),
    onRestart: () => {
      restarts.inc();
    },
    nowMs: () => performance.now(),
  });
  new Gauge({
    ...WORKER_METRICS.workers,
    labelNames: [],
    registers: [own],
    collect() {
      this.set(pool.size);
    },
  });
  const debug = new HttpServer({ routes: debugRoutes({ configLines: () => describeRules(ruleSet), metrics }), log });
  const { port } = await debug.start({ host: settings.debugHost, port: settings.debugPort });
  const ports = await pool.start();
  return {
    ports: { ...ports, debug: port },
    drain: async () => {
      const bound = { timeoutMs: settings.drainTimeoutMs };
      await Promise.all([pool.drain(bound), debug.close(bound)]);
    },
  };
}
