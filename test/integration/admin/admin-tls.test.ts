/** The admin API verifies client certificates, refuses old versions of TLS, and loads renewed certificates while it runs. */

import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request, type RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TLSSocket } from 'node:tls';
import { tokenLine, TOKENS } from '../../support/admin/admin-server';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { makeCertificates, type Pair } from '../../support/servers/certificates';
import { freePort } from '../../support/servers/ports';
import { hangLimitMs } from '../../support/clock/hang-limit';

const TIMEOUT_MS = hangLimitMs(20_000);
const CONFIG = writeConfig('domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 10 } }]\n');

const certificates = makeCertificates();

let folder: string;
let weir: WeirProcess;
let port: number;
/** The files that Weir reads, which are replaced. */
let served: Pair;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-admin-tls-'));
  served = { cert: path.join(folder, 'tls.crt'), key: path.join(folder, 'tls.key') };
  use(certificates.server);
  writeFileSync(path.join(folder, 'tokens'), tokenLine('ann', 'admin', TOKENS.admin));
  port = await freePort();
  weir = await startWeir({
    config: CONFIG,
    env: {
      BACKEND_TYPE: 'memory',
      ADMIN_PORT: String(port),
      ADMIN_TOKENS_FILE: path.join(folder, 'tokens'),
      ADMIN_TLS_CERT: served.cert,
      ADMIN_TLS_KEY: served.key,
      ADMIN_TLS_CLIENT_CACERT: certificates.ca.cert,
    },
  });
  await until(() =>
    ask(certificates.client).then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
});

afterAll(async () => {
  await weir.stop();
  rmSync(folder, { recursive: true });
});

function use({ cert, key }: Pair): void {
  copyFileSync(key, served.key);
  copyFileSync(cert, served.cert);
}

interface Answer {
  readonly status: number;
  /** The name in the certificate of the server. */
  readonly server: string;
}

function ask(client: Pair | undefined, options: RequestOptions = {}): Promise<Answer> {
  const pair = client && { cert: readFileSync(client.cert), key: readFileSync(client.key) };
  const headers = { authorization: `Bearer ${TOKENS.admin}` };
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `https://127.0.0.1:${port}/v1/whoami`,
      { ca: readFileSync(certificates.ca.cert), ...pair, headers, agent: false, timeout: TIMEOUT_MS, ...options },
      (response) => {
        const { socket } = response;
        const server = socket instanceof TLSSocket ? String(socket.getPeerCertificate().subject.CN) : '';
        response.resume();
        response.once('end', () => {
          resolve({ status: response.statusCode ?? 0, server });
        });
      },
    );
    outgoing.once('timeout', () => outgoing.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
    outgoing.once('error', reject);
    outgoing.end();
  });
}

test('only clients with a certificate of the authority are answered', async () => {
  expect(await ask(certificates.client)).toEqual({ status: 200, server: 'redis' });
  await expect(ask(undefined)).rejects.toThrow(/certificate required|ECONNRESET|socket hang up/);
  await expect(ask(certificates.stranger)).rejects.toThrow(/unknown ca|ECONNRESET|socket hang up/);
});

test('a certificate does not replace the token', async () => {
  expect(await ask(certificates.client, { headers: {} })).toMatchObject({ status: 401 });
});

test('versions of TLS before 1.2 are refused', async () => {
  const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
  await expect(ask(certificates.client, old)).rejects.toThrow(/protocol version|unsupported protocol|ECONNRESET/);
});

test('replaced certificates are in use for new connections, and bad ones leave the last good ones in use', async () => {
  use(certificates.renewed);
  await until(async () => (await ask(certificates.client)).server === 'renewed');
  // The authority of clients holds as before.
  await expect(ask(undefined)).rejects.toThrow(/certificate required|ECONNRESET|socket hang up/);
  writeFileSync(served.cert, 'not a certificate\n');
  await until(() => weir.output().includes('changed certificates of the admin API are refused'));
  expect(await ask(certificates.client)).toEqual({ status: 200, server: 'renewed' });
  use(certificates.server);
  await until(async () => (await ask(certificates.client)).server === 'redis');
});
