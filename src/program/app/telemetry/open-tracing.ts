/** Wires tracing: the exporter, the queue of spans, their metrics, and the log of a receiver that is away. Imported only if traces are on. */

import cluster from 'node:cluster';
import { randomUUID } from 'node:crypto';
import type { Registry } from 'prom-client';
import { monotonicNowMs } from '../../../lib/clock';
import { event } from '../../../server/observability/log/log-event';
import type { Logger } from '../../../server/observability/log/logger';
import { ReceiverLog } from '../../../server/observability/log/receiver-log';
import { ThrottledLog } from '../../../server/observability/log/throttled-log';
import { makeTraceMetrics } from '../../../server/observability/metrics/metrics';
import type { CallTracer } from '../../../server/observability/tracing/call-tracer';
import { OtelTracer } from '../../../server/observability/tracing/otel-tracer';
import { SpanSender, type SpanSenderOptions } from '../../../server/observability/tracing/span-sender';
import type { Settings } from '../../../configuration/settings/table/settings';
import type { TraceChoice } from '../../../configuration/settings/trace-choice';

/** How long a process that ends waits for the receiver to take the last spans, in milliseconds. */
const FLUSH_MS = 1_500;

export interface OpenTracingOptions {
  readonly tracing: TraceChoice;
  readonly settings: Settings;
  readonly version: string;
  readonly registry: Registry;
  readonly log: Logger;
}

export interface OpenedTracing {
  readonly tracer: CallTracer;
  /** Sends the last spans, for a bounded time. */
  close(): Promise<void>;
}

export async function openTracing({ tracing, settings, version, registry, log }: OpenTracingOptions): Promise<OpenedTracing> {
  const { protocol, address } = tracing;
  const { tracingSamplingRate: ratio } = settings;
  const spans = makeTraceMetrics(registry);
  const receiver = new ReceiverLog({ log, nowMs: monotonicNowMs, address });
  const warnings = new ThrottledLog({
    write: (sentence) => {
      log.warn(event('traces_warning'), sentence);
    },
    nowMs: monotonicNowMs,
  });
  const sender = new SpanSender({
    exporter: await openExporter(protocol),
    resource: resourceOf(settings, version),
    version,
    queueMax: settings.otelBspMaxQueueSize,
    batchMax: settings.otelBspMaxExportBatchSize,
    intervalMs: settings.otelBspScheduleDelay,
    exportTimeoutMs: settings.otelBspExportTimeout,
    onSpans: (result, count) => {
      spans.inc({ result }, count);
    },
    onBatch: (problem) => {
      receiver.onBatch(problem);
    },
    onWarning: (message) => {
      warnings.log('opentelemetry', `OpenTelemetry: ${message}`);
    },
  });
  const tracer = new OtelTracer({ tracer: sender.tracer, queue: sender, ratio, showsValues: settings.tracingValues });
  // With workers, the first of them logs it for all; a restarted one has another id.
  if ((cluster.worker?.id ?? 1) === 1)
    log.info(
      event('traces_started', { address, protocol, ratio }),
      `traces go to ${address} over OTLP (${protocol}); calls without a sampling decision of their caller are sampled at a rate of ${ratio}`,
    );
  return {
    tracer,
    close: async () => {
      tracer.flush();
      await sender.close({ timeoutMs: FLUSH_MS });
    },
  };
}

/** Each takes megabytes, so only the one in use is loaded. */
async function openExporter(protocol: TraceChoice['protocol']): Promise<SpanSenderOptions['exporter']> {
  if (protocol === 'grpc') return (await import('../../../server/observability/tracing/grpc-exporter.js')).openGrpcExporter();
  return (await import('../../../server/observability/tracing/http-exporter.js')).openHttpExporter();
}

function resourceOf(settings: Settings, version: string): Readonly<Record<string, string>> {
  const { tracingServiceName, tracingServiceNamespace, tracingServiceInstanceId } = settings;
  return {
    'service.name': tracingServiceName,
    ...(tracingServiceNamespace !== undefined && { 'service.namespace': tracingServiceNamespace }),
    'service.instance.id': tracingServiceInstanceId ?? randomUUID(),
    'service.version': version,
    ...(cluster.worker !== undefined && { 'weir.worker': String(cluster.worker.id) }),
  };
}
