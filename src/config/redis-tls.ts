/** TLS towards Redis: whether, with which certificates, and what is verified; read and checked at the start. */

import { refuseIdleTls } from './idle-tls';
import { readCertificates, readIdentity, type Identity } from './pem-files';
import type { Settings } from './settings';
import { SettingsError, type SettingProblem } from './settings-error';

export interface RedisTls {
  /** PEM text of who may have signed Redis's certificate; without it, those that Node trusts. */
  readonly ca?: string;
  /** Who we are, as PEM text. */
  readonly identity?: Identity;
  /** Whether Redis's certificate must name the host that we connect to. Its signatures are verified in any case. */
  readonly verifyHostname: boolean;
}

export type RedisTlsSettings = Pick<
  Settings,
  'redisTls' | 'redisTlsCacert' | 'redisTlsClientCert' | 'redisTlsClientKey' | 'redisTlsSkipHostnameVerification'
>;

export interface ReadRedisTlsInput {
  readonly settings: RedisTlsSettings;
  /** From a rediss:// URL. */
  readonly askedByUrl: boolean;
  readonly isUnixSocket: boolean;
}

/** False: no TLS. Throws SettingsError with everything that is wrong. */
export function readRedisTls({ settings, askedByUrl, isUnixSocket }: ReadRedisTlsInput): RedisTls | false {
  if (!settings.redisTls && !askedByUrl) {
    refuseWithoutTls(settings);
    return false;
  }
  if (isUnixSocket) {
    const message = 'Redis is asked over a unix socket, which has no TLS; leave it unset, or set REDIS_SOCKET_TYPE=tcp and REDIS_URL=host:port';
    throw new SettingsError([{ name: 'REDIS_TLS', message }]);
  }
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
  return {
    verifyHostname: !settings.redisTlsSkipHostnameVerification,
    ...(ca !== undefined && { ca }),
    ...(identity !== undefined && { identity }),
  };
}

/** Otherwise the password would cross the network in the clear. */
function refuseWithoutTls(settings: RedisTlsSettings): void {
  refuseIdleTls({
    turnedOnBy: 'REDIS_TLS',
    idle: {
      REDIS_TLS_CLIENT_CERT: settings.redisTlsClientCert,
      REDIS_TLS_CLIENT_KEY: settings.redisTlsClientKey,
      REDIS_TLS_CACERT: settings.redisTlsCacert,
      REDIS_TLS_SKIP_HOSTNAME_VERIFICATION: settings.redisTlsSkipHostnameVerification || undefined,
    },
  });
}
