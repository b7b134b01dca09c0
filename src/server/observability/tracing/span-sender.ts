/** Sends spans to an OTLP receiver in the background: a bounded queue, and a log line when the receiver is lost or is back. */

import { diag, DiagLogLevel, type Tracer } from '@opentelemetry/api';
import { ExportResultCode, setGlobalErrorHandler, type ExportResult } from '@opentelemetry/core';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, BatchSpanProcessor, TracerProvider, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';
import type { SpanQueue } from './otel-tracer';

/** How many spans were sent, refused or lost by the receiver, or found no room in the queue. */
export type SpanResult = 'sent' | 'failed' | 'dropped';

export interface SpanSenderOptions {
  readonly exporter: SpanExporter;
  /** The attributes of this process, beside those of OTEL_RESOURCE_ATTRIBUTES. */
  readonly resource: Readonly<Record<string, string>>;
  readonly version: string;
  readonly queueMax: number;
  readonly batchMax: number;
  readonly intervalMs: number;
  readonly exportTimeoutMs: number;
  readonly onSpans: (result: SpanResult, count: number) => void;
  /** Called for each batch, with why it was not accepted; undefined: it was. */
  readonly onBatch: (problem: string | undefined) => void;
  /** Called with what the packages of OpenTelemetry warn of. */
  readonly onWarning: (message: string) => void;
}

const INSTRUMENTATION = 'weir';

/** The version of OpenTelemetry's conventions that the names of attributes follow. */
const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.45.0';

export class SpanSender implements SpanQueue {
  readonly tracer: Tracer;
  private readonly provider: TracerProvider;
  /** Spans that wait or are being sent. */
  private pending = 0;

  constructor(private readonly options: SpanSenderOptions) {
    const { resource, version, queueMax, batchMax, intervalMs, exportTimeoutMs, onWarning } = options;
    const warn = (message: string): void => {
      onWarning(message);
    };
    const silent = (): void => undefined;
    diag.setLogger(
      { error: warn, warn, info: silent, debug: silent, verbose: silent },
      { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
    );
    // `onBatch` reports failed batches.
    setGlobalErrorHandler(silent);
    this.provider = new TracerProvider({
      sampler: new AlwaysOnSampler(),
      resource: defaultResource()
        .merge(detectResources({ detectors: [envDetector] }))
        .merge(resourceFromAttributes({ ...resource })),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: this.watched(options.exporter),
          maxQueueSize: queueMax,
          maxExportBatchSize: Math.min(batchMax, queueMax),
          scheduledDelayMillis: intervalMs,
          exportTimeoutMillis: exportTimeoutMs,
        }),
      ],
    });
    this.tracer = this.provider.getTracer(INSTRUMENTATION, version, { schemaUrl: SCHEMA_URL });
  }

  reserve(spans: number): boolean {
    if (this.pending + spans > this.options.queueMax) {
      this.options.onSpans('dropped', spans);
      return false;
    }
    this.pending += spans;
    return true;
  }

  /** Sends what waits, for at most this time. */
  async close({ timeoutMs }: { readonly timeoutMs: number }): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeoutMs);
    });
    await Promise.race([this.provider.shutdown().catch(() => undefined), late]);
    clearTimeout(timer);
    if (this.pending > 0) this.options.onSpans('failed', this.pending);
  }

  private watched(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans: ReadableSpan[], done: (result: ExportResult) => void) => {
        exporter.export(spans, (result) => {
          this.pending -= spans.length;
          const isSent = result.code === ExportResultCode.SUCCESS;
          this.options.onSpans(isSent ? 'sent' : 'failed', spans.length);
          this.options.onBatch(isSent ? undefined : (result.error?.message ?? 'no reason given'));
          done(result);
        });
      },
      shutdown: () => exporter.shutdown(),
    };
  }
}
