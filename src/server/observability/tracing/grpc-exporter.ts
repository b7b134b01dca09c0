/** The exporter of OTLP over gRPC. Loaded only if it is chosen, because grpc-js takes megabytes. */

import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import type { SpanExporter } from '@opentelemetry/sdk-trace';

/** It reads OTEL_EXPORTER_OTLP_* itself. */
export function openGrpcExporter(): SpanExporter {
  return new OTLPTraceExporter();
}
