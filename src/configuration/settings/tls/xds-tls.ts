/** TLS towards the management server: whether it is on, and its certificates; checked at the start, read again for each connection. */

import { refuseUnusedTls } from './unused-tls';
import { readCertificates, readIdentity, type Identity } from './pem-files';
import type { Settings } from '../table/settings';
import { SettingsError, type SettingProblem } from '../table/settings-error';

export interface XdsTls {
  /** CA bundle that verifies the server's certificate, as PEM text. Default: the authorities that Node trusts. */
  readonly ca?: string;
  readonly identity?: Identity;
}

export type XdsTlsSettings = Pick<
  Settings,
  | 'configGrpcXdsServerUseTls'
  | 'configGrpcXdsClientTlsCert'
  | 'configGrpcXdsClientTlsKey'
  | 'configGrpcXdsServerTlsCacert'
  | 'configGrpcXdsServerTlsSan'
>;

/** False: no TLS. Throws SettingsError with every problem. */
export function readXdsTls(settings: XdsTlsSettings): XdsTls | false {
  if (!settings.configGrpcXdsServerUseTls) {
    refuseWithoutTls(settings);
    return false;
  }
  const problems: SettingProblem[] = [];
  const ca = readCertificates({ name: 'CONFIG_GRPC_XDS_SERVER_TLS_CACERT', file: settings.configGrpcXdsServerTlsCacert }, problems);
  const identity = readIdentity(
    {
      cert: { name: 'CONFIG_GRPC_XDS_CLIENT_TLS_CERT', file: settings.configGrpcXdsClientTlsCert },
      key: { name: 'CONFIG_GRPC_XDS_CLIENT_TLS_KEY', file: settings.configGrpcXdsClientTlsKey },
    },
    problems,
  );
  if (problems.length > 0) throw new SettingsError(problems);
  return { ...(ca !== undefined && { ca }), ...(identity !== undefined && { identity }) };
}

function refuseWithoutTls(settings: XdsTlsSettings): void {
  refuseUnusedTls({
    turnedOnBy: 'CONFIG_GRPC_XDS_SERVER_USE_TLS',
    unused: {
      CONFIG_GRPC_XDS_CLIENT_TLS_CERT: settings.configGrpcXdsClientTlsCert,
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: settings.configGrpcXdsClientTlsKey,
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: settings.configGrpcXdsServerTlsCacert,
      CONFIG_GRPC_XDS_SERVER_TLS_SAN: settings.configGrpcXdsServerTlsSan,
    },
  });
}
