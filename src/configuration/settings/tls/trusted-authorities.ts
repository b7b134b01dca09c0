/** Collects the certificate authorities that are trusted by default: those of Node, of this system, and of SSL_CERT_FILE, SSL_CERT_DIR and NODE_EXTRA_CA_CERTS. */

import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import path from 'node:path';
import { rootCertificates } from 'node:tls';

/** Where systems keep certificates, as in Go's crypto/x509: the first existing file, and every folder. */
const FILES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/tls/cacert.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
];
const FOLDERS = ['/etc/ssl/certs', '/etc/pki/tls/certs'];

/** Larger files, in bytes, and further files of a folder are skipped. */
const FILE_BYTES_MAX = 8 * 1024 * 1024;
const FOLDER_FILES_MAX = 5_000;

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

export interface TrustedAuthorities {
  /** PEM texts without duplicates. */
  readonly certificates: readonly string[];
  /** For logs: the number of certificates from each source. */
  readonly description: string;
}

/** Reads the files again on each call: once for each client, never for a request. Skips what is not a certificate. */
export function readTrustedAuthorities(env: NodeJS.ProcessEnv = process.env): TrustedAuthorities {
  const known = new Set<string>(rootCertificates.map(bare));
  const certificates = [...rootCertificates];
  const sources = [`${certificates.length} that Node brings`];
  const add = (source: string, texts: readonly string[]): void => {
    const before = certificates.length;
    for (const certificate of texts.flatMap((text) => text.match(CERTIFICATE) ?? [])) {
      const content = bare(certificate);
      if (known.has(content) || !isCertificate(certificate)) continue;
      known.add(content);
      certificates.push(certificate);
    }
    if (texts.length > 0) sources.push(`${certificates.length - before} more in ${source}`);
  };
  for (const file of filesOf(env)) {
    const text = readText(file);
    add(file, text === undefined ? [] : [text]);
    if (text !== undefined) break;
  }
  for (const folder of foldersOf(env)) add(folder, readFolder(folder));
  // Node itself ignores this file if another source is named.
  const extra = env.NODE_EXTRA_CA_CERTS;
  const extraText = extra === undefined ? undefined : readText(extra);
  if (extra !== undefined && extraText !== undefined) add(extra, [extraText]);
  return { certificates, description: sources.join(', ') };
}

/** The same for a gRPC client. Undefined if GRPC_DEFAULT_SSL_ROOTS_FILE_PATH names others, which grpc-js reads itself. */
export function grpcAuthorities(env: NodeJS.ProcessEnv = process.env): Buffer | undefined {
  return env.GRPC_DEFAULT_SSL_ROOTS_FILE_PATH === undefined ? Buffer.from(readTrustedAuthorities(env).certificates.join('\n')) : undefined;
}

function filesOf(env: NodeJS.ProcessEnv): readonly string[] {
  const named = env.SSL_CERT_FILE;
  return named === undefined || named === '' ? FILES : [named];
}

function foldersOf(env: NodeJS.ProcessEnv): readonly string[] {
  const named = env.SSL_CERT_DIR;
  return named === undefined || named === '' ? FOLDERS : named.split(':');
}

/** Skips links within the folder: they are other names of files that are read anyway. */
function readFolder(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true }).slice(0, FOLDER_FILES_MAX);
    return entries.flatMap((entry) => {
      const file = path.join(folder, entry.name);
      return entry.isSymbolicLink() && isNameWithin(file) ? [] : (readText(file) ?? []);
    });
  } catch {
    return [];
  }
}

/** Also false for a link that no longer exists. */
function isNameWithin(link: string): boolean {
  try {
    return !readlinkSync(link).includes('/');
  } catch {
    return false;
  }
}

function readText(file: string): string | undefined {
  try {
    const about = statSync(file);
    return about.isFile() && about.size <= FILE_BYTES_MAX ? readFileSync(file, 'latin1') : undefined;
  } catch {
    return undefined;
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

function bare(pem: string): string {
  return pem.replace(/\s+/g, '');
}
