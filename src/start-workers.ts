/** The composition root of a process that serves through workers: it runs them, and has the debug port for all of them. */

import cluster from 'node:cluster';
import { Counter, Gauge, Registry } from 'prom-client';
import { monotonicNowMs } from './clock';
import { describeConfig } from './config/describe-rules';
import type { LoadOutcome, RulesInForce } from './config/rules-in-force';
import type { Settings } from './config/settings';
import type { StatsdChoice } from './config/statsd-choice';
import type { Logger } from './observability/logger';
import { makeConfigMetrics, WORKER_METRICS, type ManagementServer } from './observability/metrics';
import { publishMetrics, toLabels } from './publish-metrics';
import { debugRoutes } from './transport/debug-routes';
import { HttpServer } from './transport/http-server';
import { removeStaleSocket } from './transport/unix-socket';
import { closeUntaken } from './workers/handed-connections';
import type { ConfigNews, WorkerPorts } from './workers/messages';
import { WorkerMetrics } from './workers/worker-metrics';
import { WorkerPool } from './workers/worker-pool';

export interface StartWorkersOptions {
  readonly settings: Settings;
  readonly count: number;
  readonly rules: RulesInForce;
  /** Undefined: the configuration comes from elsewhere. */
  readonly managementServer: ManagementServer | undefined;
  readonly log: Logger;
  /** The statsd server that is told, if any. */
  readonly statsd: StatsdChoice | undefined;
}

export interface RunningWorkers {
  /** Those of the workers, and our own debug port. */
  readonly ports: WorkerPorts & { readonly debug: number };
  drain(): Promise<void>;
}

/** Resolves when all workers serve. Rejects with WorkerStartError if one does not, and if the debug port can't be bound. */
export async function startWorkers({ settings, count, rules, managementServer, log, statsd }: StartWorkersOptions): Promise<RunningWorkers> {
  // A set may hold what JSON has no words for.
  cluster.setupPrimary({ serialization: 'advanced' });
  const own = new Registry();
  const labels = toLabels(settings.extraTags);
  own.setDefaultLabels(labels);
  makeConfigMetrics({ registry: own, loads: rules, managementServer });
  const restarts = new Counter({ ...WORKER_METRICS.restarts, labelNames: [], registers: [own] });
  const metrics = new WorkerMetrics({ own, labels, ask: (reading) => pool.readMetrics(reading) });
  const pool = new WorkerPool({
    count,
    fork: () => {
      const worker = cluster.fork();
      closeUntaken(worker.process);
      return worker;
    },
    log,
    onMetrics: (worker, answer) => {
      metrics.hear(worker, answer);
    },
    onEnd: (worker) => void metrics.retire(worker),
    onRestart: () => {
      restarts.inc();
    },
    configNews: () => ({ ...inForce(rules), ...refused(rules) }),
    nowMs: monotonicNowMs,
  });
  rules.onLoad((outcome: LoadOutcome) => {
    pool.tellConfig('ruleSet' in outcome ? inForce(rules) : refused(rules));
  });
  new Gauge({
    ...WORKER_METRICS.workers,
    labelNames: [],
    registers: [own],
    collect() {
      this.set(pool.size);
    },
  });
  const debug = new HttpServer({ routes: debugRoutes({ configLines: () => describeConfig(rules), metrics }), log });
  const { port } = await debug.start({ host: settings.debugHost, port: settings.debugPort });
  const unpublish = await publishMetrics({ settings, statsd, metrics, registry: own, log });
  if (settings.grpcUds !== undefined) await removeStaleSocket(settings.grpcUds);
  const ports = await pool.start();
  return {
    ports: { ...ports, debug: port },
    drain: async () => {
      await Promise.all([pool.drain({ timeoutMs: settings.drainDelayMs + settings.drainTimeoutMs }), debug.close({ timeoutMs: settings.drainTimeoutMs })]);
      await unpublish();
    },
  };
}

function inForce({ ruleSet, set }: RulesInForce): ConfigNews {
  return ruleSet === undefined || set === undefined ? {} : { inForce: { set, generation: ruleSet.generation } };
}

function refused({ error }: RulesInForce): ConfigNews {
  return error === undefined ? {} : { refused: { problems: error.problems, omitted: error.omitted } };
}
