/** Envoy and Weir trace one request together, and Envoy's sampling decision applies. */
import { join } from 'node:path';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { until } from '../support/clock/until';
import { startOtlpReceiver, untilSpans, type OtlpReceiver, type ReceivedSpan } from '../support/servers/otlp-receiver';
import { startGateway, warmUp, type Gateway } from './chain/gateway';

const LIMITS = join(__dirname, 'chain', 'limits.yaml');
const CALL = 'envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

/** What the published file gets: a tracer that samples what its caller has sampled, and what has no decision yet; and the receiver. */
function withTracer(grpcPort: number): Record<string, string> {
  const tracer = [
    'stat_prefix: ingress',
    'tracing:',
    '  random_sampling: {value: 100}',
    '  provider:',
    '    name: envoy.tracers.opentelemetry',
    '    typed_config:',
    '      "@type": type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig',
    '      grpc_service: {envoy_grpc: {cluster_name: traces}, timeout: 5s}',
    '      service_name: gateway',
  ];
  const cluster = `  clusters:
  - name: traces
    type: STATIC
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
    load_assignment:
      cluster_name: traces
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: ${grpcPort}}}}}]}]
`;
  return { 'stat_prefix: ingress': tracer.join(`\n${' '.repeat(10)}`), '  clusters:\n': cluster };
}

let receiver: OtlpReceiver;
let weir: WeirProcess;
let gateway: Gateway;

beforeAll(async () => {
  receiver = await startOtlpReceiver();
  weir = await startWeir({
    config: LIMITS,
    env: {
      BACKEND_TYPE: 'memory',
      TRACING_ENABLED: 'true',
      TRACING_EXPORTER_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${receiver.grpcPort}`,
      OTEL_BSP_SCHEDULE_DELAY: '20',
    },
  });
  gateway = await startGateway({ weirGrpcPort: weir.grpcPort, replacements: withTracer(receiver.grpcPort) });
  await warmUp(gateway);
});

afterAll(async () => {
  await gateway.stop();
  await weir.stop();
  await receiver.close();
});

function send(traceId: string, flags: string): Promise<unknown> {
  return gateway.send('/search', { headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-${flags}` } });
}

test("a request sampled by its client has Envoy's spans, and below them Weir's call with its decision", async () => {
  const [unsampled, traceId] = ['a'.repeat(32), 'b'.repeat(32)];
  await send(unsampled, '00');
  await send(traceId, '01');
  const isOurs = (span: ReceivedSpan): boolean => span.traceId === traceId;
  const services = () => receiver.spans.filter(isOurs).map(({ resource }) => resource['service.name']);
  await until(() => services().includes('gateway') && services().includes('RateLimit')).catch(() => {
    throw new Error(`spans came from ${services().join(', ')}; Envoy's log:\n${gateway.output()}`);
  });
  const spans = await untilSpans(receiver, 4, isOurs);
  const call = spans.find(({ name }) => name === CALL)!;
  const decision = spans.find(({ name }) => name === 'decide')!;
  expect(decision.parentSpanId).toBe(call.spanId);
  expect(decision.attributes).toMatchObject({ 'weir.domain': 'payments', 'weir.verdict': 'OK' });
  const above = spans.filter(({ spanId }) => spanId === call.parentSpanId);
  expect(above.map(({ resource }) => resource['service.name'])).toEqual(['gateway']);
  // They were asked one after the other, so spans of the first would be here.
  expect(receiver.spans.filter((span) => span.traceId === unsampled)).toEqual([]);
});
