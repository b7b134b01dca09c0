/** SSL_CERT_FILE, SSL_CERT_DIR and NODE_EXTRA_CA_CERTS name the trusted authorities as Go and Node read them. */

import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { rootCertificates } from 'node:tls';
import { readTrustedAuthorities } from '../../../src/configuration/settings/tls/trusted-authorities';
import { makeCertificates } from '../../support/servers/certificates';

const { ca, otherCa } = makeCertificates();
const pemOf = (file: string) => readFileSync(file, 'utf8').trim();
const folder = mkdtempSync(path.join(tmpdir(), 'weir-authorities-'));
const NOWHERE = path.join(folder, 'nowhere');

test('SSL_CERT_FILE replaces the files of the system, and repeated certificates are trusted once', () => {
  const file = path.join(folder, 'bundle.pem');
  writeFileSync(
    file,
    `# comment\n${pemOf(ca.cert)}\n${rootCertificates[0]!}\n${pemOf(ca.cert)}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
  );
  const { certificates, description } = readTrustedAuthorities({ SSL_CERT_FILE: file, SSL_CERT_DIR: NOWHERE });
  expect(certificates).toEqual([...rootCertificates, pemOf(ca.cert)]);
  expect(description).toBe(`${rootCertificates.length} that Node brings, 1 more in ${file}`);
});

test('SSL_CERT_DIR names folders, and links to themselves are skipped', () => {
  const [first, second] = ['first', 'second'].map((name) => mkdtempSync(path.join(folder, name)));
  writeFileSync(path.join(first!, 'a.pem'), pemOf(ca.cert));
  symlinkSync('a.pem', path.join(first!, '0123abcd.0'));
  writeFileSync(path.join(second!, 'b.crt'), pemOf(otherCa.cert));
  const { certificates } = readTrustedAuthorities({ SSL_CERT_FILE: NOWHERE, SSL_CERT_DIR: `${first!}:${second!}:${NOWHERE}` });
  expect(certificates.slice(rootCertificates.length)).toEqual([pemOf(ca.cert), pemOf(otherCa.cert)]);
});

test('NODE_EXTRA_CA_CERTS is trusted too, and may be absent', () => {
  const none = { SSL_CERT_FILE: NOWHERE, SSL_CERT_DIR: NOWHERE };
  expect(readTrustedAuthorities(none).certificates).toEqual(rootCertificates);
  expect(readTrustedAuthorities({ ...none, NODE_EXTRA_CA_CERTS: otherCa.cert }).certificates.at(-1)).toBe(pemOf(otherCa.cert));
});
