/** The gRPC port admits only valid clients over TLS 1.2 and 1.3, and loads new certificates without a failed call. */

import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { Client, credentials, status, type ChannelCredentials } from '@grpc/grpc-js';
import type { ServerTls, ServerTlsMaterial } from '../../../src/server/transport/port/server-tls';
import type { WireRequest, WireResponse } from '../../../src/server/transport/messages/wire';
import { CLIENT_NAME, makeCertificates, type Pair } from '../../support/servers/certificates';
import { httpRequest } from '../../support/clients/http-client';
import { writeConfig } from '../../support/config/temp-config';
import { Harness, proto, TRANSPORTS, unary, type HarnessOptions } from '../../support/servers/transport-harness';
import { until } from '../../support/clock/until';
import { startWeir } from '../../support/processes/weir-process';
import { hangLimitMs } from '../../support/clock/hang-limit';

const REQUEST: WireRequest = { domain: 'edge', descriptors: [{ entries: [{ key: 'user', value: 'zoe' }] }] };
const WAIT_MS = 10_000;

const certificates = makeCertificates();
const pem = (file: string) => readFileSync(file, 'utf8');
const ca = pem(certificates.ca.cert);

function materialOf({ cert, key }: Pair): ServerTlsMaterial {
  return { cert: pem(cert), key: pem(key) };
}

function trusting(pair?: Pair, authority = certificates.ca): ChannelCredentials {
  return credentials.createSsl(
    readFileSync(authority.cert),
    pair === undefined ? null : readFileSync(pair.key),
    pair === undefined ? null : readFileSync(pair.cert),
  );
}

function ask(client: Client): Promise<WireResponse> {
  const { path: method, requestSerialize, responseDeserialize } = proto.rateLimit.ShouldRateLimit;
  return unary({
    client,
    path: method,
    request: REQUEST,
    serialize: requestSerialize,
    deserialize: responseDeserialize,
    options: { deadline: Date.now() + hangLimitMs(WAIT_MS) },
  });
}

function check(client: Client): Promise<object> {
  const { path: method, requestSerialize, responseDeserialize } = proto.health.Check!;
  return unary({ client, path: method, request: {}, serialize: requestSerialize, deserialize: responseDeserialize });
}

