/** Reads and checks PEM files of outgoing connections, which settings or command-line options name. */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { SettingProblem } from '../table/settings-error';

/** A client certificate and its key, as PEM text. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

/** A setting or an option, and the file it names. */
export interface NamedFile {
  readonly name: string;
  readonly file: string | undefined;
}

/** The PEM text. Undefined if no file is named, or if it has a problem. */
export function readCertificates(named: NamedFile, problems: SettingProblem[]): string | undefined {
  return readPem({ ...named, check: checkCertificate, kind: 'certificate', problems });
}

/** Undefined if no files are named, or if they have a problem. */
export function readIdentity(
  files: { readonly cert: NamedFile; readonly key: NamedFile },
  problems: SettingProblem[],
): Identity | undefined {
  if ((files.cert.file === undefined) !== (files.key.file === undefined)) {
    const [missing, other] = files.cert.file === undefined ? [files.cert, files.key] : [files.key, files.cert];
    problems.push({ name: missing.name, message: `it is not set, but ${other.name} is; set both or neither` });
    return undefined;
  }
  const cert = readCertificates(files.cert, problems);
  const key = readPem({ ...files.key, check: createPrivateKey, kind: 'private key without a passphrase', problems });
  if (cert === undefined || key === undefined) return undefined;
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    problems.push({ name: files.key.name, message: `it is not the key of the certificate in ${files.cert.name}; name a matching pair` });
  }
  return { cert, key };
}

interface ReadPemInput extends NamedFile {
  /** Throws if the text is of another kind. */
  readonly check: (pem: string) => unknown;
  readonly kind: string;
  readonly problems: SettingProblem[];
}

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
