/** TLS towards Redis: whether it is on, its certificates and what Weir verifies; read and checked at the start. */

import { refuseUnusedTls } from '../tls/unused-tls';
import { readCertificates, readIdentity, type Identity } from '../tls/pem-files';
import type { Settings } from '../table/settings';
import { SettingsError, type SettingProblem } from '../table/settings-error';

/** PEM text. */
export interface RedisTlsMaterial {
  /** CA bundle that verifies Redis's certificate. Default: the authorities that Node trusts. */
  readonly ca?: string;
  /** Client certificate and key. */
  readonly identity?: Identity;
}

export interface RedisTls extends RedisTlsMaterial {
  /** Reads the files again. Throws SettingsError with everything that is wrong. */
  readonly reread: () => RedisTlsMaterial;
  /** Whether Redis's certificate must name the host of the connection. The signatures are always verified. */
  readonly verifyHostname: boolean;
}

export type RedisTlsSettings = Pick<
  Settings,
  'redisTls' | 'redisTlsCacert' | 'redisTlsClientCert' | 'redisTlsClientKey' | 'redisTlsSkipHostnameVerification'
>;

export interface ReadRedisTlsInput {
  readonly settings: RedisTlsSettings;
  /** Whether the URL is rediss://. */
  readonly isTlsUrl: boolean;
  readonly isUnixSocket: boolean;
}

/** False: no TLS. Throws SettingsError with everything that is wrong. */
export function readRedisTls({ settings, isTlsUrl, isUnixSocket }: ReadRedisTlsInput): RedisTls | false {
  if (!settings.redisTls && !isTlsUrl) {
    refuseWithoutTls(settings);
    return false;
  }
  if (isUnixSocket) {
    const message = 'a unix socket does not support TLS; leave it unset, or set REDIS_SOCKET_TYPE=tcp and REDIS_URL=host:port';
    throw new SettingsError([{ name: 'REDIS_TLS', message }]);
  }
  const reread = () => readMaterial(settings);
  return { ...reread(), reread, verifyHostname: !settings.redisTlsSkipHostnameVerification };
}

function readMaterial(settings: RedisTlsSettings): RedisTlsMaterial {
  const problems: SettingProblem[] = [];
  const ca = readCertificates({ name: 'REDIS_TLS_CACERT', file: settings.redisTlsCacert }, problems);
  const identity = readIdentity(
    {
      cert: { name: 'REDIS_TLS_CLIENT_CERT', file: settings.redisTlsClientCert },
      key: { name: 'REDIS_TLS_CLIENT_KEY', file: settings.redisTlsClientKey },
    },
    problems,
  );
  if (problems.length > 0) throw new SettingsError(problems);
  return { ...(ca !== undefined && { ca }), ...(identity !== undefined && { identity }) };
}

/** Without this check the password would cross the network in the clear. */
function refuseWithoutTls(settings: RedisTlsSettings): void {
  refuseUnusedTls({
    turnedOnBy: 'REDIS_TLS',
    unused: {
      REDIS_TLS_CLIENT_CERT: settings.redisTlsClientCert,
      REDIS_TLS_CLIENT_KEY: settings.redisTlsClientKey,
      REDIS_TLS_CACERT: settings.redisTlsCacert,
      REDIS_TLS_SKIP_HOSTNAME_VERIFICATION: settings.redisTlsSkipHostnameVerification || undefined,
    },
  });
}
