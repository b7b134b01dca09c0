/** The composition root of the parent process: runs the workers, and has the debug port for all of them. */

import cluster from 'node:cluster';
import { Counter, Gauge, Registry } from 'prom-client';
import { monotonicNowMs } from '../../lib/clock';
import { Gate } from '../../lib/gate';
import { configNews, newsInForce, newsRefused } from '../../configuration/source/config-news';
import { describeConfig } from '../../configuration/source/describe-rules';
import type { LoadOutcome, RulesInForce } from '../../configuration/source/rules-in-force';
import type { Settings } from '../../configuration/settings/table/settings';
import type { StatsdChoice } from '../../configuration/settings/statsd-choice';
import { EndedCertificates } from '../../server/observability/ended-certificates';
import { Health } from '../../server/observability/health';
import type { Logger } from '../../server/observability/log/logger';
import { WORKER_METRICS, type ManagementServer } from '../../server/observability/metrics/metrics';
import { toLabels } from '../../server/observability/metrics/prometheus-text';
import { openPortLimits } from './ports/port-limits';
import { processServices } from './admin/process-services';
import { bindDebugPort, openConfigMetrics, publishMetrics } from './ports/publish-metrics';
import type { App } from './app';
import { debugRoutes } from '../../server/transport/http/debug-routes';
import { HttpServer } from '../../server/transport/http/http-server';
import { removeStaleSocket } from '../../server/transport/port/unix-socket';
import type { WorkerPorts } from '../../server/workers/messages';
import { closeUntaken } from '../../server/workers/handed-connections';
import { WorkerMetrics } from '../../server/workers/worker-metrics';
import { WorkerTails } from '../../server/workers/worker-tails';
import { WORKER_PLACE } from '../../server/workers/worker-link';
import { WorkerPool } from '../../server/workers/worker-pool';

export interface OpenWorkersOptions {
  readonly settings: Settings;
  /** The number of workers. */
  readonly workers: number;
  readonly rules: RulesInForce;
  /** Undefined: the configuration does not come from a management server. */
  readonly managementServer: ManagementServer | undefined;
  readonly log: Logger;
  /** The statsd server that gets the metrics, if any. */
  readonly statsd: StatsdChoice | undefined;
}

/** Resolves when all workers are ready to bind their ports. Rejects with WorkerStartError if one is not. */
export async function openWorkers(options: OpenWorkersOptions): Promise<Omit<App, 'readMetrics'>> {
  const { settings, rules, managementServer, log, statsd } = options;
  // A configuration set may contain values that JSON cannot represent.
  cluster.setupPrimary({ serialization: 'advanced' });
  const registry = new Registry();
  // Each worker has the health of its own; this process only logs.
  const ended = new EndedCertificates({ health: new Health(), log, nowMs: () => Date.now() });
  openConfigMetrics({ registry, rules, settings, managementServer, ended });
  const { pool, metrics, tails } = openPool(options, registry);
  rules.onLoad((outcome: LoadOutcome) => {
    pool.publishConfig('ruleSet' in outcome ? newsInForce(rules) : newsRefused(rules));
  });
  const limits = openPortLimits({ log, isWorker: false });
  const gate = new Gate();
  const debug = new HttpServer({ routes: debugRoutes({ configLines: () => describeConfig(rules), metrics }), log, ...limits.debug, gate });
  const publisher = await publishMetrics({ settings, statsd, metrics, registry, log, limit: { ...limits.metrics, gate } });
  await pool.start();
  return {
    binds: [() => bindPool(pool, settings), () => bindDebugPort(debug, settings), () => publisher.bind()],
    open: () => {
      publisher.start();
      gate.open();
      pool.open();
    },
    reopenLog: () => {
      pool.publish({ kind: 'reopen_log' });
    },
    admin: { services: servicesOf(settings, metrics), tail: tails, registry },
    drain: async () => {
      await Promise.all([
        pool.drain({ timeoutMs: settings.drainDelayMs + settings.drainTimeoutMs }),
        debug.close({ timeoutMs: settings.drainTimeoutMs }),
      ]);
      limits.close();
      await publisher.close();
    },
  };
}

interface OpenedPool {
  readonly pool: WorkerPool;
  /** The metrics of all workers. */
  readonly metrics: WorkerMetrics;
  /** Live tails over all workers. */
  readonly tails: WorkerTails;
}

/** The pool gets the messages of workers; metrics and tails, which they are for, ask the workers through the pool. */
function openPool({ settings, workers, rules, log }: OpenWorkersOptions, registry: Registry): OpenedPool {
  const restarts = new Counter({ ...WORKER_METRICS.restarts, labelNames: [], registers: [registry] });
  const pool: WorkerPool = new WorkerPool({
    count: workers,
    fork: (place) => {
      const worker = cluster.fork({ [WORKER_PLACE]: String(place) });
      closeUntaken(worker.process);
      return worker;
    },
    log,
    onMetrics: (worker, answer) => {
      metrics.record(worker, answer);
    },
    onSample: (tail, sample) => {
      tails.take(tail, sample);
    },
    onServing: (worker) => {
      tails.join(worker);
    },
    onEnd: (worker) => void metrics.retire(worker),
    onRestart: () => {
      restarts.inc();
    },
    configNews: () => configNews(rules),
    nowMs: monotonicNowMs,
  });
  const metrics = new WorkerMetrics({ own: registry, labels: toLabels(settings.extraTags), ask: (reading) => pool.readMetrics(reading) });
  const tails = new WorkerTails({
    send: (message, worker) => {
      pool.publish(message, worker);
    },
    nowMs: monotonicNowMs,
  });
  new Gauge({
    ...WORKER_METRICS.workers,
    labelNames: [],
    registers: [registry],
    collect() {
      this.set(pool.size);
    },
  });
  return { pool, metrics, tails };
}

async function bindPool(pool: WorkerPool, { grpcUds }: Pick<Settings, 'grpcUds'>): Promise<WorkerPorts> {
  if (grpcUds !== undefined) await removeStaleSocket(grpcUds);
  return pool.listen();
}

/** The workers decide, so this process has no buckets, no control data and no facts of its own. */
function servicesOf({ cacheKeyPrefix: keyPrefix }: Settings, metrics: WorkerMetrics): App['admin']['services'] {
  const none = {
    memoryStore: undefined,
    control: undefined,
    rollouts: undefined,
    demand: undefined,
    events: undefined,
    topKeys: undefined,
    facts: undefined,
  };
  return processServices({ ...none, keyPrefix, readMetrics: () => metrics.read() });
}
