/** What a client of a real Envoy sees of Weir's headers in each mode, and what Envoy's access log sees of its metadata. */
import { writeConfig } from '../support/temp-config';
import { startWeir, type WeirProcess } from '../support/weir-process';
import { startGateway, warmUp, type Gateway, type GatewayOptions } from './gateway';

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
async function withGateway({ env = {}, config = limits(), replacements = {} }: With, use: (gateway: Gateway) => Promise<void>): Promise<void> {
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
  return Object.keys(headers).filter((name) => /ratelimit|retry-after|injected/.test(name) && name !== 'x-envoy-ratelimited').sort();
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
  test('off: what Envoy makes of the statuses, and nothing else', async () => {
    await withGateway({}, async (gateway) => {
      const [first, , denied] = await logins(gateway);
      expect(limitHeaders(first!)).toEqual(OF_ENVOY);
      expect(limitHeaders(denied!)).toEqual(['retry-after', ...OF_ENVOY]);
    });
  });

  test('reference: the three of the limit that is nearest, and of the one that denies; no Retry-After of its own', async () => {
    await withGateway({ env: { LIMIT_RESPONSE_HEADERS_ENABLED: 'true' }, replacements: NO_RETRY_AFTER_OF_ENVOY }, async (gateway) => {
      const seen = await logins(gateway);
      for (const headers of seen) expect(limitHeaders(headers)).toEqual([...REFERENCE, ...OF_ENVOY]);
      expect(seen.map((headers) => [headers['ratelimit-limit'], headers['ratelimit-remaining']])).toEqual([['2', '1'], ['2', '0'], ['2', '0']]);
      // Envoy cuts what Weir rounds up, of the same status: they agree.
      for (const headers of seen) expect(headers['ratelimit-reset']).toBe(headers['x-ratelimit-reset']);
    });
  });

  test('ietf: every limit, and Retry-After once; a name can put nothing else into them', async () => {
    await withGateway({ env: { RESPONSE_HEADERS: 'ietf' } }, async (gateway) => {
      const [first, , denied] = await logins(gateway);
      const name = 'logins??x-injected: 1';
      expect(limitHeaders(first!)).toEqual([...IETF, ...OF_ENVOY]);
      expect(first!['ratelimit-policy']).toBe(`"plan_free.merchant";q=3;w=31536000, "${name}";q=2;w=31536000`);
      expect(first!.ratelimit).toMatch(new RegExp(String.raw`^"plan_free\.merchant";r=2;t=\d+, "${name.replaceAll('?', String.raw`\?`)}";r=1;t=\d+$`));
      expect(limitHeaders(denied!)).toEqual([...IETF, 'retry-after', ...OF_ENVOY]);
      // Ours alone: Envoy adds its own only where there is none.
      expect(denied!['retry-after']).toBe(/;r=0;t=(\d+)$/.exec(String(denied!.ratelimit))?.[1]);
    });
  });

  test('by rule: one limit is listed, the other hidden; Retry-After without Envoy', async () => {
    const config = limits({ loginExtra: ', response_headers: ietf' });
    await withGateway({ config, replacements: NO_RETRY_AFTER_OF_ENVOY }, async (gateway) => {
      const [first, , denied] = await logins(gateway);
      expect(first!['ratelimit-policy']).toMatch(/^"logins[^,]*";q=2;w=31536000$/);
      expect(limitHeaders(denied!)).toEqual([...IETF, 'retry-after', ...OF_ENVOY]);
    });
  });

  test('RETRY_AFTER_ENABLED alone: on a denial, and only there', async () => {
    await withGateway({ env: { RETRY_AFTER_ENABLED: 'true' }, replacements: NO_RETRY_AFTER_OF_ENVOY }, async (gateway) => {
      const [first, , denied] = await logins(gateway);
      expect(limitHeaders(first!)).toEqual(OF_ENVOY);
      expect(denied!['retry-after']).toBe(denied!['x-ratelimit-reset']);
    });
  });
});

test('quota mode: denied when every quota limit is over, with the wait of one of them', async () => {
  const config = limits({ descriptorExtra: '\n        quota_mode: true' });
  await withGateway({ config, env: { RESPONSE_HEADERS: 'ietf' } }, async (gateway) => {
    const responses = [];
    // The third is over the two logins of the client, the fourth over the three of the merchant too.
    for (let i = 0; i < 4; i += 1) responses.push(await gateway.get('/login', CALLER));
    expect(responses.map(({ status, headers }) => [status, headers['retry-after'] !== undefined])).toEqual([[200, false], [200, false], [200, false], [429, true]]);
    expect(responses[2]!.headers.ratelimit).toMatch(/^"plan_free\.merchant";r=0;.*";r=0;/);
  });
});

test("dynamic metadata in Envoy's access log: what was asked, what the rules say, and why it was denied", async () => {
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
      descriptors: [{ code: 'OK' }, { code: 'OK', rule: 'payments.plan_free.merchant', limit_remaining: 1 }, { code: 'OVER_LIMIT', fits: false, requests_per_unit: 2, unit: 'YEAR' }],
    });
  });
});

/** The lines about logins, once there are as many; polls for 10 s. */
async function untilLogged(gateway: Gateway, count: number): Promise<string[]> {
  const endsMs = performance.now() + 10_000;
  for (;;) {
    const lines = gateway.output().split('\n').filter((line) => line.includes('/login'));
    if (lines.length >= count) return lines;
    if (performance.now() > endsMs) throw new Error(`only ${lines.length} of ${count} lines in the access log:\n${gateway.output()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
