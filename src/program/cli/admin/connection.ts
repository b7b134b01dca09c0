/** How a command reaches the admin API: its options, and the environment variables behind them. */

import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { readCertificates, readIdentity } from '../../../configuration/settings/tls/pem-files';
import type { SettingProblem } from '../../../configuration/settings/table/settings-error';
import { readTimeoutMs } from '../read-timeout';
import { UsageError } from '../usage-error';
import type { AdminClientOptions } from './admin-client';

export const CONNECTION_OPTIONS = {
  url: { type: 'string', form: 'URL', help: 'URL of the admin API (default: WEIR_ADMIN_URL)' },
  'token-file': { type: 'string', form: 'FILE', help: 'file with the token (default: WEIR_ADMIN_TOKEN_FILE)' },
  ca: { type: 'string', form: 'FILE', help: 'CA bundle that must have signed the server certificate (default: WEIR_ADMIN_CA_FILE)' },
  cert: { type: 'string', form: 'FILE', help: 'client certificate' },
  key: { type: 'string', form: 'FILE', help: 'key of the client certificate' },
  timeout: { type: 'string', form: 'DURATION', help: 'timeout of each call (default 10s)' },
} as const;

type ConnectionValues = Partial<Record<keyof typeof CONNECTION_OPTIONS, string>>;

export interface Connection extends Omit<AdminClientOptions, 'options'> {
  /** Absent: nothing to warn of. */
  readonly warning?: string;
}

/** Longest token; one of a header must fit in 16 KiB. */
const TOKEN_BYTES_MAX = 8_192;

/** @throws UsageError */
export function readConnection(values: ConnectionValues, env: NodeJS.ProcessEnv): Connection {
  const url = readUrl(values.url ?? env.WEIR_ADMIN_URL);
  const token = readToken(values['token-file'] ?? env.WEIR_ADMIN_TOKEN_FILE);
  const tls = readTls(values, env);
  const isSecure = url.protocol === 'https:';
  if (!isSecure && (values.ca ?? values.cert ?? values.key) !== undefined)
    throw new UsageError(`--ca, --cert and --key need https, and the URL is ${url.href}; write https://`);
  const isInClear = !isSecure && token !== undefined && !isLoopback(url.hostname);
  return {
    url,
    tls,
    timeoutMs: readTimeoutMs(values.timeout ?? '10s'),
    ...(token !== undefined && { token }),
    ...(isInClear && { warning: `the token travels to ${url.host} in clear text; use https` }),
  };
}

function readUrl(given: string | undefined): URL {
  if (given === undefined || given === '')
    throw new UsageError('WEIR_ADMIN_URL is not set; set it to the URL of the admin API, such as http://localhost:8090, or give --url');
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const isUsable = url !== undefined && /^https?:$/.test(url.protocol) && `${url.username}${url.password}${url.search}${url.hash}` === '';
  if (isUsable) return url;
  // The text itself may hold a password.
  throw new UsageError('the URL of the admin API is not accepted; write http://HOST:PORT or https://HOST:PORT, without user and query');
}

function readToken(file: string | undefined): string | undefined {
  if (file === undefined || file === '') return undefined;
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new UsageError(
      `the token file ${file} can't be read (${(error as NodeJS.ErrnoException).code ?? String(error)}); check its path`,
    );
  }
  if (/^[\x21-\x7e]+$/.test(text) && text.length <= TOKEN_BYTES_MAX) return text;
  throw new UsageError(`the token file ${file} holds no token; write one token of printable ASCII, and nothing else, into it`);
}

function readTls({ ca, cert, key }: ConnectionValues, env: NodeJS.ProcessEnv): Connection['tls'] {
  const problems: SettingProblem[] = [];
  const caFile = ca ?? (env.WEIR_ADMIN_CA_FILE === '' ? undefined : env.WEIR_ADMIN_CA_FILE);
  const authorities = readCertificates({ name: ca === undefined ? 'WEIR_ADMIN_CA_FILE' : '--ca', file: caFile }, problems);
  const identity = readIdentity({ cert: { name: '--cert', file: cert }, key: { name: '--key', file: key } }, problems);
  if (problems.length > 0) throw new UsageError(problems.map(({ name, message }) => `${name}: ${message}`).join('\n'));
  return { ...(authorities !== undefined && { ca: authorities }), ...identity };
}

function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
