/** TLS of the gRPC port: which settings turn it on, and the files that they name. */

import { ServerTlsFiles } from './server-tls-files';
import { refuseUnusedTls } from './unused-tls';
import type { Settings } from '../table/settings';
import { SettingsError, type SettingProblem } from '../table/settings-error';

export type GrpcTlsSettings = Pick<
  Settings,
  'grpcServerUseTls' | 'grpcServerTlsCert' | 'grpcServerTlsKey' | 'grpcClientTlsCacert' | 'grpcClientTlsSan'
>;

/** Undefined: no TLS. Throws SettingsError with every problem. */
export function readGrpcTls(settings: GrpcTlsSettings): ServerTlsFiles | undefined {
  if (!settings.grpcServerUseTls) {
    refuseWithoutTls(settings);
    return undefined;
  }
  const { grpcServerTlsCert: cert, grpcServerTlsKey: key, grpcClientTlsCacert: clientCa, grpcClientTlsSan: clientSan } = settings;
  const problems: SettingProblem[] = [];
  if (cert === undefined)
    problems.push({ name: 'GRPC_SERVER_TLS_CERT', message: 'it is not set, but GRPC_SERVER_USE_TLS is true; name a PEM file' });
  if (key === undefined)
    problems.push({ name: 'GRPC_SERVER_TLS_KEY', message: 'it is not set, but GRPC_SERVER_USE_TLS is true; name a PEM file' });
  if (clientSan !== undefined && clientCa === undefined) {
    problems.push({
      name: 'GRPC_CLIENT_TLS_SAN',
      message: 'it is set, but GRPC_CLIENT_TLS_CACERT is not, so no client certificate is verified; set both or neither',
    });
  }
  if (cert === undefined || key === undefined || problems.length > 0) throw new SettingsError(problems);
  return new ServerTlsFiles({
    cert: { setting: 'GRPC_SERVER_TLS_CERT', path: cert },
    key: { setting: 'GRPC_SERVER_TLS_KEY', path: key },
    ...(clientCa !== undefined && { clientCa: { setting: 'GRPC_CLIENT_TLS_CACERT', path: clientCa } }),
  });
}

function refuseWithoutTls(settings: GrpcTlsSettings): void {
  refuseUnusedTls({
    turnedOnBy: 'GRPC_SERVER_USE_TLS',
    unused: {
      GRPC_SERVER_TLS_CERT: settings.grpcServerTlsCert,
      GRPC_SERVER_TLS_KEY: settings.grpcServerTlsKey,
      GRPC_CLIENT_TLS_CACERT: settings.grpcClientTlsCacert,
      GRPC_CLIENT_TLS_SAN: settings.grpcClientTlsSan,
    },
  });
}
