/** Finds certificates of this process that have expired: no peer would accept them. */

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Settings } from '../table/settings';
import type { SettingProblem } from '../table/settings-error';

export type CertificateSettings = Pick<
  Settings,
  | 'grpcServerUseTls'
  | 'grpcServerTlsCert'
  | 'adminPort'
  | 'adminTlsCert'
  | 'redisTlsClientCert'
  | 'configType'
  | 'configGrpcXdsClientTlsCert'
  | 'tracingEnabled'
  | 'otelExporterOtlpClientCertificate'
  | 'otelExporterOtlpTracesClientCertificate'
>;

/** One problem for each. A file that holds no certificate is a problem of its own, and is left out. */
export function expiredCertificates(settings: CertificateSettings, nowMs: number): readonly SettingProblem[] {
  return Object.entries(filesInUse(settings)).flatMap(([name, file]) => {
    const endMs = file === undefined ? undefined : endOf(file);
    if (endMs === undefined || endMs > nowMs) return [];
    return [{ name, message: `the certificate in ${file ?? ''} expired at ${new Date(endMs).toISOString()}; name a valid one` }];
  });
}

function filesInUse(settings: CertificateSettings): Readonly<Record<string, string | undefined>> {
  const { grpcServerUseTls, adminPort, configType, tracingEnabled, otelExporterOtlpTracesClientCertificate: ofTraces } = settings;
  return {
    ...(grpcServerUseTls && { GRPC_SERVER_TLS_CERT: settings.grpcServerTlsCert }),
    ...(adminPort !== undefined && { ADMIN_TLS_CERT: settings.adminTlsCert }),
    REDIS_TLS_CLIENT_CERT: settings.redisTlsClientCert,
    ...(configType === 'GRPC_XDS_SOTW' && { CONFIG_GRPC_XDS_CLIENT_TLS_CERT: settings.configGrpcXdsClientTlsCert }),
    ...(tracingEnabled && {
      [ofTraces === undefined ? 'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE' : 'OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE']:
        ofTraces ?? settings.otelExporterOtlpClientCertificate,
    }),
  };
}

/** In milliseconds of Unix time. */
function endOf(file: string): number | undefined {
  try {
    return Date.parse(new X509Certificate(readFileSync(file)).validTo);
  } catch {
    return undefined;
  }
}
