/** Each published way to identify a caller at Envoy gives it its own limit, and requests without an identity share one. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { RawRequest } from '../../support/clients/raw-request';
import { bearer, tokenOf, unsignedToken } from '../chain/tokens';
import { startExamples, type Example, type ExampleGateway } from './example-gateway';
import { certificates, CLOUDFLARE, EXAMPLES, PARTNERS } from './examples';
import { callThrift, startThriftServer, type ThriftServer } from './thrift';

const PAGE = resolve(__dirname, '..', '..', '..', 'docs', 'identity.md');

/** The same example with another claim. */
const BY_MERCHANT: Example = {
  id: 'tokens-by-merchant',
  envoy: 'envoy/actions/tokens/envoy.yaml',
  limits: 'envoy/actions/tokens/limits.yaml',
  replacements: { '{key: sub}': '{key: merchant}', 'claim_name: sub': 'claim_name: merchant' },
};

/** Where the proxies of the page are in this test. */
const PROXIES = '127.22.0';

let gateway: ExampleGateway;
let thrift: ThriftServer;

beforeAll(async () => {
  thrift = await startThriftServer();
  gateway = await startExamples([...EXAMPLES, BY_MERCHANT, ...behindProxies()], new Map([['thrift:9090', thrift.port]]));
});

afterAll(async () => {
  await gateway.stop();
  await thrift.stop();
});

/** The addresses example with each block of the page that says which address is the caller's. */
function behindProxies(): readonly Example[] {
  const blocks = [...readFileSync(PAGE, 'utf8').matchAll(/```yaml\n(use_remote_address: .*?)```/gs)].map(([, block]) => block!.trim());
  expect(blocks).toHaveLength(4);
  return blocks.map((block, index) => ({
    id: `proxies-${index}`,
    envoy: 'envoy/actions/addresses/envoy.yaml',
    limits: 'envoy/actions/addresses/limits.yaml',
    replacements: {
      'use_remote_address: true': block
        .replaceAll('\n', `\n${' '.repeat(10)}`)
        .replace('10.0.0.0, prefix_len: 8', `${PROXIES}.0, prefix_len: 24`),
    },
  }));
}

async function statuses(example: string, count: number, request: RawRequest): Promise<readonly number[]> {
  const all: number[] = [];
  for (let n = 0; n < count; n += 1) all.push(await gateway.send(example, request));
  return all;
}

function times(count: number, status: number): readonly number[] {
  return Array.from({ length: count }, () => status);
}