describe.each(TRANSPORTS)('TLS on the gRPC port (%s)', (transport) => {
  let harness: Harness;

  const start = async (tls: ServerTls, options: HarnessOptions = {}) => {
    harness = await Harness.start(transport, { tls, ...options });
  };

  afterEach(async () => {
    await harness.stop();
    expect(harness.faults).toEqual([]);
    await until(() => harness.connections.open === 0);
  });

  /** A TLS handshake by hand; resolves with the socket, or rejects if there is none. */
  function shake(options: ConnectionOptions): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port: harness.port, host: '127.0.0.1', ca, ...options });
      socket.once('secureConnect', () => {
        resolve(socket);
      });
      socket.on('error', reject);
    });
  }

  /** What the server sends before it closes; a socket that it keeps open says something first. */
  function firstBytes(socket: TLSSocket): Promise<number> {
    return new Promise((resolve) => {
      socket.once('data', (bytes: Buffer) => {
        socket.destroy();
        resolve(bytes.length);
      });
      socket.once('close', () => {
        resolve(0);
      });
    });
  }

  describe('with server certificates alone', () => {
    beforeEach(() => start({ material: materialOf(certificates.server) }));

    test('decisions and every other call are answered over TLS', async () => {
      const client = harness.client({ credentials: trusting() });
      const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? ask(client) : check(client))));
      for (const [index, answer] of answers.entries()) expect(answer).toMatchObject(index % 2 === 0 ? { overall_code: 1 } : { status: 1 });
      expect(harness.connections).toEqual({ open: 1, ended: [], refused: 0 });
    });

    test('the server accepts TLS 1.2 and 1.3, and nothing older', async () => {
      for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
        const socket = await shake({ ALPNProtocols: ['h2'], minVersion: version, maxVersion: version });
        expect(socket.getProtocol()).toBe(version);
        expect(await firstBytes(socket)).toBeGreaterThan(0);
      }
      await expect(
        shake({ ALPNProtocols: ['h2'], minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }),
      ).rejects.toThrow();
      await until(() => harness.connections.ended.length > 0);
      expect(harness.connections.ended).toEqual([
        {
          reason: 'tls',
          details: expect.stringMatching(/^the TLS handshake of a client at 127\.0\.0\.1 failed: .*unsupported protocol/) as string,
        },
      ]);
    });

    test('TLS 1.2 allows only the ciphers that HTTP/2 allows: forward secret and authenticated', async () => {
      await harness.stop();
      await start({ material: materialOf(certificates.rsaServer) });
      const with12 = (ciphers: string) => shake({ ALPNProtocols: ['h2'], minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2', ciphers });
      for (const ciphers of ['ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-CHACHA20-POLY1305']) {
        expect((await with12(ciphers)).getCipher().standardName).toMatch(/^TLS_ECDHE_RSA_WITH_/);
      }
      for (const ciphers of ['AES256-GCM-SHA384', 'AES128-SHA', 'ECDHE-RSA-AES256-SHA384']) await expect(with12(ciphers)).rejects.toThrow();
      await until(() => harness.connections.ended.length === 3);
    });

    test('a client with another ALPN, or none, is disconnected and counted', async () => {
      expect(await firstBytes(await shake({}))).toBe(0);
      await expect(shake({ ALPNProtocols: ['http/1.1'] })).rejects.toThrow(/alert/);
      await until(() => harness.connections.ended.length === 2);
      expect(harness.connections.ended.map(({ reason }) => reason)).toEqual(['tls', 'tls']);
      expect(harness.connections.ended[0]?.details).toContain('it did not offer ALPN h2');
      await expect(ask(harness.client({ credentials: trusting() }))).resolves.toMatchObject({ overall_code: 1 });
    });

    test('a client without TLS is disconnected and counted', async () => {
      await expect(ask(harness.client())).rejects.toMatchObject({ code: status.UNAVAILABLE });
      expect(harness.connections.ended[0]).toMatchObject({ reason: 'tls' });
    });

    test('a probe that opens and closes the port is not counted', async () => {
      await new Promise<void>((resolve) => {
        const socket = connectTcp(harness.port, '127.0.0.1', () => socket.end(resolve));
      });
      await until(() => harness.connections.open === 0);
      expect(harness.connections.ended).toEqual([]);
    });

    test('a drain does not wait for an endless handshake', async () => {
      const socket = connectTcp(harness.port, '127.0.0.1');
      socket.on('error', () => undefined);
      await until(() => harness.connections.open === 1);
      await harness.server.drain({ timeoutMs: 60_000 });
      socket.destroy();
    });
  });

  describe('for clients with certificates', () => {
    const mutual: ServerTlsMaterial = { ...materialOf(certificates.server), clientCa: ca };

    test('a client certificate of the authority is accepted with any name', async () => {
      await start({ material: mutual });
      await expect(ask(harness.client({ credentials: trusting(certificates.client) }))).resolves.toMatchObject({ overall_code: 1 });
      await expect(ask(harness.client({ credentials: trusting(certificates.namedClient) }))).resolves.toMatchObject({ overall_code: 1 });
      expect(harness.connections.ended).toEqual([]);
    });

    test('a client certificate is accepted if it has the required name', async () => {
      await start({ material: mutual, clientSan: CLIENT_NAME });
      await expect(ask(harness.client({ credentials: trusting(certificates.namedClient) }))).resolves.toMatchObject({ overall_code: 1 });
      expect(harness.connections.ended).toEqual([]);
    });

    test.each<[string, Pair | undefined, string]>([
      ['no certificate', undefined, 'peer did not return a certificate'],
      ['a certificate of another authority', certificates.stranger, 'its certificate is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)'],
      ['a certificate without the name', certificates.client, `its certificate does not have the DNS name ${CLIENT_NAME}`],
    ])('%s: the client cannot call, and is counted', async (_what, pair, details) => {
      await start({ material: mutual, clientSan: CLIENT_NAME });
      await expect(ask(harness.client({ credentials: trusting(pair) }))).rejects.toMatchObject({ code: status.UNAVAILABLE });
      expect(harness.connections.ended[0]).toMatchObject({ reason: 'tls', details: expect.stringContaining(details) as string });
      expect(harness.requests).toEqual([]);
    });

    test.each(['TLSv1.2', 'TLSv1.3'] as const)('a session is not resumed without its client certificate (%s)', async (version) => {
      await start({ material: mutual });
      const offered = { ALPNProtocols: ['h2'], minVersion: version, maxVersion: version } as const;
      const { cert, key } = certificates.client;
      const first = await shake({ ...offered, cert: pem(cert), key: pem(key) });
      const sessions: Buffer[] = [];
      first.on('session', (session: Buffer) => sessions.push(session));
      expect(await firstBytes(first)).toBeGreaterThan(0);
      const session = sessions.at(-1) ?? first.getSession();
      const again = shake({ ...offered, ...(session !== undefined && { session }) });
      // In TLS 1.3 the client learns of it only after its handshake.
      await expect(again.then(firstBytes).then((bytes) => (bytes === 0 ? Promise.reject(new Error('closed')) : bytes))).rejects.toThrow();
      await until(() => harness.connections.ended.length > 0);
    });
  });

  describe('new certificates', () => {
    let use: (material: ServerTlsMaterial) => void;
    const tlsWith = (material: ServerTlsMaterial): ServerTls => ({
      material,
      onReady: (take) => {
        use = take;
      },
    });

    test('new connections get the new certificate while calls run and none fails', async () => {
      await start(tlsWith(materialOf(certificates.server)));
      const shown = async (): Promise<string> => {
        const socket = await shake({ ALPNProtocols: ['h2'] });
        const { CN } = socket.getPeerCertificate().subject;
        socket.destroy();
        return String(CN);
      };
      const client = harness.client({ credentials: trusting() });
      let isDone = false;
      const load = Promise.all(
        Array.from({ length: 8 }, async (_, index) => {
          let asked = 0;
          // Half of them on one connection that stays, half each on its own.
          for (; !isDone; asked++) {
            const own = index % 2 === 0 ? client : harness.client({ credentials: trusting() });
            expect(await ask(own)).toMatchObject({ overall_code: 1 });
            if (own !== client) own.close();
          }
          return asked;
        }),
      );
      const seen: string[] = [];
      for (const pair of [certificates.server, certificates.renewed, certificates.server, certificates.renewed]) {
        use(materialOf(pair));
        seen.push(await shown());
      }
      isDone = true;
      const asked = await load;
      expect(seen).toEqual(['redis', 'renewed', 'redis', 'renewed']);
      expect(Math.min(...asked)).toBeGreaterThan(0);
      expect(harness.requests).toHaveLength(asked.reduce((sum, one) => sum + one, 0));
      expect(harness.connections.ended).toEqual([]);
    });

    test('new connections need a certificate of the new authority, and open ones stay', async () => {
      await start(tlsWith({ ...materialOf(certificates.server), clientCa: ca }));
      const before = harness.client({ credentials: trusting(certificates.client) });
      await ask(before);
      use({ ...materialOf(certificates.server), clientCa: pem(certificates.otherCa.cert) });
      await expect(ask(before)).resolves.toMatchObject({ overall_code: 1 });
      await expect(ask(harness.client({ credentials: trusting(certificates.client) }))).rejects.toMatchObject({ code: status.UNAVAILABLE });
      await expect(ask(harness.client({ credentials: trusting(certificates.stranger) }))).resolves.toMatchObject({ overall_code: 1 });
    });
  });
});

