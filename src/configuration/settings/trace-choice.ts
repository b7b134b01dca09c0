/** Chooses the receiver of traces, if any, and checks the settings that the exporters of OpenTelemetry read themselves. */

import { show } from '../../lib/quote';
import type { Settings } from './table/settings';
import { SettingsError, type SettingProblem } from './table/settings-error';
import { readCertificates, readIdentity, type NamedFile } from './tls/pem-files';

export interface TraceChoice {
  readonly protocol: Settings['tracingExporterProtocol'];
  /** Host and port of the receiver, for the log. */
  readonly address: string;
}

const DEFAULT_ADDRESS = { http: 'localhost:4318', grpc: 'localhost:4317' } as const;

type Named = readonly [name: string, value: string | undefined];

/** Undefined: traces are off. Throws SettingsError for an endpoint that is invalid, or a file that cannot be read. */
export function chooseTracing(settings: Settings): TraceChoice | undefined {
  if (!settings.tracingEnabled) return undefined;
  const problems: SettingProblem[] = [];
  const { tracingExporterProtocol: protocol } = settings;
  const endpoints: readonly Named[] = [
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', settings.otelExporterOtlpTracesEndpoint],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', settings.otelExporterOtlpEndpoint],
  ];
  const addresses = endpoints.flatMap(([name, value]) => {
    if (value === undefined) return [];
    const address = addressOf(value.trim(), protocol);
    if (address === undefined) problems.push({ name, message: `${show(value)} is not accepted; use ${ACCEPTED[protocol]}` });
    return address === undefined ? [] : [address];
  });
  checkFiles(settings, problems);
  if (problems.length > 0) throw new SettingsError(problems);
  return { protocol, address: addresses[0] ?? DEFAULT_ADDRESS[protocol] };
}

const ACCEPTED = {
  http: 'a URL with http:// or https://, such as http://collector:4318, or set TRACING_EXPORTER_PROTOCOL=grpc',
  grpc: 'a URL with http:// or https://, such as http://collector:4317, or host:port',
} as const;

/** Without credentials and path. Undefined: the exporter could not use it. */
function addressOf(endpoint: string, protocol: TraceChoice['protocol']): string | undefined {
  const hasScheme = /^https?:\/\//.test(endpoint);
  if (!hasScheme && (protocol === 'http' || !/^[^\s/@]+:\d{1,5}$/.test(endpoint))) return undefined;
  const url = hasScheme ? endpoint : `http://${endpoint}`;
  return URL.canParse(url) ? new URL(url).host : undefined;
}

/** The exporter would go on without a file that it cannot use. */
function checkFiles(settings: Settings, problems: SettingProblem[]): void {
  const own = (name: string, file: string | undefined, common: string | undefined): NamedFile =>
    file === undefined ? { name: `OTEL_EXPORTER_OTLP_${name}`, file: common } : { name: `OTEL_EXPORTER_OTLP_TRACES_${name}`, file };
  readCertificates(own('CERTIFICATE', settings.otelExporterOtlpTracesCertificate, settings.otelExporterOtlpCertificate), problems);
  const cert = own('CLIENT_CERTIFICATE', settings.otelExporterOtlpTracesClientCertificate, settings.otelExporterOtlpClientCertificate);
  const key = own('CLIENT_KEY', settings.otelExporterOtlpTracesClientKey, settings.otelExporterOtlpClientKey);
  readIdentity({ cert, key }, problems);
}
