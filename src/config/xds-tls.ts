/** TLS towards the management server: whether, with which certificates; checked at the start, read again for each connection. */

import { refuseIdleTls } from './idle-tls';
import { readCertificates, readIdentity, type Identity } from './pem-files';
import type { Settings } from './settings';
import { SettingsError, type SettingProblem } from './settings-error';

export interface XdsTls {
  /** PEM text of who may have signed the server's certificate; without it, those that Node trusts. */
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

/** False: no TLS. Throws SettingsError with everything that is wrong. */
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
  refuseIdleTls({
    turnedOnBy: 'CONFIG_GRPC_XDS_SERVER_USE_TLS',
    idle: {
      CONFIG_GRPC_XDS_CLIENT_TLS_CERT: settings.configGrpcXdsClientTlsCert,
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: settings.configGrpcXdsClientTlsKey,
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: settings.configGrpcXdsServerTlsCacert,
      CONFIG_GRPC_XDS_SERVER_TLS_SAN: settings.configGrpcXdsServerTlsSan,
    },
  });
}
