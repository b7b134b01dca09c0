/** Whether there is an admin API, and how it authenticates and encrypts. */

import { ServerTlsFiles } from './tls/server-tls-files';
import type { Settings } from './table/settings';
import { SettingsError, type SettingProblem } from './table/settings-error';

export type AdminSettings = Pick<
  Settings,
  | 'adminPort'
  | 'adminHost'
  | 'adminAuth'
  | 'adminTokensFile'
  | 'adminJwtJwksFile'
  | 'adminJwtIssuer'
  | 'adminJwtAudience'
  | 'adminJwtRoleClaim'
  | 'adminTlsCert'
  | 'adminTlsKey'
  | 'adminTlsClientCacert'
  | 'adminFailedTriesMax'
  | 'adminBodyBytesMax'
  | 'adminPageMax'
  | 'adminStreamsMax'
  | 'adminConsole'
  | 'adminUsageOrigins'
  | 'adminPrometheusUrl'
>;

export interface JwtChoice {
  readonly jwksFile: string;
  readonly issuer: string;
  readonly audience: string;
  readonly roleClaim: string;
}

export interface AdminChoice {
  readonly host: string;
  readonly port: number;
  /** False: every request has the role admin. Only on a loopback address. */
  readonly needsAuth: boolean;
  readonly tokensFile?: string;
  readonly jwt?: JwtChoice;
  readonly tls?: ServerTlsFiles;
  /** Requests without valid credentials from one address in a minute. */
  readonly failedTriesMax: number;
  readonly bodyBytesMax: number;
  readonly pageMax: number;
  readonly streamsMax: number;
  readonly hasConsole: boolean;
  /** Origins whose pages may read the usage of a tenant. */
  readonly usageOrigins: readonly string[];
  /** Ends with a slash. Absent: no usage of a day. */
  readonly prometheusUrl?: string;
  /** Tokens would travel in clear text. */
  readonly warning?: string;
}

/** Undefined: there is none. Throws SettingsError with every problem. */
export function chooseAdmin(settings: AdminSettings): AdminChoice | undefined {
  const { adminPort: port, adminHost: host, adminAuth, adminTokensFile: tokensFile } = settings;
  if (port === undefined) return undefined;
  const problems: SettingProblem[] = [];
  const jwt = chooseJwt(settings, problems);
  const tls = chooseTls(settings, problems);
  const needsAuth = adminAuth === 'required';
  if (needsAuth && tokensFile === undefined && jwt === undefined && problems.length === 0) {
    const message =
      'it is set, but nothing says who may use the admin API; set ADMIN_TOKENS_FILE or ADMIN_JWT_JWKS_FILE, or ADMIN_AUTH=off for everyone on this machine';
    problems.push({ name: 'ADMIN_PORT', message });
  }
  if (!needsAuth && !isLoopback(host)) {
    problems.push({
      name: 'ADMIN_AUTH',
      message: `it is off, but ADMIN_HOST is ${host}; set ADMIN_HOST=127.0.0.1, or ADMIN_AUTH=required`,
    });
  }
  if (!needsAuth && (tokensFile !== undefined || jwt !== undefined)) {
    problems.push({ name: 'ADMIN_AUTH', message: 'it is off, but tokens or JWTs are set, which would not be checked; set one of the two' });
  }
  if (problems.length > 0) throw new SettingsError(problems);
  const {
    adminFailedTriesMax: failedTriesMax,
    adminBodyBytesMax: bodyBytesMax,
    adminPageMax: pageMax,
    adminStreamsMax: streamsMax,
    adminConsole: hasConsole,
    adminUsageOrigins: usageOrigins = [],
    adminPrometheusUrl: prometheusUrl,
  } = settings;
  const warning = `ADMIN_HOST is ${host}, and without ADMIN_TLS_CERT tokens travel in clear text; set ADMIN_TLS_CERT and ADMIN_TLS_KEY, or ADMIN_HOST=127.0.0.1.`;
  return {
    host,
    port,
    needsAuth,
    failedTriesMax,
    bodyBytesMax,
    pageMax,
    streamsMax,
    hasConsole,
    usageOrigins,
    ...(prometheusUrl !== undefined && { prometheusUrl }),
    ...(tokensFile !== undefined && { tokensFile }),
    ...(jwt !== undefined && { jwt }),
    ...(tls !== undefined && { tls }),
    ...(tls === undefined && !isLoopback(host) && { warning }),
  };
}

function chooseJwt(settings: AdminSettings, problems: SettingProblem[]): JwtChoice | undefined {
  const { adminJwtJwksFile: jwksFile, adminJwtIssuer: issuer, adminJwtAudience: audience, adminJwtRoleClaim: roleClaim } = settings;
  if (jwksFile === undefined && issuer === undefined && audience === undefined) return undefined;
  const all = { ADMIN_JWT_JWKS_FILE: jwksFile, ADMIN_JWT_ISSUER: issuer, ADMIN_JWT_AUDIENCE: audience };
  const message = 'it is not set, but JWTs need ADMIN_JWT_JWKS_FILE, ADMIN_JWT_ISSUER and ADMIN_JWT_AUDIENCE; set all three or none';
  for (const [name, value] of Object.entries(all)) if (value === undefined) problems.push({ name, message });
  if (jwksFile === undefined || issuer === undefined || audience === undefined) return undefined;
  return { jwksFile, issuer, audience, roleClaim };
}

function chooseTls(settings: AdminSettings, problems: SettingProblem[]): ServerTlsFiles | undefined {
  const { adminTlsCert: cert, adminTlsKey: key, adminTlsClientCacert: clientCa } = settings;
  if (cert === undefined && key === undefined && clientCa === undefined) return undefined;
  const message = 'it is not set, but TLS of the admin API needs ADMIN_TLS_CERT and ADMIN_TLS_KEY; set both, or no ADMIN_TLS_ setting';
  for (const [name, value] of Object.entries({ ADMIN_TLS_CERT: cert, ADMIN_TLS_KEY: key }))
    if (value === undefined) problems.push({ name, message });
  if (cert === undefined || key === undefined) return undefined;
  try {
    return new ServerTlsFiles({
      cert: { setting: 'ADMIN_TLS_CERT', path: cert },
      key: { setting: 'ADMIN_TLS_KEY', path: key },
      ...(clientCa !== undefined && { clientCa: { setting: 'ADMIN_TLS_CLIENT_CACERT', path: clientCa } }),
    });
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    problems.push(...error.problems);
    return undefined;
  }
}

/** A host that only this machine reaches. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/i.test(host);
}
