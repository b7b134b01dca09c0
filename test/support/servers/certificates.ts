/** Certificates for one test file, made by openssl: two authorities, and what they have signed. */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Paths of PEM files. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

export interface Certificates {
  readonly ca: Pair;
  /** Has signed `stranger` only. */
  readonly otherCa: Pair;
  /** For 127.0.0.1 and localhost. */
  readonly server: Pair;
  /** For a host that is not here. */
  readonly elsewhere: Pair;
  /** The same again, with another key. */
  readonly renewed: Pair;
  /** As `server`, with a key of RSA: one with which a client may ask for ciphers without forward secrecy. */
  readonly rsaServer: Pair;
  readonly client: Pair;
  /** A client's that names CLIENT_NAME. */
  readonly namedClient: Pair;
  readonly stranger: Pair;
  /** Another client's, whose certificate names this URI. */
  workload(uri: string): Pair;
}

export const CLIENT_NAME = 'envoy.weir.test';

/** Everything that openssl reads from a file. */
const OPENSSL_CONFIG = '[req]\ndistinguished_name = dn\n[dn]\n';

/** openssl 3 or newer signs in one step. `days`: how long they are valid. */
export function makeCertificates({ days = 2 }: { readonly days?: number } = {}): Certificates {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-certificates-'));
  const config = path.join(folder, 'openssl.cnf');
  writeFileSync(config, OPENSSL_CONFIG);
  const elliptic = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  const make = (name: string, extensions: readonly string[], signer?: Pair, key = elliptic): Pair => {
    const pair = { cert: path.join(folder, `${name}.crt`), key: path.join(folder, `${name}.key`) };
    const args = ['req', '-x509', '-config', config, ...key, '-nodes', '-days', String(days)];
    const signed = signer === undefined ? [] : ['-CA', signer.cert, '-CAkey', signer.key];
    const added = extensions.flatMap((extension) => ['-addext', extension]);
    openssl([...args, '-keyout', pair.key, '-out', pair.cert, '-subj', `/CN=${name}`, ...added, ...signed]);
    return pair;
  };
  const authority = ['basicConstraints=critical,CA:TRUE'];
  const ca = make('weir-test-ca', authority);
  const otherCa = make('weir-other-ca', authority);
  const here = ['basicConstraints=CA:FALSE', 'subjectAltName=IP:127.0.0.1,DNS:localhost'];
  const named = ['basicConstraints=CA:FALSE', `subjectAltName=DNS:${CLIENT_NAME}`];
  return {
    ca,
    otherCa,
    server: make('redis', here, ca),
    renewed: make('renewed', here, ca),
    rsaServer: make('rsa', here, ca, ['-newkey', 'rsa:2048']),
    elsewhere: make('elsewhere', ['basicConstraints=CA:FALSE', 'subjectAltName=DNS:redis.elsewhere.test'], ca),
    client: make('weir', ['basicConstraints=CA:FALSE'], ca),
    namedClient: make('envoy', named, ca),
    stranger: make('stranger', named, otherCa),
    workload: (uri) => make(uri.replaceAll(/\W/g, '-'), ['basicConstraints=CA:FALSE', `subjectAltName=URI:${uri}`], ca),
  };
}

/** What `openssl ca` keeps, and demands of a request. */
const AUTHORITY_CONFIG = `${OPENSSL_CONFIG}[ca]
default_ca = own
[own]
database = index.txt
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = anything
[anything]
commonName = supplied
`;

/**
 * A certificate that expired yesterday, signed by itself. Of the commands of openssl 3.0, only `ca` takes an end in the past that 3.5 accepts
 * too: `x509` no longer takes days below zero.
 */
export function makeExpired(): Pair {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-expired-'));
  const [config, request] = [path.join(folder, 'openssl.cnf'), path.join(folder, 'expired.csr')];
  const pair = { cert: path.join(folder, 'expired.crt'), key: path.join(folder, 'expired.key') };
  writeFileSync(config, AUTHORITY_CONFIG);
  writeFileSync(path.join(folder, 'index.txt'), '');
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', pair.key];
  openssl(['req', '-new', '-config', config, ...key, '-out', request, '-subj', '/CN=expired']);
  const valid = ['-startdate', dayOf(-2), '-enddate', dayOf(-1)];
  const files = ['-keyfile', pair.key, '-in', request, '-out', pair.cert];
  openssl(['ca', '-batch', '-selfsign', '-notext', '-config', config, ...valid, ...files], folder);
  return pair;
}

/** This moment on another day, as `openssl ca` reads it: 20260131120000Z. */
function dayOf(days: number): string {
  return `${new Date(Date.now() + days * 86_400_000).toISOString().replaceAll(/\D/g, '').slice(0, 14)}Z`;
}

function openssl(args: readonly string[], cwd?: string): void {
  try {
    execFileSync('openssl', args, { stdio: 'pipe', cwd });
  } catch (error) {
    const output = (error as { stderr?: Buffer }).stderr?.toString() ?? '';
    const problem = `\`openssl ${args[0]!}\` failed: ${output || String(error)}`;
    throw new Error(`${problem}${needsNewer() ? '\nopenssl 3 or newer is needed to make the certificates of the tests' : ''}`, {
      cause: error,
    });
  }
}

/** Whether the program is missing, too old, or LibreSSL. */
function needsNewer(): boolean {
  const { status, stdout } = spawnSync('openssl', ['version'], { encoding: 'utf8' });
  return status !== 0 || !/^OpenSSL (?:[3-9]|\d\d)\./.test(stdout);
}
