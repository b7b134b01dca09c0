/** The exporter of OTLP over HTTP with protobuf. Loaded only if it is chosen. */

import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import type { SpanExporter } from '@opentelemetry/sdk-trace';

/** It reads OTEL_EXPORTER_OTLP_* itself. */
export function openHttpExporter(): SpanExporter {
  return new OTLPTraceExporter();
}
