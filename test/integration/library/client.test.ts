/** A call of the client ends at its deadline, and fails at once while Weir is away. */

import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient, InvalidRequestError, type Client, type ClientOptions } from '../../../src/program/library/client/create-client';
import type { ServerTls } from '../../../src/server/transport/port/server-tls';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir } from '../../support/processes/weir-process';
import { makeCertificates, type Pair } from '../../support/servers/certificates';
import { freePort } from '../../support/servers/ports';
import { TcpProxy } from '../../support/servers/tcp-proxy';
import { allow, Harness } from '../../support/servers/transport-harness';

const REQUEST = { domain: 'shop', descriptors: [{ user: 'zoe' }] };

/** Longer than any call of these tests should wait. */
const PATIENT_MS = 60_000;

const harnesses: Harness[] = [];
const clients: Client[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await Promise.all(harnesses.splice(0).map((harness) => harness.stop()));
});

async function serve(options: Parameters<typeof Harness.start>[1] = {}): Promise<Harness> {
  const harness = await Harness.start('lean', options);
  harnesses.push(harness);
  return harness;
}

function connect(options: ClientOptions): Client {
  const client = createClient(options);
  clients.push(client);
  return client;
}

async function connected(options: ClientOptions): Promise<Client> {
  const client = connect(options);
  expect(await client.ready({ timeoutMs: PATIENT_MS })).toBe(true);
  return client;
}

/** A call that waits until its test ends. */
const never = (): Promise<never> => new Promise(() => undefined);

test('a call ends at its deadline, and the failure mode decides', async () => {
  const harness = await serve();
  harness.decide = never;
  for (const failureMode of ['open', 'closed'] as const) {
    const client = await connected({ address: `127.0.0.1:${harness.port}`, failureMode });
    expect(await client.check(REQUEST)).toMatchObject({
      allowed: failureMode === 'open',
      decidedBy: 'failure-mode',
      headers: [],
      statuses: [],
      error: { message: expect.stringMatching(/did not answer within 20 ms|DEADLINE_EXCEEDED/) as string },
    });
  }
  // The server knows the deadline too, which bounds its own wait for Redis.
  expect(harness.calls).toHaveLength(2);
  expect(harness.calls.every(({ timeoutMs = Infinity }) => timeoutMs <= 20)).toBe(true);
});

test('an answer that came while this process was busy counts, although its deadline is over', async () => {
  const config = writeConfig('domain: shop\ndescriptors:\n  - key: user\n    rate_limit: { unit: hour, requests_per_unit: 100 }\n');
  const weir = await startWeir({ config, env: { BACKEND_TYPE: 'memory' } });
  const client = await connected({ address: `127.0.0.1:${weir.grpcPort}`, timeoutMs: 50 });
  expect((await client.check(REQUEST, { timeoutMs: PATIENT_MS })).decidedBy).toBe('weir');
  weir.kill('SIGSTOP');
  const call = client.check(REQUEST);
  // By then the request has left this process.
  await pause(10);
  weir.kill('SIGCONT');
  // After it the event loop looks at timers first, and at sockets then.
  await new Promise(setImmediate);
  const busyUntilMs = performance.now() + 500;
  while (performance.now() < busyUntilMs);
  expect(await call).toMatchObject({ decidedBy: 'weir', statuses: [{ remaining: 98 }] });
  await weir.stop();
});

test('a deadline of the call replaces that of the client', async () => {
  const harness = await serve();
  harness.decide = async (request) => {
    await pause(60);
    return allow(request);
  };
  const client = await connected({ address: `127.0.0.1:${harness.port}` });
  expect((await client.check(REQUEST, { timeoutMs: PATIENT_MS })).decidedBy).toBe('weir');
});

test('without Weir calls fail at once, and decide again when it is back', async () => {
  const port = await freePort();
  const client = connect({ address: `127.0.0.1:${port}`, timeoutMs: PATIENT_MS });
  const askUntil = (holds: (error: Error | undefined) => boolean): Promise<void> =>
    until(async () => holds((await client.check(REQUEST)).error));
  // No call waits for its deadline, which is longer than this test.
  await askUntil((error) => error?.message.includes('does not answer') === true);
  await serve({ address: { host: '127.0.0.1', port } });
  await askUntil((error) => error === undefined);
});

test('a silent Weir costs few calls their deadline, and the others fail at once', async () => {
  const harness = await serve();
  const proxy = await TcpProxy.start(harness.port);
  const client = await connected({ address: `127.0.0.1:${proxy.port}`, timeoutMs: 50 });
  expect((await client.check(REQUEST, { timeoutMs: PATIENT_MS })).decidedBy).toBe('weir');
  proxy.silenceOpen();
  const errors: (Error | undefined)[] = [];
  await until(async () => {
    const { error } = await client.check(REQUEST);
    errors.push(error);
    return error?.message.includes('does not answer') === true;
  });
  expect(errors.length).toBeLessThan(20);
  await proxy.stop();
});

test('calls reach every instance of a name, and the others while one is away', async () => {
  const [one, other] = [await serve(), await serve()];
  const client = await connected({ address: `ipv4:127.0.0.1:${one.port},127.0.0.1:${other.port}`, timeoutMs: PATIENT_MS, connections: 1 });
  await until(async () => {
    await client.check(REQUEST);
    return one.requests.length > 0 && other.requests.length > 0;
  });
  await one.stop();
  harnesses.splice(harnesses.indexOf(one), 1);
  const before = other.requests.length;
  const results = [];
  for (let i = 0; i < 20; i += 1) results.push(await client.check(REQUEST));
  // The call that met the end of the connection may fail.
  expect(results.filter(({ decidedBy }) => decidedBy === 'weir').length).toBeGreaterThanOrEqual(18);
  expect(other.requests.length - before).toBeGreaterThanOrEqual(18);
});