describe('addresses', () => {
  test('partners have their own limit by network', async () => {
    expect(await statuses('addresses', 12, { from: `${PARTNERS}.7`, target: '/partners' })).toEqual(times(12, 200));
    const descriptor = { remote_address_match: 'partner', masked_remote_address: `${PARTNERS}.7/32` };
    expect(await gateway.remaining('addresses', descriptor)).toBe(988);
  });

  const forwarded = (value: string): NonNullable<RawRequest['headers']> => [['x-forwarded-for', value]];
  const of = (example: string, address: string) => gateway.remaining(example, { remote_address: address });

  test('with no proxy the address is that of the connection', async () => {
    await gateway.send('proxies-0', { from: '127.40.0.1', target: '/exact', headers: forwarded('198.51.100.1') });
    expect([await of('proxies-0', '127.40.0.1'), await of('proxies-0', '198.51.100.1')]).toEqual([9, 10]);
  });

  test('behind one proxy the address is the last one of X-Forwarded-For', async () => {
    // The caller wrote the first one, the proxy the second.
    await gateway.send('proxies-1', { from: `${PROXIES}.1`, target: '/exact', headers: forwarded('198.51.100.1, 203.0.113.5') });
    expect([await of('proxies-1', '203.0.113.5'), await of('proxies-1', '198.51.100.1')]).toEqual([9, 10]);
  });

  test('behind two proxies the address is the last but one', async () => {
    const headers = forwarded('198.51.100.1, 203.0.113.5, 192.0.2.1');
    await gateway.send('proxies-2', { from: `${PROXIES}.1`, target: '/exact', headers });
    expect([await of('proxies-2', '203.0.113.5'), await of('proxies-2', '198.51.100.1')]).toEqual([9, 10]);
  });

  test('one hop too many lets callers choose their address', async () => {
    await gateway.send('proxies-2', { from: `${PROXIES}.1`, target: '/exact', headers: forwarded('198.51.100.9, 203.0.113.9') });
    expect(await of('proxies-2', '198.51.100.9')).toBe(9);
  });

  test('proxies known by their networks are trusted, and connections from elsewhere count as themselves', async () => {
    const headers = forwarded('198.51.100.1, 203.0.113.5');
    await gateway.send('proxies-3', { from: `${PROXIES}.1`, target: '/exact', headers });
    await gateway.send('proxies-3', { from: '127.40.0.2', target: '/exact', headers });
    expect([await of('proxies-3', '203.0.113.5'), await of('proxies-3', '127.40.0.2')]).toEqual([9, 9]);
    expect(await of('proxies-3', '198.51.100.1')).toBe(10);
  });

  test('connections from outside of Cloudflare are closed, and requests without its header refused', async () => {
    const headers: NonNullable<RawRequest['headers']> = [['cf-connecting-ip', '198.51.100.1']];
    expect(await gateway.send('cloudflare', { from: '127.40.0.3', target: '/', headers })).toBe(0);
    expect(await gateway.send('cloudflare', { from: `${CLOUDFLARE}.1`, target: '/' })).toBe(403);
    expect(await gateway.remaining('cloudflare', { masked_remote_address: '198.51.100.1/32' })).toBe(10);
  });
});

describe('API keys', () => {
  const withKey = (from: string, key: string): RawRequest => ({ from, target: '/data', headers: [['x-api-key', key]] });

  test('guesses are limited by address before keys are checked', async () => {
    const answers: number[] = [];
    for (let n = 0; n < 23; n += 1) answers.push(await gateway.send('api-keys', withKey('127.41.0.1', `guess-${n}`)));
    expect(answers).toEqual([...times(20, 401), ...times(3, 429)]);
  });

  test('guesses on a path without a route of its own are limited as well, and the right key shows nothing then', async () => {
    const onAnyPath = (key: string): RawRequest => ({ ...withKey('127.41.0.5', key), target: '/nosuch' });
    const answers: number[] = [];
    for (let n = 0; n < 22; n += 1) answers.push(await gateway.send('api-keys', onAnyPath(`guess-${n}`)));
    expect(answers).toEqual([...times(20, 401), ...times(2, 429)]);
    expect(await gateway.send('api-keys', onAnyPath('key-of-bank-1'))).toBe(429);
  });

  test('all keys of a client share its limit, and letters matter', async () => {
    expect(await statuses('api-keys', 6, withKey('127.41.0.2', 'key-of-shop-1'))).toEqual(times(6, 200));
    expect(await statuses('api-keys', 5, withKey('127.41.0.3', 'key-of-shop-2'))).toEqual([...times(4, 200), 429]);
    expect(await gateway.send('api-keys', withKey('127.41.0.4', 'KEY-OF-SHOP-1'))).toBe(401);
  });
});

describe('certificates', () => {
  const over = (pair: (typeof certificates)['client'] | undefined): RawRequest => ({
    target: '/input',
    tls: {
      rejectUnauthorized: false,
      ...(pair !== undefined && { cert: readFileSync(pair.cert), key: readFileSync(pair.key) }),
    },
  });

  test('callers without a certificate, or with one of another authority or form, do not reach the backend', async () => {
    const before = gateway.backendRequests();
    const foreign = [undefined, certificates.stranger, certificates.client, certificates.workload('https://example.com/cart')];
    for (const pair of foreign) expect(await gateway.send('certificates', over(pair))).toBe(0);
    expect(gateway.backendRequests()).toBe(before);
    expect(await gateway.send('certificates', over(certificates.workload('spiffe://example.com/known')))).toBe(200);
  });
});

