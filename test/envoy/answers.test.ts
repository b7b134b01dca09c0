/** A client of a real Envoy sees the headers of each mode, and its access log shows why a request was denied. */
import { writeConfig } from '../support/config/temp-config';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { startGateway, warmUp, type Gateway, type GatewayOptions } from './chain/gateway';
import { hangLimitMs } from '../support/clock/hang-limit';

const LOGINS = 2;

/** The descriptors of deploy/envoy/envoy.yaml. `extra` goes into each limit of the login, quoted as YAML. */
function limits({ loginExtra = '', descriptorExtra = '' } = {}): string {
  return writeConfig(`
domain: payments
algorithm: fixed_window
descriptors:
  - key: plan
    value: free
    descriptors:
      - key: merchant
        metadata: { plan: { name: free } }
        rate_limit: {unit: year, requests_per_unit: 3}${descriptorExtra}
  - key: path
    value: /search
    descriptors:
      - key: client
        rate_limit: {unit: year, requests_per_unit: 1000}
  - key: path
    value: /login
    descriptors:
      - key: client
        rate_limit: {name: "logins\\r\\nx-injected: 1", unit: year, requests_per_unit: ${LOGINS}${loginExtra}}${descriptorExtra}
`);
}

/** Weir with these settings, and an Envoy that asks it. */
async function withGateway(
  { env = {}, config = limits(), replacements = {} }: With,
  use: (gateway: Gateway) => Promise<void>,
): Promise<void> {
  let gateway: Gateway | undefined;
  const weir: WeirProcess = await startWeir({ config, env });
  try {
    gateway = await startGateway({ weirGrpcPort: weir.grpcPort, replacements });
    await warmUp(gateway);
    await use(gateway);
  } finally {
    await gateway?.stop();
    await weir.stop();
  }
}

interface With extends Pick<GatewayOptions, 'replacements'> {
  readonly env?: Readonly<Record<string, string>>;
  readonly config?: string;
}

const CALLER = { merchant: 'm', client: 'c' };
const NO_RETRY_AFTER_OF_ENVOY = { 'enable_retry_after_header: true': 'enable_retry_after_header: false' };
const REFERENCE = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'];
const IETF = ['ratelimit', 'ratelimit-policy'];

/** The headers of Weir's, and what Envoy makes of its statuses. */
function limitHeaders(headers: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(headers)
    .filter((name) => /ratelimit|retry-after|injected/.test(name) && name !== 'x-envoy-ratelimited')
    .sort();
}

const OF_ENVOY = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

/** Both logins that fit, and the one that does not. */
async function logins(gateway: Gateway) {
  const responses = [];
  for (let i = 0; i <= LOGINS; i += 1) responses.push(await gateway.get('/login', CALLER));
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 429]);
  return responses.map(({ headers }) => headers);
}

describe('headers that the client sees', () => {
  test('with the setting off, the client sees only the headers that Envoy makes of the statuses', async () => {
    await withGateway({}, async (gateway) => {
      const [first, , denied] = await logins(gateway);
      expect(limitHeaders(first!)).toEqual(OF_ENVOY);
      expect(limitHeaders(denied!)).toEqual(['retry-after', ...OF_ENVOY]);
    });
  });

  test('reference: the client sees the three headers of the nearest or denying limit, and no Retry-After', async () => {
    await withGateway({ env: { LIMIT_RESPONSE_HEADERS_ENABLED: 'true' }, replacements: NO_RETRY_AFTER_OF_ENVOY }, async (gateway) => {
      const seen = await logins(gateway);
      for (const headers of seen) expect(limitHeaders(headers)).toEqual([...REFERENCE, ...OF_ENVOY]);
      expect(seen.map((headers) => [headers['ratelimit-limit'], headers['ratelimit-remaining']])).toEqual([
        ['2', '1'],
        ['2', '0'],
        ['2', '0'],
      ]);
      // Envoy cuts what Weir rounds up, of the same status: they agree.
      for (const headers of seen) expect(headers['ratelimit-reset']).toBe(headers['x-ratelimit-reset']);
    });
  });

  test('ietf: the client sees every limit, and Retry-After once; a limit name cannot inject header text', async () => {
    await withGateway({ env: { RESPONSE_HEADERS: 'ietf' } }, async (gateway) => {
      const [first, , denied] = await logins(gateway);
      const name = 'logins??x-injected: 1';
      expect(limitHeaders(first!)).toEqual([...IETF, ...OF_ENVOY]);
      expect(first!['ratelimit-policy']).toBe(`"plan_free.merchant";q=3;w=31536000, "${name}";q=2;w=31536000`);
      expect(first!.ratelimit).toMatch(
        new RegExp(String.raw`^"plan_free\.merchant";r=2;t=\d+, "${name.replaceAll('?', String.raw`\?`)}";r=1;t=\d+$`),
      );
      expect(limitHeaders(denied!)).toEqual([...IETF, 'retry-after', ...OF_ENVOY]);
      // Ours alone: Envoy adds its own only where there is none.
      expect(denied!['retry-after']).toBe(/;r=0;t=(\d+)$/.exec(String(denied!.ratelimit))?.[1]);
    });
  });

  test('response_headers of a rule lists one limit and hides the other; Retry-After does not need Envoy', async () => {
    const config = limits({ loginExtra: ', response_headers: ietf' });
    await withGateway({ config, replacements: NO_RETRY_AFTER_OF_ENVOY }, async (gateway) => {
      const [first, , denied] = await logins(gateway);
      expect(first!['ratelimit-policy']).toMatch(/^"logins[^,]*";q=2;w=31536000$/);
      expect(limitHeaders(denied!)).toEqual([...IETF, 'retry-after', ...OF_ENVOY]);
    });
  });

  test('RETRY_AFTER_ENABLED alone adds Retry-After to denials only', async () => {
    await withGateway({ env: { RETRY_AFTER_ENABLED: 'true' }, replacements: NO_RETRY_AFTER_OF_ENVOY }, async (gateway) => {
      const [first, , denied] = await logins(gateway);
      expect(limitHeaders(first!)).toEqual(OF_ENVOY);
      expect(denied!['retry-after']).toBe(denied!['x-ratelimit-reset']);
    });
  });
});

