/** The settings of traces: the names of envoyproxy/ratelimit, and those of OpenTelemetry. */

import { boolean, integer, oneOf, pairs, ratio, text, textLike } from './setting-types';
import { row } from './setting-row';

const traces = { group: 'Traces' } as const;

/** With a scheme, or as gRPC writes it. `src/configuration/settings/trace-choice.ts` checks it further. */
const ENDPOINT = textLike({ pattern: /^\s*\S+\s*$/, accepts: 'a URL, such as http://collector:4318' });

const PAIRS = { separator: '=', accepts: 'name=value,name=value in ASCII' } as const;

/** Values are in percent-encoding. */
const HEADERS = pairs({ ...PAIRS, names: /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, values: /^[!-~ ]*$/ });
const ATTRIBUTES = pairs({ ...PAIRS, names: /^[!-~]+$/, values: /^[!-~ ]*$/ });

const TIMEOUT = integer({ min: 1, max: 600_000 });

/**
 * The exporters of OpenTelemetry read the variables OTEL_EXPORTER_OTLP_* and OTEL_RESOURCE_ATTRIBUTES themselves. Their rows are here so that a wrong
 * value prevents the start, where the exporters would use a default.
 */
export const TRACE_SETTINGS = {
  tracingEnabled: row({
    ...traces,
    name: 'TRACING_ENABLED',
    type: boolean(),
    default: 'false',
    meaning: 'Send traces of decisions over OTLP ([traces.md](traces.md)).',
  }),
  tracingExporterProtocol: row({
    ...traces,
    name: 'TRACING_EXPORTER_PROTOCOL',
    type: oneOf(['http', 'grpc']),
    default: 'http',
    meaning: 'OTLP with protobuf over HTTP or gRPC.',
  }),
  tracingServiceName: row({
    ...traces,
    name: 'TRACING_SERVICE_NAME',
    type: text('a name'),
    default: 'RateLimit',
    meaning: '`service.name` of all spans.',
  }),
  tracingServiceNamespace: row({
    ...traces,
    name: 'TRACING_SERVICE_NAMESPACE',
    type: text('a name'),
    default: undefined,
    meaning: '`service.namespace` of all spans.',
  }),
  tracingServiceInstanceId: row({
    ...traces,
    name: 'TRACING_SERVICE_INSTANCE_ID',
    type: text('a name'),
    default: undefined,
    meaning: '`service.instance.id` of all spans. Unset: a random UUID for each process.',
  }),
  tracingSamplingRate: row({
    ...traces,
    name: 'TRACING_SAMPLING_RATE',
    type: ratio(),
    default: '1',
    meaning: "Part of calls that is traced if the caller sends no sampling decision; a caller's decision always applies.",
  }),
  tracingValues: row({
    ...traces,
    name: 'TRACING_VALUES',
    type: boolean(),
    default: 'false',
    meaning:
      'Show keys and values of descriptors in spans, which may name tenants and addresses. If false: only rules, domains and numbers.',
  }),
  otelExporterOtlpEndpoint: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    type: ENDPOINT,
    default: undefined,
    meaning:
      'Receiver. Over HTTP, `/v1/traces` is added; over gRPC, `http` means without TLS, `host:port` with TLS. Unset: `http://localhost:4318`, or port 4317 for gRPC.',
  }),
  otelExporterOtlpTracesEndpoint: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    type: ENDPOINT,
    default: undefined,
    meaning: 'Receiver, used as it is. Wins over OTEL_EXPORTER_OTLP_ENDPOINT.',
  }),
  otelExporterOtlpHeaders: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    type: HEADERS,
    default: undefined,
    secret: true,
    meaning: 'Headers for the receiver, with values in percent-encoding.',
  }),
  otelExporterOtlpTracesHeaders: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
    type: HEADERS,
    default: undefined,
    secret: true,
    meaning: 'Further headers, which win over OTEL_EXPORTER_OTLP_HEADERS.',
  }),
  otelExporterOtlpTimeout: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    type: TIMEOUT,
    default: undefined,
    meaning: 'Time for the answer to a batch, in milliseconds. Unset: `10000`.',
  }),
  otelExporterOtlpTracesTimeout: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT',
    type: TIMEOUT,
    default: undefined,
    meaning: 'Wins over OTEL_EXPORTER_OTLP_TIMEOUT.',
  }),
  otelExporterOtlpCompression: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_COMPRESSION',
    type: oneOf(['none', 'gzip']),
    default: undefined,
    meaning: 'Compression of batches. Unset: `none`.',
  }),
  otelExporterOtlpTracesCompression: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_TRACES_COMPRESSION',
    type: oneOf(['none', 'gzip']),
    default: undefined,
    meaning: 'Wins over OTEL_EXPORTER_OTLP_COMPRESSION.',
  }),
  otelExporterOtlpCertificate: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'CA bundle of the receiver. Unset: system roots.',
  }),
  otelExporterOtlpTracesCertificate: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'Wins over OTEL_EXPORTER_OTLP_CERTIFICATE.',
  }),
  otelExporterOtlpClientCertificate: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'Client certificate chain for the receiver.',
  }),
  otelExporterOtlpTracesClientCertificate: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'Wins over OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE.',
  }),
  otelExporterOtlpClientKey: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_CLIENT_KEY',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'Private key of OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE.',
  }),
  otelExporterOtlpTracesClientKey: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'Wins over OTEL_EXPORTER_OTLP_CLIENT_KEY.',
  }),
  otelExporterOtlpInsecure: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_INSECURE',
    type: oneOf(['true', 'false']),
    default: undefined,
    meaning: 'Over gRPC, no TLS for an endpoint without `http://` or `https://`. Unset: `false`.',
  }),
  otelExporterOtlpTracesInsecure: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_TRACES_INSECURE',
    type: oneOf(['true', 'false']),
    default: undefined,
    meaning: 'Wins over OTEL_EXPORTER_OTLP_INSECURE.',
  }),
  otelResourceAttributes: row({
    ...traces,
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    type: ATTRIBUTES,
    default: undefined,
    meaning: 'Further attributes of all spans, with values in percent-encoding. TRACING_SERVICE_* win.',
  }),
  otelBspMaxQueueSize: row({
    ...traces,
    name: 'OTEL_BSP_MAX_QUEUE_SIZE',
    type: integer({ min: 16, max: 100_000 }),
    default: '2048',
    meaning: 'Most spans that wait; a decision has about three. A call that ends while the queue is full is not traced.',
  }),
  otelBspMaxExportBatchSize: row({
    ...traces,
    name: 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
    type: integer({ min: 1, max: 10_000 }),
    default: '512',
    meaning: 'Most spans of a batch.',
  }),
  otelBspScheduleDelay: row({
    ...traces,
    name: 'OTEL_BSP_SCHEDULE_DELAY',
    type: integer({ min: 1, max: 600_000 }),
    default: '5000',
    meaning: 'Longest wait of a span for its batch, in milliseconds.',
  }),
  otelBspExportTimeout: row({
    ...traces,
    name: 'OTEL_BSP_EXPORT_TIMEOUT',
    type: integer({ min: 1, max: 600_000 }),
    default: '30000',
    meaning: 'Milliseconds until the next batch is sent without an answer to the last.',
  }),
};
