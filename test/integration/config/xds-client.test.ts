/** The xDS client ACKs and NACKs with version, nonce and reason, and retries at growing intervals. */

import { constants, createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { credentials, status } from '@grpc/grpc-js';
import { AdsClient, REFUSAL_BYTES_MAX, type AdsClientOptions } from '../../../src/configuration/source/xds/ads-client';
import { Backoff } from '../../../src/lib/backoff';
import { loadXdsProto, RATE_LIMIT_CONFIG_TYPE } from '../../../src/configuration/source/xds/proto';
import type { ResourceSet } from '../../../src/configuration/source/xds/resource-set';
import type { WireRateLimitConfig } from '../../../src/configuration/source/xds/wire';
import { freePort } from '../../support/servers/ports';
import { TcpProxy } from '../../support/servers/tcp-proxy';
import { until } from '../../support/clock/until';
import { XdsServer } from '../../support/servers/xds-server';

const proto = loadXdsProto();

interface Started {
  readonly client: AdsClient;
  readonly sets: ResourceSet[];
  readonly lost: { readonly reason: string; readonly waitMs: number }[];
  /** Said to each set from now on; undefined accepts it. */
  refusal: string | undefined;
}

const running: { stop(): void }[] = [];

afterEach(() => {
  for (const each of running.splice(0)) each.stop();
});

function startClient(port: number, options: Partial<AdsClientOptions> = {}): Started {
  const sets: ResourceSet[] = [];
  const lost: { readonly reason: string; readonly waitMs: number }[] = [];
  const client = new AdsClient({
    proto,
    target: `127.0.0.1:${port}`,
    credentials: () => credentials.createInsecure(),
    channel: { messageBytesMax: 64 * 1024, keepaliveTimeMs: 60_000, keepaliveTimeoutMs: 1000 },
    node: { id: 'node-1', user_agent_name: 'weir', user_agent_version: 'test' },
    headers: [],
    backoff: new Backoff({ maxMs: 200, factor: 2 }),
    connectRetryMs: 20,
    streamRetryMs: 20,
    steadyMs: 60_000,
    onSet: (set) => {
      sets.push(set);
      return Promise.resolve(started.refusal);
    },
    onConnected: () => undefined,
    onLost: (each) => lost.push(each),
    nowMs: () => performance.now(),
    ...options,
  });
  const started: Started = { client, sets, lost, refusal: undefined };
  void client.run();
  running.push(client);
  return started;
}

async function startServer(...options: Parameters<typeof XdsServer.start>): Promise<XdsServer> {
  const server = await XdsServer.start(...options);
  running.push(server);
  return server;
}

const config = (name: string): WireRateLimitConfig => ({
  name,
  domain: name,
  descriptors: [{ key: 'k', rate_limit: { unit: 1, requests_per_unit: 1 } }],
});

test('the client sends its node and subscribes to all resources of one type', async () => {
  const server = await startServer();
  const metadata = { fields: { zone: { stringValue: 'a' } } };
  startClient(server.port, {
    node: { id: 'node-1', metadata, user_agent_name: 'weir', user_agent_version: 'test' },
    headers: [
      ['x-token', 'secret'],
      ['x-key-bin', 'bytes'],
    ],
  });
  const { request, headers } = await server.next(() => true);
  expect(request).toEqual({
    type_url: RATE_LIMIT_CONFIG_TYPE,
    node: { id: 'node-1', metadata, user_agent_name: 'weir', user_agent_version: 'test' },
  });
  expect([headers.get('x-token'), headers.get('x-key-bin')]).toEqual([['secret'], [Buffer.from('bytes')]]);
});

test('the client ACKs each set with its version and nonce, and NACKs with the previous version and the reason', async () => {
  const server = await startServer();
  const client = startClient(server.port);
  await until(() => server.openStreams === 1);
  expect(await server.answerTo(server.send('1', [config('a')]))).toEqual({
    type_url: RATE_LIMIT_CONFIG_TYPE,
    version_info: '1',
    response_nonce: 'nonce-1',
  });
  client.refusal = 'a: this is wrong\nb: that is wrong';
  expect(await server.answerTo(server.send('2', [config('b')]))).toEqual({
    type_url: RATE_LIMIT_CONFIG_TYPE,
    version_info: '1',
    response_nonce: 'nonce-2',
    error_detail: { code: status.INVALID_ARGUMENT, message: 'a: this is wrong\nb: that is wrong' },
  });
  client.refusal = undefined;
  expect(await server.answerTo(server.send('3', [config('c')]))).toEqual({
    type_url: RATE_LIMIT_CONFIG_TYPE,
    version_info: '3',
    response_nonce: 'nonce-3',
  });
  expect(client.sets.map(({ documents }) => documents.map(({ name }) => name))).toEqual([['a'], ['b'], ['c']]);
});

test('the client NACKs a bad first set without a version', async () => {
  const server = await startServer();
  const client = startClient(server.port);
  client.refusal = 'no';
  expect(await server.answerTo(server.send('1', [config('a')]))).toMatchObject({ error_detail: { message: 'no' } });
  expect(server.told.some(({ request }) => request.version_info !== undefined)).toBe(false);
});

test('the client ACKs an equal set of another version or order without loading it', async () => {
  const server = await startServer();
  const client = startClient(server.port);
  await server.answerTo(server.send('1', [config('a'), config('b')]));
  expect(await server.answerTo(server.send('2', [config('b'), config('a')]))).toMatchObject({ version_info: '2' });
  expect(client.sets).toHaveLength(1);
});

test('the set before a NACK loads again when the server sends it again', async () => {
  const server = await startServer();
  const client = startClient(server.port);
  await server.answerTo(server.send('1', [config('a')]));
  client.refusal = 'no';
  await server.answerTo(server.send('2', [config('b')]));
  client.refusal = undefined;
  expect(await server.answerTo(server.send('3', [config('a')]))).toMatchObject({ version_info: '3' });
  expect(client.sets).toHaveLength(3);
});

test('an empty set of resources is a valid set', async () => {
  const server = await startServer();
  const client = startClient(server.port);
  await server.answerTo(server.send('1', [config('a')]));
  expect(await server.answerTo(server.send('', []))).toEqual({
    type_url: RATE_LIMIT_CONFIG_TYPE,
    response_nonce: 'nonce-2',
    version_info: '',
  });
  expect(client.sets[1]).toMatchObject({ documents: [], problems: [] });
});

test('the client answers a server that repeats a rejected set once a second', async () => {
  const server = await startServer({ isEager: true });
  const client = startClient(server.port);
  client.refusal = 'no';
  server.send('1', [config('a')]);
  await until(() => server.told.length >= 4);
  const beganMs = performance.now();
  const before = server.told.length;
  await until(() => server.told.length >= before + 2);
  expect(performance.now() - beganMs).toBeGreaterThan(900);
  expect(client.sets).toHaveLength(1);
});

test('the text of a NACK has a bound', async () => {
  const server = await startServer();
  const client = startClient(server.port);
  client.refusal = 'é'.repeat(REFUSAL_BYTES_MAX);
  const { error_detail: detail } = await server.answerTo(server.send('1', [config('a')]));
  expect(Buffer.byteLength(detail!.message)).toBeLessThanOrEqual(REFUSAL_BYTES_MAX + 3);
});

describe('the stream begins again', () => {
  test.each([status.OK, status.UNAVAILABLE])(
    'after a stream that ends with %s: a new stream starts with the version in force and no nonce',
    async (code) => {
      const server = await startServer();
      const client = startClient(server.port);
      await server.answerTo(server.send('7', [config('a')]));
      server.endStreams(code);
      const { request } = await server.next(({ stream }) => stream === 2);
      expect(request).toMatchObject({ version_info: '7', node: { id: 'node-1' } });
      expect(request.response_nonce).toBeUndefined();
      expect(await server.answerTo(server.send('8', [config('b')]))).toMatchObject({ version_info: '8' });
      expect(client.sets).toHaveLength(2);
      expect(client.lost.map(({ reason }) => reason)).toEqual([
        code === status.OK ? 'the server has ended the stream' : 'UNAVAILABLE: the test says so',
      ]);
    },
  );

  test('the status text that ends a stream is one line of the log, whatever it contains', async () => {
    const server = await startServer();
    const client = startClient(server.port);
    await server.answerTo(server.send('1', [config('a')]));
    server.endStreams(status.UNAVAILABLE, 'gone\r\n[2026-01-01T00:00:00.000Z] ERROR: \u001b[31mmade up');
    await until(() => client.lost.length > 0);
    expect(client.lost[0]!.reason).toBe('UNAVAILABLE: gone [2026-01-01T00:00:00.000Z] ERROR:  [31mmade up');
  });

  test('the client reconnects when a dead server is back', async () => {
    const server = await startServer();
    let connections = 0;
    const client = startClient(server.port, {
      onConnected: () => {
        connections += 1;
      },
    });
    await server.answerTo(server.send('1', [config('a')]));
    server.die();
    await until(() => client.lost.length >= 3);
    expect(client.lost[2]!.reason).toContain('ECONNREFUSED');
    expect(client.lost[2]!.reason).not.toContain('Resolution note');
    await server.comeBack();
    expect(await server.answerTo(server.send('2', [config('b')]))).toMatchObject({ version_info: '2' });
    // None of those that failed comes about after all.
    await new Promise((resolve) => setTimeout(resolve, 2000));
    expect(connections).toBe(2);
  });

  test('a server that ends each stream at once gets requests at growing intervals', async () => {
    const server = await startServer({ isFlapping: true });
    const client = startClient(server.port, { backoff: new Backoff({ maxMs: 200, factor: 2 }) });
    await until(() => client.lost.length >= 6);
    expect(client.lost.map(({ waitMs }) => waitMs).slice(0, 6)).toEqual([20, 40, 80, 160, 200, 200]);
    expect(server.streamsSeen).toBeLessThanOrEqual(client.lost.length + 1);
    server.isFlapping = false;
    expect(await server.answerTo(server.send('1', [config('a')]))).toMatchObject({ version_info: '1' });
  });

  test('after a long stream the first wait is short again', async () => {
    const server = await startServer();
    let now = 0;
    const client = startClient(server.port, { steadyMs: 1000, nowMs: () => now });
    for (const wanted of [20, 40]) {
      await until(() => server.openStreams === 1);
      server.endStreams();
      await until(() => client.lost.at(-1)?.waitMs === wanted);
    }
    await until(() => server.openStreams === 1);
    now = 1000;
    server.endStreams();
    await until(() => client.lost.length === 3);
    expect(client.lost[2]!.waitMs).toBe(20);
  });

  test('the client reconnects after a silent connection', async () => {
    const server = await startServer();
    const proxy = await TcpProxy.start(server.port);
    const client = startClient(proxy.port, { channel: { messageBytesMax: 65_536, keepaliveTimeMs: 300, keepaliveTimeoutMs: 200 } });
    await server.answerTo(server.send('1', [config('a')]));
    proxy.silenceOpen();
    expect((await server.next(({ stream }) => stream === 2)).request).toMatchObject({ version_info: '1' });
    expect(client.lost[0]!.reason).toContain('UNAVAILABLE');
    await proxy.stop();
  });

  test('the client logs a message that is too long and opens a new stream', async () => {
    const server = await startServer();
    const client = startClient(server.port);
    server.send('1', [{ name: 'x'.repeat(70_000), domain: 'd' }]);
    await until(() => client.lost.length > 0);
    expect(client.lost[0]!.reason).toMatch(/^RESOURCE_EXHAUSTED: .*; raise XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES/);
    expect(await server.answerTo(server.send('2', [config('b')]))).toMatchObject({ version_info: '2' });
  });
});

test('a server that answers ENHANCE_YOUR_CALM causes a log line with the setting', async () => {
  const server = createServer().on('stream', (stream) => {
    stream.on('error', () => undefined);
    stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  running.push({ stop: () => server.close() });
  const client = startClient((server.address() as AddressInfo).port);
  await until(() => client.lost.length > 0);
  expect(client.lost[0]!.reason).toMatch(/^RESOURCE_EXHAUSTED: .*, raise XDS_CLIENT_KEEPALIVE_TIME$/);
});

test('an internal error neither ACKs nor NACKs the set, and the client requests it again', async () => {
  const server = await startServer();
  let isBroken = true;
  const client = startClient(server.port, { onSet: () => (isBroken ? Promise.reject(new Error('broken')) : Promise.resolve(undefined)) });
  server.send('1', [config('a')]);
  await until(() => client.lost.length > 0);
  expect(client.lost[0]!.reason).toBe('broken');
  isBroken = false;
  await server.next(({ request }) => request.version_info === '1');
});

describe('SIGHUP', () => {
  test('during a stream the client opens another one at once, without a version, and loads an equal set again', async () => {
    const server = await startServer();
    const { client, sets, lost } = startClient(server.port);
    await server.answerTo(server.send('1', [config('a')]));
    client.requestAgain();
    expect((await server.next(({ stream }) => stream === 2)).request.version_info).toBeUndefined();
    await until(() => sets.length === 2);
    expect(lost).toEqual([]);
  });

  test('during a wait the client retries at once', async () => {
    const server = await startServer();
    server.die();
    const { client, lost } = startClient(server.port, { connectRetryMs: 600_000, backoff: new Backoff({ maxMs: 600_000, factor: 2 }) });
    await until(() => lost.length === 1);
    await server.comeBack();
    client.requestAgain();
    await until(() => server.openStreams === 1);
  });
});

test('the client logs invalid credentials and makes them again for the next connection', async () => {
  const server = await startServer();
  let isBroken = true;
  const client = startClient(server.port, {
    credentials: () => {
      if (isBroken) throw new Error('CONFIG_GRPC_XDS_CLIENT_TLS_CERT: it can not be read');
      return credentials.createInsecure();
    },
  });
  await until(() => client.lost.length > 0);
  expect(client.lost[0]!.reason).toBe('CONFIG_GRPC_XDS_CLIENT_TLS_CERT: it can not be read');
  isBroken = false;
  await until(() => server.openStreams === 1);
});

test('a stopped client ends its stream and does not reconnect', async () => {
  const server = await startServer();
  const { client, lost } = startClient(server.port);
  await until(() => server.openStreams === 1);
  client.stop();
  await until(() => server.openStreams === 0);
  expect(lost).toEqual([]);
  expect(server.streamsSeen).toBe(1);
});

test('an absent server causes a log line for each try, at growing intervals', async () => {
  const client = startClient(await freePort());
  await until(() => client.lost.length >= 3);
  expect(client.lost.slice(0, 3).map(({ waitMs }) => waitMs)).toEqual([20, 40, 80]);
  expect(client.sets).toEqual([]);
});
