/** The gRPC port on a unix socket has the configured mode, and replaces only the socket of a dead process. */

import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { credentials, type Client } from '@grpc/grpc-js';
import type { WireRequest, WireResponse } from '../../../src/server/transport/messages/wire';
import { makeCertificates } from '../../support/servers/certificates';
import { httpRequest } from '../../support/clients/http-client';
import { startRedis } from '../../support/redis/redis-server';
import { writeConfig } from '../../support/config/temp-config';
import { Harness, proto, TRANSPORTS, unary } from '../../support/servers/transport-harness';
import { until } from '../../support/clock/until';
import { startWeir } from '../../support/processes/weir-process';

const REQUEST: WireRequest = { domain: 'edge', descriptors: [{ entries: [{ key: 'user', value: 'zoe' }] }] };
const MODE = 0o660;

let folder: string;
let socketPath: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-uds-'));
  socketPath = path.join(folder, 'grpc.sock');
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function ask(client: Client): Promise<WireResponse> {
  const { path: method, requestSerialize, responseDeserialize } = proto.rateLimit.ShouldRateLimit;
  return unary({ client, path: method, request: REQUEST, serialize: requestSerialize, deserialize: responseDeserialize });
}

/** A process that listened there and was killed. */
function leaveStaleSocket(): void {
  const script = `require('net').createServer().listen(${JSON.stringify(socketPath)}, () => process.kill(process.pid, 'SIGKILL'))`;
  expect(() => execFileSync(process.execPath, ['-e', script], { stdio: 'pipe' })).toThrow();
  expect(lstatSync(socketPath).isSocket()).toBe(true);
}

describe.each(TRANSPORTS)('a unix socket (%s)', (transport) => {
  const start = () => Harness.start(transport, { address: { path: socketPath, mode: MODE } });

  test('the socket is served with the mode for its user and group, and removed at the end', async () => {
    const harness = await start();
    const client = harness.client({ target: `unix:${socketPath}` });
    for (let n = 0; n < 20; n++) await expect(ask(client)).resolves.toMatchObject({ overall_code: 1 });
    expect(lstatSync(socketPath).mode & 0o777).toBe(MODE);
    await harness.stop();
    expect(existsSync(socketPath)).toBe(false);
  });

  test('the socket is served over TLS', async () => {
    const { server, ca } = makeCertificates();
    const material = { cert: readFileSync(server.cert, 'utf8'), key: readFileSync(server.key, 'utf8') };
    const harness = await Harness.start(transport, { address: { path: socketPath, mode: MODE }, tls: { material } });
    const client = harness.client({
      target: `unix:${socketPath}`,
      credentials: credentials.createSsl(readFileSync(ca.cert)),
      channel: { 'grpc.ssl_target_name_override': 'localhost' },
    });
    await expect(ask(client)).resolves.toMatchObject({ overall_code: 1 });
    await harness.stop();
  });

  test('a socket that a dead process has left is replaced', async () => {
    leaveStaleSocket();
    const harness = await start();
    await expect(ask(harness.client({ target: `unix:${socketPath}` }))).resolves.toMatchObject({ overall_code: 1 });
    await harness.stop();
  });

  test('a socket with a listener is not replaced', async () => {
    const first = await start();
    await expect(start()).rejects.toThrow(`GRPC_UDS: another process listens on ${socketPath}; stop it, or use another path`);
    await expect(ask(first.client({ target: `unix:${socketPath}` }))).resolves.toMatchObject({ overall_code: 1 });
    await first.stop();
  });

  test('a file that is not a socket is not replaced', async () => {
    writeFileSync(socketPath, 'precious');
    await expect(start()).rejects.toThrow(`GRPC_UDS: ${socketPath} exists and is not a socket`);
    expect(readFileSync(socketPath, 'utf8')).toBe('precious');
  });

  test('a process logs the path of the socket, serves the rest on its ports, and removes the socket', async () => {
    const config = writeConfig('domain: edge\ndescriptors: [{ key: user, rate_limit: { unit: hour, requests_per_unit: 3 } }]\n');
    const weir = await startWeir({
      config,
      env: { BACKEND_TYPE: 'memory', TRANSPORT: transport, GRPC_UDS: socketPath, GRPC_UDS_MODE: '0600' },
    });
    // Told once all ports are open, one of which said that it is there.
    await until(() => weir.output().includes(`gRPC on ${socketPath}, HTTP on ${weir.httpPort}`));
    expect(lstatSync(socketPath).mode & 0o777).toBe(0o600);
    const client = new Harness(transport).client({ target: `unix:${socketPath}` });
    await expect(ask(client)).resolves.toMatchObject({ overall_code: 1 });
    client.close();
    expect((await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`)).body).toMatch(/^weir_grpc_connections [01]$/m);
    expect(await weir.stop()).toBe(0);
    expect(existsSync(socketPath)).toBe(false);
  });
});

test('several workers share one socket and replace that of a dead process', async () => {
  leaveStaleSocket();
  const redis = await startRedis();
  const config = writeConfig('domain: edge\ndescriptors: [{ key: user, rate_limit: { unit: hour, requests_per_unit: 1000 } }]\n');
  const env = {
    REDIS_URL: `redis://127.0.0.1:${redis.port}`,
    REDIS_OP_TIMEOUT: '1s',
    TRANSPORT: 'lean',
    WORKERS: '2',
    GRPC_UDS: socketPath,
  };
  const weir = await startWeir({ config, env });
  expect(lstatSync(socketPath).mode & 0o777).toBe(MODE);
  for (let n = 0; n < 8; n++) {
    const client = new Harness('lean').client({ target: `unix:${socketPath}` });
    await expect(ask(client)).resolves.toMatchObject({ overall_code: 1 });
    client.close();
  }
  expect(await weir.stop()).toBe(0);
  expect(existsSync(socketPath)).toBe(false);
  await redis.stop();
});

test('a socket that rejects the probe for another reason than a missing listener is left alone', async () => {
  // Its backlog is full or its owner does not let us: somebody may well be there.
  const other = createServer();
  await new Promise<void>((listening) => other.listen(socketPath, listening));
  chmodSync(socketPath, 0);
  const start = Harness.start('lean', { address: { path: socketPath, mode: MODE } });
  await expect(start).rejects.toThrow('another process listens');
  expect(existsSync(socketPath)).toBe(true);
  await new Promise((closed) => other.close(closed));
});
