/** TLS towards Redis: whether, with which certificates, and what is verified; read and checked at the start. */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Settings } from './settings';
import { SettingsError, type SettingProblem } from './settings-error';

export interface RedisTls {
  /** PEM text of who may have signed Redis's certificate; without it, those that Node trusts. */
  readonly ca?: string;
  /** Who we are, as PEM text. */
  readonly identity?: { readonly cert: string; readonly key: string };
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
  if (!settings.redisTls && !askedByUrl) return refuseWithoutTls(settings);
  if (isUnixSocket) {
    const message = 'Redis is asked over a unix socket, which has no TLS; leave it unset, or set REDIS_SOCKET_TYPE=tcp and REDIS_URL=host:port';
    throw new SettingsError([{ name: 'REDIS_TLS', message }]);
  }
  const problems: SettingProblem[] = [];
  const ca = readPem({ name: 'REDIS_TLS_CACERT', file: settings.redisTlsCacert, check: checkCertificate, kind: 'certificate', problems });
  const identity = readIdentity(settings, problems);
  if (problems.length > 0) throw new SettingsError(problems);
  return {
    verifyHostname: !settings.redisTlsSkipHostnameVerification,
    ...(ca !== undefined && { ca }),
    ...(identity !== undefined && { identity }),
  };
}

/** Whoever names certificates wants TLS: without it the password would cross the network in the clear. */
function refuseWithoutTls(settings: RedisTlsSettings): false {
  const idle: readonly (readonly [string, unknown])[] = [
    ['REDIS_TLS_CLIENT_CERT', settings.redisTlsClientCert],
    ['REDIS_TLS_CLIENT_KEY', settings.redisTlsClientKey],
    ['REDIS_TLS_CACERT', settings.redisTlsCacert],
    ['REDIS_TLS_SKIP_HOSTNAME_VERIFICATION', settings.redisTlsSkipHostnameVerification || undefined],
  ];
  const message = 'it is set, but TLS is off; set REDIS_TLS=true, or leave it unset';
  const problems = idle.filter(([, value]) => value !== undefined).map(([name]) => ({ name, message }));
  if (problems.length > 0) throw new SettingsError(problems);
  return false;
}

function readIdentity(settings: RedisTlsSettings, problems: SettingProblem[]): RedisTls['identity'] {
  const { redisTlsClientCert: certFile, redisTlsClientKey: keyFile } = settings;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const [name, other] = certFile === undefined ? ['REDIS_TLS_CLIENT_CERT', 'REDIS_TLS_CLIENT_KEY'] : ['REDIS_TLS_CLIENT_KEY', 'REDIS_TLS_CLIENT_CERT'];
    problems.push({ name, message: `it is not set, but ${other} is; set both or neither` });
    return undefined;
  }
  const cert = readPem({ name: 'REDIS_TLS_CLIENT_CERT', file: certFile, check: checkCertificate, kind: 'certificate', problems });
  const key = readPem({ name: 'REDIS_TLS_CLIENT_KEY', file: keyFile, check: createPrivateKey, kind: 'private key without a passphrase', problems });
  if (cert === undefined || key === undefined) return undefined;
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    problems.push({ name: 'REDIS_TLS_CLIENT_KEY', message: 'it is not the key of the certificate in REDIS_TLS_CLIENT_CERT; name the two that belong together' });
  }
  return { cert, key };
}

interface ReadPemInput {
  readonly name: string;
  readonly file: string | undefined;
  /** Throws if the text is no such thing. */
  readonly check: (pem: string) => unknown;
  readonly kind: string;
  readonly problems: SettingProblem[];
}

/** Its text. Undefined if no file is named, or if there is a problem with it. */
function readPem({ name, file, check, kind, problems }: ReadPemInput): string | undefined {
  if (file === undefined) return undefined;
  let pem: string;
  try {
    pem = readFileSync(file, 'utf8');
  } catch (error) {
    problems.push({ name, message: `${file} can't be read (${(error as NodeJS.ErrnoException).code ?? String(error)}); name a PEM file` });
    return undefined;
  }
  try {
    check(pem);
    return pem;
  } catch {
    problems.push({ name, message: `${file} holds no ${kind}; name a PEM file with one` });
    return undefined;
  }
}

function checkCertificate(pem: string): X509Certificate {
  return new X509Certificate(pem);
}