test('several connections lead to one address', async () => {
  const harness = await serve();
  const proxy = await TcpProxy.start(harness.port);
  const client = await connected({ address: `127.0.0.1:${proxy.port}`, connections: 3, timeoutMs: PATIENT_MS });
  await until(() => proxy.connections === 3);
  expect((await client.check(REQUEST)).allowed).toBe(true);
  await proxy.stop();
});

test('a signal ends a call with its reason, and no other', async () => {
  const harness = await serve();
  harness.decide = never;
  const client = await connected({ address: `127.0.0.1:${harness.port}`, timeoutMs: PATIENT_MS });
  const abort = new AbortController();
  const call = client.check(REQUEST, { signal: abort.signal });
  const reason = new Error('the user left');
  await until(() => harness.requests.length === 1);
  harness.decide = (request) => Promise.resolve(allow(request));
  abort.abort(reason);
  await expect(call).rejects.toBe(reason);
  await expect(client.check(REQUEST, { signal: abort.signal })).rejects.toBe(reason);
  expect((await client.check(REQUEST, { signal: new AbortController().signal })).decidedBy).toBe('weir');
});

test('an invalid request is an error, whatever the failure mode', async () => {
  const harness = await serve();
  const client = await connected({ address: `127.0.0.1:${harness.port}`, timeoutMs: PATIENT_MS });
  const refused = client.check({ domain: '', descriptors: [{ user: 'zoe' }] });
  await expect(refused).rejects.toThrow(InvalidRequestError);
  await expect(refused).rejects.toThrow('rate limit domain must not be empty');
  await expect(client.check({ domain: 'shop', descriptors: [{ user: undefined as unknown as string }] })).rejects.toThrow(
    new InvalidRequestError('descriptors[0] value 1 is undefined; set a text'),
  );
});

test.each([0, -1, 1.5, NaN, Infinity])('a deadline of %d ms is refused', async (timeoutMs) => {
  const client = connect({ address: '127.0.0.1:1' });
  await expect(client.check(REQUEST, { timeoutMs })).rejects.toThrow('set a whole number from 1 to 60000');
});

test('calls beyond inFlightMax, and after close, are decided by the failure mode', async () => {
  const harness = await serve();
  let hasArrived = false;
  harness.decide = () => {
    hasArrived = true;
    return never();
  };
  const client = await connected({ address: `127.0.0.1:${harness.port}`, timeoutMs: PATIENT_MS, inFlightMax: 1, failureMode: 'closed' });
  const waiting = client.check(REQUEST);
  await until(() => hasArrived);
  expect(await client.check(REQUEST)).toMatchObject({ allowed: false, error: { message: '1 calls wait already (inFlightMax)' } });
  await client.close();
  expect(await client.check(REQUEST)).toMatchObject({ allowed: false, error: { message: 'the client is closed' } });
  expect(await client.ready()).toBe(false);
  harness.decide = (request) => Promise.resolve(allow(request));
  await harness.stop();
  harnesses.splice(0);
  expect((await waiting).decidedBy).toBe('failure-mode');
});

describe('with TLS', () => {
  const certificates = makeCertificates();
  const pem = (file: string): Buffer => readFileSync(file);
  const tlsOf = ({ cert, key }: Pair): ServerTls => ({
    material: { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8'), clientCa: readFileSync(certificates.ca.cert, 'utf8') },
  });

  test.each([
    ['a name', 'localhost'],
    ['an address', '127.0.0.1'],
  ])('a server is verified by %s, and a client shows its certificate', async (_, host) => {
    const harness = await serve({ tls: tlsOf(certificates.server) });
    const tls = { ca: pem(certificates.ca.cert), cert: pem(certificates.client.cert), key: pem(certificates.client.key) };
    const client = await connected({ address: `${host}:${harness.port}`, tls, timeoutMs: PATIENT_MS });
    expect((await client.check(REQUEST)).decidedBy).toBe('weir');
    const stranger = connect({ address: `${host}:${harness.port}`, tls: { ca: pem(certificates.otherCa.cert) }, failureMode: 'closed' });
    expect(await stranger.ready({ timeoutMs: 500 })).toBe(false);
    expect(await stranger.check(REQUEST)).toMatchObject({ allowed: false, decidedBy: 'failure-mode' });
  });
});

test.each([
  [{ address: 'weir' }, 'address is "weir"; write HOST:PORT'],
  [{ address: 'https://weir:8081' }, 'address is "https://weir:8081"; write HOST:PORT'],
  [{ address: 'weir:8081', timeoutMs: 0 }, 'timeoutMs is 0; set a whole number from 1 to 60000'],
  [{ address: 'weir:8081', connections: 1000 }, 'connections is 1000; set a whole number from 1 to 64'],
  [{ address: 'weir:8081', failureMode: 'ajar' }, 'failureMode is "ajar"; write open or closed'],
])('the options %j are refused', (options, message) => {
  expect(() => createClient(options as ClientOptions)).toThrow(message);
});
