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
    meaning:
      'Send traces of decisions to a receiver of OpenTelemetry, over OTLP ([traces.md](traces.md)). If false, Weir loads nothing for it.',
  }),
  tracingExporterProtocol: row({
    ...traces,
    name: 'TRACING_EXPORTER_PROTOCOL',
    type: oneOf(['http', 'grpc']),
    default: 'http',
    meaning: 'Protocol to the receiver: OTLP with protobuf over HTTP or over gRPC.',
  }),
  tracingServiceName: row({
    ...traces,
    name: 'TRACING_SERVICE_NAME',
    type: text('a name'),
    default: 'RateLimit',
    meaning: 'Attribute `service.name` of all spans.',
  }),
  tracingServiceNamespace: row({
    ...traces,
    name: 'TRACING_SERVICE_NAMESPACE',
    type: text('a name'),
    default: undefined,
    meaning: 'Attribute `service.namespace` of all spans. Unset: none.',
  }),
  tracingServiceInstanceId: row({
    ...traces,
    name: 'TRACING_SERVICE_INSTANCE_ID',
    type: text('a name'),
    default: undefined,
    meaning: 'Attribute `service.instance.id` of all spans. Unset: a random UUID for each process.',
  }),
  tracingSamplingRate: row({
    ...traces,
    name: 'TRACING_SAMPLING_RATE',
    type: ratio(),
    default: '1',
    meaning: 'The part of calls that is traced if the caller sends no sampling decision. A decision of the caller always applies.',
  }),
  tracingValues: row({
    ...traces,
    name: 'TRACING_VALUES',
    type: boolean(),
    default: 'false',
    meaning:
      'Show the keys and values of descriptors in spans, as received. They may name tenants and addresses. If false, spans show only rules, domains and numbers.',
  }),
  otelExporterOtlpEndpoint: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    type: ENDPOINT,
    default: undefined,
    meaning:
      'URL of the receiver, such as `http://collector:4318`. Over HTTP, `/v1/traces` is added. Over gRPC, `http` means without TLS, and `host:port` with TLS. Unset: `http://localhost:4318`, or port 4317 for gRPC. OTEL_EXPORTER_OTLP_TRACES_ENDPOINT comes first.',
  }),
  otelExporterOtlpTracesEndpoint: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    type: ENDPOINT,
    default: undefined,
    meaning: 'URL of the receiver, used as it is. Unset: OTEL_EXPORTER_OTLP_ENDPOINT.',
  }),
  otelExporterOtlpHeaders: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    type: HEADERS,
    default: undefined,
    secret: true,
    meaning:
      'Headers for the receiver, as `name=value,name=value` with values in percent-encoding. OTEL_EXPORTER_OTLP_TRACES_HEADERS comes first.',
  }),
  otelExporterOtlpTracesHeaders: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
    type: HEADERS,
    default: undefined,
    secret: true,
    meaning: 'Headers for the receiver, beside those of OTEL_EXPORTER_OTLP_HEADERS.',
  }),
  otelExporterOtlpTimeout: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    type: TIMEOUT,
    default: undefined,
    meaning:
      'Time that the receiver has to answer a batch, in milliseconds. Unset: `10000`. OTEL_EXPORTER_OTLP_TRACES_TIMEOUT comes first.',
  }),
  otelExporterOtlpTracesTimeout: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT',
    type: TIMEOUT,
    default: undefined,
    meaning: 'The same as OTEL_EXPORTER_OTLP_TIMEOUT, which it replaces.',
  }),
  otelExporterOtlpCompression: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_COMPRESSION',
    type: oneOf(['none', 'gzip']),
    default: undefined,
    meaning: 'Compression of batches. Unset: `none`. OTEL_EXPORTER_OTLP_TRACES_COMPRESSION comes first.',
  }),
  otelExporterOtlpTracesCompression: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_TRACES_COMPRESSION',
    type: oneOf(['none', 'gzip']),
    default: undefined,
    meaning: 'The same as OTEL_EXPORTER_OTLP_COMPRESSION, which it replaces.',
  }),
  otelExporterOtlpCertificate: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning:
      'CA bundle that must have signed the certificate of the receiver. Unset: system roots. OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE comes first.',
  }),
  otelExporterOtlpTracesCertificate: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'The same as OTEL_EXPORTER_OTLP_CERTIFICATE, which it replaces.',
  }),
  otelExporterOtlpClientCertificate: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'Client certificate chain for the receiver. OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE comes first.',
  }),
  otelExporterOtlpTracesClientCertificate: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'The same as OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE, which it replaces.',
  }),
  otelExporterOtlpClientKey: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_CLIENT_KEY',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'Private key of the client certificate for the receiver. OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY comes first.',
  }),
  otelExporterOtlpTracesClientKey: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'The same as OTEL_EXPORTER_OTLP_CLIENT_KEY, which it replaces.',
  }),
  otelExporterOtlpInsecure: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_INSECURE',
    type: oneOf(['true', 'false']),
    default: undefined,
    meaning:
      'Over gRPC, use no TLS for an endpoint without `http://` or `https://`. Unset: `false`. OTEL_EXPORTER_OTLP_TRACES_INSECURE comes first.',
  }),
  otelExporterOtlpTracesInsecure: row({
    ...traces,
    name: 'OTEL_EXPORTER_OTLP_TRACES_INSECURE',
    type: oneOf(['true', 'false']),
    default: undefined,
    meaning: 'The same as OTEL_EXPORTER_OTLP_INSECURE, which it replaces.',
  }),
  otelResourceAttributes: row({
    ...traces,
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    type: ATTRIBUTES,
    default: undefined,
    meaning:
      'Further attributes of all spans, as `name=value,name=value` with values in percent-encoding. Attributes of TRACING_SERVICE_* come first.',
  }),
  otelBspMaxQueueSize: row({
    ...traces,
    name: 'OTEL_BSP_MAX_QUEUE_SIZE',
    type: integer({ min: 16, max: 100_000 }),
    default: '2048',
    meaning: 'Most spans that wait to be sent; a decision has about three. A call that ends while the queue is full is not traced.',
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
    meaning: 'Longest wait of a span before its batch is sent, in milliseconds.',
  }),
  otelBspExportTimeout: row({
    ...traces,
    name: 'OTEL_BSP_EXPORT_TIMEOUT',
    type: integer({ min: 1, max: 600_000 }),
    default: '30000',
    meaning: 'Time after which the next batch is sent although the last one has no answer, in milliseconds.',
  }),
};