describe("Envoy's own headers of a denied request with several hits name the limit that denied", () => {
  /** As the route /payment of the published file ends, so that its descriptors ask for hits of their own. */
  const ROUTE = `                    - generic_key: {descriptor_key: path, descriptor_value: /payment}
                    - request_headers: {header_name: x-client, descriptor_key: client}
`;
  const PER_ROUTE = `                typed_per_filter_config:
                  envoy.filters.http.ratelimit:
                    "@type": type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimitPerRoute
                    rate_limits:
                    - actions: [{generic_key: {descriptor_key: one, descriptor_value: v}}]
                      hits_addend: {number: 1}
                    - actions: [{generic_key: {descriptor_key: two, descriptor_value: v}}]
                      hits_addend: {number: 5}
                    - actions: [{generic_key: {descriptor_key: quota, descriptor_value: v}}]
                      hits_addend: {number: 5}
                    - actions: [{generic_key: {descriptor_key: other_quota, descriptor_value: v}}]
                      hits_addend: {number: 1}
`;
  const LIMITS = `
domain: payments
algorithm: fixed_window
descriptors:
  - { key: path, value: /search, descriptors: [{ key: client, rate_limit: { unit: year, requests_per_unit: 1000 } }] }
  - { key: one, rate_limit: { unit: year, requests_per_unit: 2 } }
  - { key: two, rate_limit: { unit: day, requests_per_unit: 8 } }
  - { key: quota, quota_mode: true, rate_limit: { unit: hour, requests_per_unit: 6 } }
  - { key: other_quota, quota_mode: true, rate_limit: { unit: hour, requests_per_unit: 1000 } }
`;

  test('the headers skip limits with room for fewer hits and quotas that do not deny', async () => {
    await withGateway({ config: writeConfig(LIMITS), replacements: { [ROUTE]: ROUTE + PER_ROUTE } }, async (gateway) => {
      const seen = [];
      for (let n = 0; n < 3; n += 1) seen.push(await gateway.get('/payment', CALLER));
      const shown = seen.map(({ status, headers }) => [
        status,
        String(headers['x-ratelimit-limit']).split(',')[0],
        headers['x-ratelimit-remaining'],
      ]);
      // After the first 1, 3 and 1 are left: the second finds too little in `two` (3 of 5) and in the quota (1 of 5), and enough in `one`.
      expect(shown).toEqual([
        [200, '2', '1'],
        [429, '8', '0'],
        [429, '8', '0'],
      ]);
    });
  });
});

test('quota mode denies when every quota limit is over, with the wait of one of them', async () => {
  const config = limits({ descriptorExtra: '\n        quota_mode: true' });
  await withGateway({ config, env: { RESPONSE_HEADERS: 'ietf' } }, async (gateway) => {
    const responses = [];
    // The third is over the two logins of the client, the fourth over the three of the merchant too.
    for (let i = 0; i < 4; i += 1) responses.push(await gateway.get('/login', CALLER));
    expect(responses.map(({ status, headers }) => [status, headers['retry-after'] !== undefined])).toEqual([
      [200, false],
      [200, false],
      [200, false],
      [429, true],
    ]);
    expect(responses[2]!.headers.ratelimit).toMatch(/^"plan_free\.merchant";r=0;.*";r=0;/);
  });
});

test("Envoy's access log has the request, the metadata of rules and the reason of the denial as dynamic metadata", async () => {
  const keys = ['decision:code', 'decision:denied_by', 'metadata:plan:name', 'domain', 'decision'];
  const format = keys.map((key) => `%DYNAMIC_METADATA(envoy.filters.http.ratelimit:${key})%`).join(' | ');
  const replacements = { '%RESPONSE_FLAGS%\\n"': `%RESPONSE_FLAGS% | ${format}\\n"` };
  await withGateway({ env: { RESPONSE_DYNAMIC_METADATA: 'true', RESPONSE_DECISION_METADATA: 'true' }, replacements }, async (gateway) => {
    await logins(gateway);
    const lines = await untilLogged(gateway, 1 + LOGINS);
    const fields = lines.map((line) => line.split(' | ').slice(1));
    expect(fields.map((parts) => parts.slice(0, 4))).toEqual([
      ['OK', '-', 'free', 'payments'],
      ['OK', '-', 'free', 'payments'],
      ['OVER_LIMIT', '["payments.path_/login.client"]', 'free', 'payments'],
    ]);
    expect(JSON.parse(fields[2]![4]!)).toMatchObject({
      generation: 1,
      descriptors: [
        { code: 'OK' },
        { code: 'OK', rule: 'payments.plan_free.merchant', limit_remaining: 1 },
        { code: 'OVER_LIMIT', fits: false, requests_per_unit: 2, unit: 'YEAR' },
      ],
    });
  });
});

/** The lines about logins, once there are as many; polls for 10 s. */
async function untilLogged(gateway: Gateway, count: number): Promise<string[]> {
  const endsMs = performance.now() + hangLimitMs(10_000);
  for (;;) {
    const lines = gateway
      .output()
      .split('\n')
      .filter((line) => line.includes('/login'));
    if (lines.length >= count) return lines;
    if (performance.now() > endsMs) throw new Error(`only ${lines.length} of ${count} lines in the access log:\n${gateway.output()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
