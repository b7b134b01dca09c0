/** The published configurations of nginx, Traefik, Caddy, HAProxy and Apache limit clients by `/check`. */

import { connect } from 'node:net';
import { resolve } from 'node:path';
import { slowness } from '../support/clock/slowness';
import { httpRequest, type HttpRequest, type HttpResponse } from '../support/clients/http-client';
import { until } from '../support/clock/until';
import { figure } from '../support/docs/figure';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { freePort } from '../support/servers/ports';
import { TcpProxy } from '../support/servers/tcp-proxy';
import { startBackend, type Backend } from './backend';
import { startSilent } from './silent';
import { PROXIES, PROXY_NAMES, startProxy, versionOf, type Proxy, type ProxyName } from './proxies';

const EXAMPLE = resolve(__dirname, '..', '..', 'deploy', 'example', 'payments.yaml');

/** Of /payment in deploy/example/payments.yaml: at once, and then one a minute. */
const AT_ONCE = 3;
const MINUTE_MS = 60_000;

/** As the configurations say in their first lines. */
const SETTINGS = {
  CHECK_DOMAIN: 'payments',
  CHECK_DESCRIPTORS: 'endpoint=path; path=path,client=client_ip',
  RESPONSE_HEADERS: 'ietf',
  RESPONSE_BODY: 'problem',
};

/** Far longer than a configuration waits for Weir, and shorter than a proxy that has no timeout. */
const GIVEN_UP_MS = 10_000;

/** In a line of the access log: what Weir answered. */
const DECIDED = /weir(=|_status":"?)200/;
const DENIED = /weir(=|_status":"?)(403|429)/;

interface Place {
  readonly port: number;
  readonly from: string;
}

/** Sends it as it is, and resolves to all that comes until the connection closes. */
function exchange({ port, from }: Place, text: string): Promise<string> {
  return new Promise((resolve) => {
    let answers = '';
    const socket = connect({ host: '127.0.0.1', port, localAddress: from }, () => socket.write(text));
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => (answers += chunk));
    socket.on('error', () => undefined);
    socket.once('close', () => {
      resolve(answers);
    });
  });
}

let weir: WeirProcess;
let backend: Backend;

beforeAll(async () => {
  weir = await startWeir({ config: EXAMPLE, env: { BACKEND_TYPE: 'memory', ...SETTINGS } });
  backend = await startBackend();
});

afterAll(async () => {
  await weir.stop();
  await backend.stop();
});

