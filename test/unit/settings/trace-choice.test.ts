/** A setting that the exporter of traces could not use prevents the start. */

import { readSettings, type Environment } from '../../../src/configuration/settings/table/settings';
import { chooseTracing } from '../../../src/configuration/settings/trace-choice';

const ON = { TRACING_ENABLED: 'true' };

function choiceOf(env: Environment): unknown {
  return chooseTracing(readSettings(env));
}

test('traces are off by default, whatever else is set', () => {
  expect(choiceOf({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' })).toBeUndefined();
});

test.each([
  [{}, { protocol: 'http', address: 'localhost:4318' }],
  [{ TRACING_EXPORTER_PROTOCOL: 'grpc' }, { protocol: 'grpc', address: 'localhost:4317' }],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://user:secret@collector:4318/path' }, { protocol: 'http', address: 'collector:4318' }],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a:1', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://b:2/traces' },
    { protocol: 'http', address: 'b:2' },
  ],
  [
    { TRACING_EXPORTER_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' },
    { protocol: 'grpc', address: 'collector:4317' },
  ],
])('the receiver of %j is %j, without credentials', (env, choice) => {
  expect(choiceOf({ ...ON, ...env })).toEqual(choice);
});

test.each([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, /OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" is not accepted; use a URL with http/],
  [
    { TRACING_EXPORTER_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'collector' },
    /TRACES_ENDPOINT: "collector" is not accepted; use a URL .* or host:port/,
  ],
  [{ OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE: '/no/such.pem' }, /OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE: .*ENOENT/],
  [
    { OTEL_EXPORTER_OTLP_CLIENT_KEY: '/no/such.pem' },
    /OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: it is not set, but OTEL_EXPORTER_OTLP_CLIENT_KEY is/,
  ],
  [{ TRACING_EXPORTER_PROTOCOL: 'zipkin' }, /TRACING_EXPORTER_PROTOCOL: "zipkin" is not accepted; use http, grpc/],
  [{ TRACING_SAMPLING_RATE: '2' }, /TRACING_SAMPLING_RATE: "2" is not accepted; use a number from 0 to 1/],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'secret' }, /OTEL_EXPORTER_OTLP_HEADERS: its value is not accepted/],
  [{ OTEL_EXPORTER_OTLP_TIMEOUT: '10s' }, /OTEL_EXPORTER_OTLP_TIMEOUT: "10s" is not accepted; use a whole number/],
])('a setting that the exporter could not use prevents the start: %j', (env, problem) => {
  expect(() => choiceOf({ ...ON, ...env })).toThrow(problem);
});
