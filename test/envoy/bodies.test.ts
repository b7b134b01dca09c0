/** A client of a real Envoy gets the body of a denial with its type, and values of callers are escaped in it. */
import { writeConfig } from '../support/config/temp-config';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { startGateway, warmUp, type Gateway } from './chain/gateway';

const LIMITS = `
domain: payments
algorithm: token_bucket
response_body: problem
descriptors:
  - key: path
    value: /search
    descriptors: [{ key: client, rate_limit: { unit: year, requests_per_unit: 1000 } }]
  - key: path
    value: /login
    descriptors:
      - key: client
        rate_limit:
          name: logins
          unit: year
          requests_per_unit: 1
          response_body:
            json: { error: rate_limited, limit: "{limit}", note: "{entry.note}", retry_after_s: "{retry_after_s}" }
            content_type: application/vnd.shop+json
  - key: path
    value: /payment
    descriptors: [{ key: client, rate_limit: { unit: year, requests_per_unit: 1, response_body: { text: "No more, {entry.note}." } } }]
  - { key: one, rate_limit: { name: cost, unit: minute, requests_per_unit: 3 } }
`;

/** The end of a route in the published file, and what is added to it. */
function routeEnd(path: string): string {
  return `                    - generic_key: {descriptor_key: path, descriptor_value: ${path}}
                    - request_headers: {header_name: x-client, descriptor_key: client}
`;
}
const NOTE = '                  - actions: [{request_headers: {header_name: x-note, descriptor_key: note, skip_if_absent: true}}]\n';
const COST = `                typed_per_filter_config:
                  envoy.filters.http.ratelimit:
                    "@type": type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimitPerRoute
                    rate_limits:
                    - actions: [{generic_key: {descriptor_key: one, descriptor_value: v}}]
                      hits_addend: {number: 5}
`;

const CALLER = { merchant: 'm', client: 'c' };
/** The bytes of a header: quotes, tags, UTF-8 and what is not UTF-8. */
const HOSTILE = '"}</script>\\ \xc3\xa9 \xff';
const SHOWN = '"}</script>\\ é \ufffd';

async function withGateway(
  {
    env = {},
    replacements = {},
  }: { readonly env?: Readonly<Record<string, string>>; readonly replacements?: Readonly<Record<string, string>> },
  use: (gateway: Gateway) => Promise<void>,
): Promise<void> {
  let gateway: Gateway | undefined;
  const weir: WeirProcess = await startWeir({ config: writeConfig(LIMITS), env: { WARM_UP: 'false', ...env } });
  try {
    const withNotes = { [routeEnd('/login')]: routeEnd('/login') + NOTE, [routeEnd('/payment')]: routeEnd('/payment') + NOTE };
    gateway = await startGateway({ weirGrpcPort: weir.grpcPort, replacements: { ...withNotes, ...replacements } });
    await warmUp(gateway);
    await use(gateway);
  } finally {
    await gateway?.stop();
    await weir.stop();
  }
}

test('the client gets the body with its type, the values of callers escaped, and a gRPC client gets it as the message', async () => {
  await withGateway({}, async (gateway) => {
    const login = () => gateway.send('/login', { headers: { 'x-note': HOSTILE } });
    const allowed = await login();
    expect([allowed.status, allowed.headers['x-content-type-options']]).toEqual([200, undefined]);
    const denied = await login();
    expect([denied.status, denied.headers['content-type'], denied.headers['x-content-type-options']]).toEqual([
      429,
      'application/vnd.shop+json',
      'nosniff',
    ]);
    expect(denied.body).not.toMatch(/[<>]/);
    const body = JSON.parse(denied.body) as Record<string, unknown>;
    expect(body).toEqual({ error: 'rate_limited', limit: 1, note: SHOWN, retry_after_s: Number(denied.headers['retry-after']) });

    const payment = () => gateway.send('/payment', { headers: { 'x-note': HOSTILE } });
    await payment();
    const inText = await payment();
    expect([inText.status, inText.headers['content-type'], inText.body]).toEqual([429, 'text/plain; charset=utf-8', `No more, ${SHOWN}.`]);

    const grpc = await gateway.send('/login', { method: 'POST', headers: { 'content-type': 'application/grpc', te: 'trailers' } });
    expect([grpc.status, grpc.headers['content-type'], grpc.headers['grpc-status']]).toEqual([200, 'application/grpc', '8']);
    expect(JSON.parse(decodeURIComponent(String(grpc.headers['grpc-message'])))).toMatchObject({ error: 'rate_limited', note: null });
  });
});

describe('a request that costs more than the limit ever holds', () => {
  const costly = { [routeEnd('/search')]: routeEnd('/search') + COST };
  const env = { RETRY_AFTER_ENABLED: 'true', RETRY_AFTER_MS_ENABLED: 'true' };

  test('Weir sends no Retry-After, and the body and X-Should-Retry say that a retry will not help', async () => {
    const replacements = { ...costly, 'enable_retry_after_header: true': 'enable_retry_after_header: false' };
    await withGateway({ env, replacements }, async (gateway) => {
      const { status, headers, body } = await gateway.get('/search', CALLER);
      expect([status, headers['content-type'], headers['x-should-retry'], headers['retry-after']]).toEqual([
        429,
        'application/problem+json',
        'false',
        undefined,
      ]);
      expect(JSON.parse(body)).toMatchObject({ 'violated-policies': ['cost'], 'never-fits': true, 'most-at-once': 3 });
    });
  });

  test("Envoy's own Retry-After promises what is not true, as docs/headers.md says", async () => {
    await withGateway({ env, replacements: costly }, async (gateway) => {
      const { headers } = await gateway.get('/search', CALLER);
      expect([headers['retry-after'], headers['x-ratelimit-reset'], headers['x-should-retry']]).toEqual(['1', '0', 'false']);
    });
  });
});