describe('tokens', () => {
  const withClaims = (from: string, target: string, claims: object): RawRequest => ({
    from,
    target,
    headers: Object.entries(bearer({ aud: 'api', ...claims })),
  });

  test.each([
    ['tokens', '/metadata'],
    ['tokens-by-merchant', '/metadata'],
    ['tokens', '/claim'],
    ['tokens-by-merchant', '/claim'],
  ])('tokens without a claim, or with one that is not a text, share the anonymous limit: %s%s', async (example, target) => {
    const from = target === '/claim' ? '127.42.0.1' : '127.42.0.2';
    // A `sub` that is not a text makes the whole token invalid. An empty claim is an empty user for jwt_claim, with a limit like others.
    const noText = example === 'tokens' ? [{}] : [{}, { merchant: null }, { merchant: [] }, { merchant: {} }];
    const empty = target === '/claim' ? noText : [...noText, { sub: '', merchant: '' }];
    const answers: number[] = [];
    for (let n = 0; n < 8; n += 1) answers.push(await gateway.send(example, withClaims(from, target, empty[n % empty.length]!)));
    expect(answers).toEqual([...times(5, 200), ...times(3, 429)]);
  });

  test.each(['/metadata', '/claim'])('a forged token beside a valid one counts for nobody else: %s', async (target) => {
    const [valid, forged] = [`Bearer ${tokenOf({ sub: 'mallory', aud: 'api' })}`, `Bearer ${unsignedToken({ sub: 'ann', aud: 'api' })}`];
    const pairs = [
      [valid, forged],
      [forged, valid],
      [`${valid}, ${forged}`],
      [`${forged}, ${valid}`],
      [forged.replace('Bearer', 'bearer'), valid],
      [`x ${forged}`, valid],
    ];
    for (const values of pairs) {
      const headers = values.map((value) => ['authorization', value] as const);
      await gateway.send('tokens', { from: '127.42.0.3', target, headers });
    }
    expect(await gateway.remaining('tokens', { user: 'ann', masked_remote_address: 'any' })).toBe(10);
  });

  test('a limit in a token counts only if it is one', async () => {
    const wrong = [
      {},
      { limit: 5 },
      { limit: { requests_per_unit: 'many', unit: 'HOUR' } },
      { limit: { requests_per_unit: 5, unit: 'WEEK' } },
    ];
    for (const claims of wrong) {
      const sub = `of-${JSON.stringify(claims)}`;
      expect(await statuses('overrides', 12, withClaims('127.42.0.4', '/contract', { sub, ...claims }))).toEqual([
        ...times(10, 200),
        429,
        429,
      ]);
    }
  });
});

describe('classes of requests', () => {
  test('a request that says that it is small has the larger limit, and one without a length is large', async () => {
    const from = '127.43.0.1';
    const small: RawRequest = { from, method: 'POST', target: '/files', headers: [['content-length', '3']], body: 'abc' };
    const large: RawRequest = { from, method: 'POST', target: '/files', headers: [['content-length', '20000']], body: 'x'.repeat(20_000) };
    expect(await statuses('expressions', 12, small)).toEqual(times(12, 200));
    expect(await statuses('expressions', 11, large)).toEqual([...times(10, 200), 429]);
  });

  test('cheap reports have their own limit, and every other value is expensive', async () => {
    const from = '127.43.0.2';
    expect(await statuses('queries', 8, { from, target: '/report?cached=true' })).toEqual(times(8, 200));
    const others = ['?cached=TRUE', '?cached=', '?cached=1&cached=true', '?Cached=true', '?%63ached=yes', '?x'];
    const answers: number[] = [];
    for (const query of others) answers.push(await gateway.send('queries', { from, target: `/report${query}` }));
    expect(answers).toEqual([...times(5, 200), 429]);
  });

  test('the bytes of an upload are charged when it has ended, whatever length it claims', async () => {
    const chunk = `4e20\r\n${'x'.repeat(20_000)}\r\n`;
    const body = `${chunk.repeat(30)}0\r\n\r\n`;
    const upload: RawRequest = { from: '127.43.0.3', method: 'POST', target: '/upload', headers: [['transfer-encoding', 'chunked']], body };
    const answers: number[] = [];
    for (let n = 0; n < 3; n += 1) {
      const calls = await gateway.answeredCalls('costs');
      answers.push(await gateway.send('costs', upload));
      await gateway.answeredCallsReach('costs', calls + 2);
    }
    expect(answers).toEqual([200, 200, 429]);
  });
});