describe.each(PROXY_NAMES)('%s', (name: ProxyName) => {
  const { failsOpen, showsLimits, givesUp, ownBody } = PROXIES[name];
  let toWeir: TcpProxy;
  let proxy: Proxy;
  let clients = 0;

  beforeAll(async () => {
    toWeir = await TcpProxy.start(weir.httpPort);
    proxy = await startProxy(name, { weirPort: toWeir.port, backendPort: backend.port });
  });

  afterAll(async () => {
    await proxy.stop();
    await toWeir.stop();
  });

  const send = (path: string, request: HttpRequest): Promise<HttpResponse> => httpRequest(`${proxy.url}${path}`, request);

  /** An address that no test has used. */
  function newClient(): string {
    clients += 1;
    return `127.${101 + PROXY_NAMES.indexOf(name)}.0.${clients}`;
  }

  function linesOf(path: string): readonly string[] {
    return proxy
      .accessLog()
      .split('\n')
      .filter((line) => line.includes(path));
  }

  /** From now on its questions go to another port. */
  function divert(port: number): void {
    toWeir.pointTo(port);
    toWeir.resetOpen();
  }

  /** Sends requests from one address, and returns how many reached the backend, without what the limit refilled meanwhile. */
  async function passed(count: number, requestOf: (n: number) => HttpRequest & { readonly path: string }): Promise<number> {
    const from = newClient();
    const [before, startMs] = [backend.requests(), performance.now()];
    for (let n = 0; n < count; n += 1) {
      const { path, ...request } = requestOf(n);
      await send(path, { ...request, from });
    }
    return backend.requests() - before - Math.floor((performance.now() - startMs) / MINUTE_MS);
  }

  test('requests pass until the limit, then clients see 429 with headers and body', async () => {
    const from = newClient();
    const answers: HttpResponse[] = [];
    for (let n = 0; n < AT_ONCE + 1; n += 1) answers.push(await send('/payment?x=1', { from, method: 'POST', body: 'amount=3' }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(backend.last()).toMatchObject({ url: '/payment?x=1', method: 'POST', body: 'amount=3' });
    const [first, , , denied] = answers;
    expect(first?.body).toBe('from the backend');
    expect(first?.headers.ratelimit).toEqual(showsLimits ? expect.stringContaining('"path_/payment.client";r=2;') : undefined);
    expect(denied?.headers.ratelimit).toContain('"path_/payment.client";r=0;');
    expect(denied?.headers['ratelimit-policy']).toContain('"path_/payment.client";q=1;w=60');
    expect(Number(denied?.headers['retry-after'])).toBeGreaterThan(0);
    if (ownBody !== undefined) expect(denied?.body).toBe(ownBody);
    else {
      expect(denied?.headers['content-type']).toBe('application/problem+json');
      expect(JSON.parse(denied?.body ?? '')).toMatchObject({ status: 429 });
    }
    figure(`${name} ${await versionOf(name)}`);
  });

  test('another client has its own limit', async () => {
    expect((await send('/payment', { from: newClient() })).status).toBe(200);
  });

  test('an error of the service itself stays as it is', async () => {
    expect(await send('/forbidden', { from: newClient() })).toMatchObject({ status: 403, body: 'from the backend' });
  });

  const FORGED: Readonly<Record<string, (n: number) => Readonly<Record<string, string>>>> = {
    'addresses of other clients': (n) => ({
      'x-forwarded-for': `10.9.8.${n}`,
      'x-real-ip': `10.9.8.${n}`,
      forwarded: `for=10.9.8.${n}`,
      'cf-connecting-ip': `10.9.8.${n}`,
    }),
    'lists of addresses': (n) => ({ 'X-FORWARDED-FOR': `10.9.8.${n}, 10.9.7.${n},` }),
    'other paths, methods and hosts': (n) => ({
      'x-forwarded-uri': `/search-${n}`,
      'x-original-uri': `/search-${n}`,
      'x-forwarded-method': 'OPTIONS',
      'x-forwarded-host': `other-${n}`,
      'x-http-method-override': 'GET',
    }),
    // More than Weir takes: without an answer of Weir, some proxies let a request pass.
    'headers that are too large': (n) => ({ 'x-a': 'a'.repeat(6000), 'x-b': 'b'.repeat(6000), 'x-c': `${n}`.repeat(3000) }),
    'very many addresses': () => ({ 'x-forwarded-for': '10.9.8.7, '.repeat(600) }),
  };

  test.each(Object.keys(FORGED))('a client stays one client with invented headers: %s', async (forged) => {
    const headersOf = FORGED[forged]!;
    expect(await passed(8, (n) => ({ path: '/payment', headers: headersOf(n) }))).toBeLessThanOrEqual(AT_ONCE);
  });

  test('other spellings of a path count on the same limit', async () => {
    const spellings = [
      '/payment',
      '//payment',
      '/payment/',
      '/./payment',
      '/search/../payment',
      '/%70ayment',
      '/payment?y',
      '/payment;a=b',
    ];
    expect(await passed(2 * spellings.length, (n) => ({ path: spellings[n % spellings.length]! }))).toBeLessThanOrEqual(AT_ONCE);
  });

  test('the body of a denied request is not taken for the next request', async () => {
    const from = newClient();
    for (let n = 0; n < AT_ONCE; n += 1) await send('/payment', { from });
    const inner = 'GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n';
    const head = `POST /payment HTTP/1.1\r\nhost: a\r\ncontent-length: ${inner.length}\r\n\r\n`;
    const { port } = new URL(proxy.url);
    const before = backend.requests();
    const answers = await exchange(
      { port: Number(port), from },
      `${head}${inner}GET /last HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`,
    );
    expect(answers).toMatch(/^HTTP\/1\.1 429 /);
    // At most /last, from proxies that keep the connection.
    expect(backend.requests() - before).toBeLessThanOrEqual(1);
    expect(backend.last()?.url).not.toBe('/smuggled');
  });

  if (givesUp) {
    test(`a Weir that never answers: the request ${failsOpen ? 'passes' : 'fails'} all the same`, async () => {
      const silent = await startSilent();
      divert(silent.port);
      const startMs = performance.now();
      const { status } = await send('/payment', { from: newClient() });
      expect(performance.now() - startMs).toBeLessThan(GIVEN_UP_MS * slowness());
      expect(silent.connections()).toBeGreaterThan(0);
      expect(status).toBe(failsOpen ? 200 : 500);
      silent.stop();
    });
  }

  if (failsOpen) {
    test('one question without an answer opens the limit for that request alone, and the access log shows it', async () => {
      const silent = await startSilent();
      divert(silent.port);
      await send('/undecided', { from: newClient() });
      divert(weir.httpPort);
      silent.stop();
      expect(await passed(AT_ONCE + 3, () => ({ path: '/payment' }))).toBeLessThanOrEqual(AT_ONCE);
      await until(() => linesOf('/payment').some((line) => DENIED.test(line)));
      expect(linesOf('/undecided')).toHaveLength(1);
      expect(linesOf('/undecided').filter((line) => DECIDED.test(line) || DENIED.test(line))).toEqual([]);
    });
  }

  test(`a Weir that is down: requests ${failsOpen ? 'pass' : 'fail'}`, async () => {
    divert(await freePort());
    const from = newClient();
    const answers: HttpResponse[] = [];
    for (let n = 0; n < AT_ONCE + 2; n += 1) answers.push(await send('/payment', { from }));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([failsOpen ? 200 : 500]));
    expect(answers.flatMap(({ headers }) => headers.ratelimit ?? [])).toEqual([]);
  });
});
