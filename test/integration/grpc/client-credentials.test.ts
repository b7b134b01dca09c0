/** A client checks a TLS server with an IP address against its certificate. */

import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { status } from '@grpc/grpc-js';
import { callServer } from '../../../src/server/transport/grpc/call-server';
import { makeCertificates, type Pair } from '../../support/servers/certificates';
import { Harness } from '../../support/servers/transport-harness';

const REQUEST = { domain: 'd', descriptors: [{ entries: [{ key: 'k', value: 'v' }] }] };
const TIMEOUT_MS = 5_000;

const certificates = makeCertificates();
const authorities = readFileSync(certificates.ca.cert);

function pemOf({ cert, key }: Pair): { readonly cert: string; readonly key: string } {
  return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
}

function ask(port: number, host = '127.0.0.1', trusted = authorities) {
  return callServer({ address: `${host}:${port}`, request: REQUEST, timeoutMs: TIMEOUT_MS, tls: { authorities: trusted } });
}

test('the client accepts a certificate for the address, and rejects one for a name or of another authority', async () => {
  const harness = await Harness.start('lean', { tls: { material: pemOf(certificates.server) } });
  await expect(ask(harness.port)).resolves.toMatchObject({ overall_code: 1 });
  await expect(ask(harness.port, 'localhost')).resolves.toMatchObject({ overall_code: 1 });
  await expect(ask(harness.port, '127.0.0.1', readFileSync(certificates.otherCa.cert))).rejects.toMatchObject({ code: status.UNAVAILABLE });
  await harness.stop();

  const elsewhere = await Harness.start('lean', { tls: { material: pemOf(certificates.elsewhere) } });
  await expect(ask(elsewhere.port)).rejects.toMatchObject({
    code: status.UNAVAILABLE,
    details: expect.stringContaining("127.0.0.1 is not in the cert's list") as string,
  });
  await elsewhere.stop();
});

test('the client sends a host name as SNI, and no address', async () => {
  const names: unknown[] = [];
  const server = createServer({ ...pemOf(certificates.server), ALPNProtocols: ['h2'] }, (socket) => {
    names.push(socket.servername);
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  for (const host of ['127.0.0.1', 'localhost']) await expect(ask(port, host)).rejects.toMatchObject({ code: status.UNAVAILABLE });
  expect(names.slice(0, 1)).toEqual([false]);
  expect(names.at(-1)).toBe('localhost');
  server.close();
});