describe('paths', () => {
  test.each([
    ['//report', 200],
    ['/./report', 200],
    ['/x/../report', 200],
    ['/x/%2e%2e/report', 200],
    ['/%72eport', 200],
    ['/report/', 200],
    ['/report?x=1', 200],
    ['/report/x', 200],
    ['http://other/report', 200],
    ['/x%2f..%2freport', 307],
    ['/report;x=1', 404],
    ['/REPORT', 404],
    ['/report%20', 404],
  ])('the spelling of a path selects the route, or none: %s', async (target, status) => {
    // Each from another address, so that none of them is over a limit.
    const from = `127.46.0.${1 + (target.length % 250)}`;
    expect(await gateway.send('queries', { from, target })).toBe(status);
  });
});

describe('levels', () => {
  test('a route that includes the limits of its virtual host is charged to both', async () => {
    const from = '127.44.0.1';
    for (const target of ['/includes', '/also', '/per-route', '/inherits'])
      expect(await gateway.send('levels', { from, target })).toBe(200);
    const left = (level: string) => gateway.remaining('levels', { level, masked_remote_address: `${from}/32` });
    expect([await left('host'), await left('route'), await left('per-route')]).toEqual([6, 3, 4]);
  });

  test('an operator switches off the rate limit with a disable_key at run time', async () => {
    const request = { from: '127.44.0.2', target: '/replaces' };
    expect(await statuses('levels', 6, request)).toEqual([...times(5, 200), 429]);
    await gateway.admin('/runtime_modify?ratelimit.export.http_filter_enabled=0');
    expect(await gateway.send('levels', request)).toBe(200);
    await gateway.admin('/runtime_modify?ratelimit.export.http_filter_enabled=100');
    expect(await gateway.send('levels', request)).toBe(429);
  });
});

describe('without HTTP', () => {
  test('the network filter closes connections over the limit of a client', async () => {
    const request = { from: '127.45.0.1', target: '/', headers: [['x-forwarded-for', '198.51.100.1']] as const };
    expect(await statuses('connections', 13, request)).toEqual([...times(10, 200), ...times(3, 0)]);
    expect(await gateway.send('connections', { ...request, from: '127.45.0.2' })).toBe(200);
  });

  test('calls of Thrift are limited by method, and methods without a route of their own together', async () => {
    const from = '127.45.0.3';
    const call = (method: string) => callThrift({ port: gateway.port('thrift'), from, method });
    const answers: string[] = [];
    for (let n = 0; n < 12; n += 1) answers.push(await call('search'));
    expect(answers).toEqual([...times(10, 0).map(() => 'reply'), 'exception', 'exception']);
    const others: string[] = [];
    for (const method of ['a', 'b', 'Search', 'search ', 'SEARCH', 'x:search', '', 'c', 'd', 'e', 'f']) others.push(await call(method));
    expect(others.filter((answer) => answer === 'reply').length).toBeLessThanOrEqual(10);
    expect(others.at(-1)).toBe('exception');
    expect(thrift.calls()).toBeLessThanOrEqual(20);
  });
});
