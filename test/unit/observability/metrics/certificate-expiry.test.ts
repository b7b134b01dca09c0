/** The expiry of each certificate file is a gauge. */

import { copyFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Registry } from 'prom-client';
import { CERTIFICATE_METRIC, CertificateExpiry } from '../../../../src/server/observability/metrics/certificate-expiry';
import { readMetrics } from '../../../../src/server/observability/metrics/metrics-snapshot';
import { makeCertificates } from '../../../support/servers/certificates';

const DAY_S = 86_400;

it('shows when the file of each setting ends, and nothing for an unset, a missing or an invalid one', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-expiry-'));
  const [file, invalid] = [path.join(folder, 'tls.crt'), path.join(folder, 'invalid.crt')];
  const { server, client } = makeCertificates({ days: 10 });
  copyFileSync(server.cert, file);
  writeFileSync(invalid, 'not a certificate');
  const registry = new Registry();
  const expiry = new CertificateExpiry(registry, [
    { setting: 'ADMIN_TLS_CERT', file },
    { setting: 'REDIS_TLS_CLIENT_CERT', file: client.cert },
    { setting: 'UNSET', file: undefined },
    { setting: 'MISSING', file: path.join(folder, 'missing.crt') },
    { setting: 'INVALID', file: invalid },
  ]);
  /** Whole days from now, by setting. */
  const days = async () => {
    await expiry.refresh();
    const reading = (await readMetrics(registry)).find(({ name }) => name === CERTIFICATE_METRIC.name);
    return Array.from(reading?.values ?? [], ({ labels, value }) => [labels.setting, Math.round((value - Date.now() / 1000) / DAY_S)]);
  };
  expect(await days()).toEqual([
    ['ADMIN_TLS_CERT', 10],
    ['REDIS_TLS_CLIENT_CERT', 10],
  ]);
  copyFileSync(makeCertificates({ days: 90 }).server.cert, file);
  expect(await days()).toContainEqual(['ADMIN_TLS_CERT', 90]);
});
