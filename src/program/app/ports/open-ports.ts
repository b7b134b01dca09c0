/** Opens every port of one process: gRPC, HTTP, debug, and where metrics are published. None is bound, and none answers, before the App says so. */

import { describeConfig } from '../../../configuration/source/describe-rules';
import type { Settings } from '../../../configuration/settings/table/settings';
import { Gate } from '../../../lib/gate';
import type { Metrics } from '../../../server/observability/metrics/metrics';
import { debugRoutes } from '../../../server/transport/http/debug-routes';
import { HttpServer } from '../../../server/transport/http/http-server';
import { listenOn } from '../../../server/transport/port/listen-error';
import type { Context } from '../context/context';
import type { OpenedDecisions } from '../deciding/open-decisions';
import type { Bind } from '../start/bind-all';
import type { OpenedTracing } from '../telemetry/open-tracing';
import { GrpcPort, type GrpcPortOptions } from './open-grpc';
import { openHttp } from './open-http';
import { openPortLimits, type PortLimit } from './port-limits';
import { bindDebugPort, publishMetrics } from './publish-metrics';

export interface ServedPorts {
  /** One for each port; a worker has no debug port. */
  readonly binds: readonly Bind[];
  /** Answers from now on what the ports accept. */
  open(): void;
  /** Answers only calls in flight, and closes the ports of calls and the debug port. */
  drain(): Promise<unknown>;
  /** Publishes the last metrics and traces. */
  close(): Promise<unknown>;
}

export async function openServedPorts(context: Context, decisions: OpenedDecisions): Promise<ServedPorts> {
  const { settings, statsd, isWorker, log, registry, published } = context;
  const gate = new Gate();
  const limits = openPortLimits({ log, isWorker });
  const tracing = await openTraces(context);
  const ports = { gate, limits, tracing };
  const grpc = await openGrpc(context, decisions, ports);
  const http = openHttp(context, decisions, { limit: { ...limits.http, gate }, tracer: tracing?.tracer });
  const debug = isWorker ? undefined : openDebug(context, { gate, ...limits.debug });
  const publisher = isWorker
    ? undefined
    : await publishMetrics({ settings, statsd, metrics: published, registry, log, limit: { ...limits.metrics, gate } });
  return {
    binds: [
      () => grpc.bind(),
      () => bindHttpPort(http, settings),
      ...(debug ? [() => bindDebugPort(debug, settings)] : []),
      ...(publisher ? [() => publisher.bind()] : []),
    ],
    open: () => {
      publisher?.start();
      gate.open();
    },
    drain: () => {
      const bound = { timeoutMs: settings.drainTimeoutMs };
      return Promise.all([grpc.drain(bound), http.close(bound), debug?.close(bound)]);
    },
    close: () => {
      limits.close();
      return Promise.all([tracing?.close(), publisher?.close()]);
    },
  };
}

interface SharedByPorts {
  readonly gate: Gate;
  readonly limits: ReturnType<typeof openPortLimits>;
  /** Undefined: traces are off. */
  readonly tracing: OpenedTracing | undefined;
}

function openGrpc(
  { settings, grpcTls, isWorker, log, faults, metrics, health, ended }: Context,
  { answerCalls, reservationCalls, onFailure }: OpenedDecisions,
  { gate, limits, tracing }: SharedByPorts,
): Promise<GrpcPort> {
  return GrpcPort.open({
    settings,
    tlsFiles: grpcTls,
    isWorker,
    log,
    faults,
    metrics,
    answerCalls,
    reservationCalls,
    health,
    ended,
    onFailure,
    tracer: tracing?.tracer,
    connectionsMax: limits.grpcConnectionsMax,
    gate,
    onCall: observeCalls(metrics),
  });
}

function openDebug({ rules, published, faults }: Context, limit: PortLimit): HttpServer {
  return new HttpServer({ routes: debugRoutes({ configLines: () => describeConfig(rules), metrics: published }), log: faults, ...limit });
}

/** Undefined: traces are off. */
async function openTraces({ tracing, settings, version, log, registry }: Context): Promise<OpenedTracing | undefined> {
  if (tracing === undefined) return undefined;
  // Imported on demand: OpenTelemetry takes several megabytes.
  const { openTracing } = await import('../telemetry/open-tracing.js');
  return openTracing({ tracing, settings, version, registry, log });
}

async function bindHttpPort(server: HttpServer, { host, port }: Pick<Settings, 'host' | 'port'>): Promise<{ http: number }> {
  const bound = await listenOn({ host, port, hostSetting: 'HOST', portSetting: 'PORT' }, () => server.start({ host, port }));
  return { http: bound.port };
}

/** The observer keeps the series, so that a call needs no lookup. */
function observeCalls({ responseTime }: Metrics): GrpcPortOptions['onCall'] {
  const times = responseTime.with({ grpc_method: 'ShouldRateLimit' });
  return ({ seconds }) => {
    times.observe(seconds);
  };
}