test('a handshake that takes too long is ended and counted', async () => {
  const harness = await Harness.start('lean', { tls: { material: materialOf(certificates.server) }, bounds: { handshakeTimeoutMs: 50 } });
  const socket = connectTcp(harness.port, '127.0.0.1');
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('close', resolve));
  expect(harness.connections.ended).toEqual([
    { reason: 'handshake_timeout', details: expect.stringContaining('did not finish its TLS handshake in time') as string },
  ]);
  await harness.stop();
});

test('a process loads certificates that Kubernetes replaces, logs and counts bad ones, and fails no call', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-mounted-'));
  /** As Kubernetes updates a mounted secret: a new folder, and the link to it moved over the old one. */
  const mount = (version: string, fill: (into: string) => void) => {
    mkdirSync(path.join(folder, version));
    fill(path.join(folder, version));
    symlinkSync(version, path.join(folder, '..new'));
    renameSync(path.join(folder, '..new'), path.join(folder, '..data'));
  };
  const pairInto = (pair: Pair) => (into: string) => {
    copyFileSync(pair.cert, path.join(into, 'tls.crt'));
    copyFileSync(pair.key, path.join(into, 'tls.key'));
  };
  for (const name of ['tls.crt', 'tls.key']) symlinkSync(path.join('..data', name), path.join(folder, name));
  mount('..1', pairInto(certificates.server));
  const weir = await startWeir({
    config: writeConfig('domain: edge\ndescriptors: [{ key: user, rate_limit: { unit: hour, requests_per_unit: 1000000 } }]\n'),
    env: {
      BACKEND_TYPE: 'memory',
      TRANSPORT: 'lean',
      GRPC_SERVER_USE_TLS: 'true',
      GRPC_SERVER_TLS_CERT: path.join(folder, 'tls.crt'),
      GRPC_SERVER_TLS_KEY: path.join(folder, 'tls.key'),
      GRPC_CLIENT_TLS_CACERT: certificates.ca.cert,
      GRPC_CLIENT_TLS_SAN: CLIENT_NAME,
    },
  });
  const client = () =>
    new Client(`localhost:${weir.grpcPort}`, trusting(certificates.namedClient), { 'grpc.use_local_subchannel_pool': 1 });
  const metrics = async () => (await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`)).body;
  const ending = new AbortController();
  const steady = client();
  const load = (async () => {
    let asked = 0;
    for (; !ending.signal.aborted; asked++) {
      expect(await ask(steady)).toMatchObject({ overall_code: 1 });
      const fresh = client();
      expect(await ask(fresh)).toMatchObject({ overall_code: 1 });
      fresh.close();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return asked;
  })();
  mount('..2', (into) => {
    for (const name of ['tls.crt', 'tls.key']) writeFileSync(path.join(into, name), 'x');
  });
  await until(async () => (await metrics()).includes('weir_grpc_certificate_reloads_total{result="error"} 1\n'));
  // The line comes by a pipe, and may be later than the count.
  await until(() => weir.output().includes('The last good certificates stay in use on the gRPC port.'));
  expect(weir.output()).toContain(`GRPC_SERVER_TLS_CERT: ${path.join(folder, 'tls.crt')} holds no certificate; name a PEM file with one`);
  mount('..3', pairInto(certificates.renewed));
  await until(async () => (await metrics()).includes('weir_grpc_certificate_reloads_total{result="success"} 1\n'));
  const shown = await new Promise((resolve, reject) => {
    const { cert, key } = certificates.namedClient;
    const socket = connect({ port: weir.grpcPort, host: '127.0.0.1', ca, cert: pem(cert), key: pem(key), ALPNProtocols: ['h2'] }, () => {
      resolve(socket.getPeerCertificate().subject.CN);
      socket.destroy();
    });
    socket.on('error', reject);
  });
  expect(shown).toBe('renewed');
  // Who is refused is told, with the reason.
  const nameless = new Client(`localhost:${weir.grpcPort}`, trusting(certificates.client));
  await expect(ask(nameless)).rejects.toMatchObject({ code: status.UNAVAILABLE });
  nameless.close();
  expect(weir.output()).toContain(`was rejected: its certificate does not have the DNS name ${CLIENT_NAME}`);
  expect(await metrics()).toMatch(/^weir_grpc_connections_ended_total\{reason="tls"\} [1-9]/m);
  expect(await metrics()).toMatch(/^weir_grpc_certificate_expiry_timestamp_seconds 1\.?\d+/m);
  ending.abort();
  expect(await load).toBeGreaterThan(0);
  steady.close();
  expect(await weir.stop()).toBe(0);
  rmSync(folder, { recursive: true });
});
