/** A denied answer has the body of its limit, plan, domain or setting, over gRPC and `/json`. */

import { httpRequest } from '../../support/clients/http-client';
import { RlsClient, type AskedDescriptor } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { TRANSPORTS } from '../../support/servers/transport-harness';
import { startRedis } from '../../support/redis/redis-server';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';

const CONFIG = writeConfig(`
domain: d
algorithm: fixed_window
response_body: problem
plans:
  free:
    rate_limit:
      name: free
      unit: year
      requests_per_unit: 0
      response_body: { text: "No.", never_fits: "The plan {limit_name} allows {most_at_once}." }
descriptors:
  - key: logins
    rate_limit: { name: logins, unit: year, requests_per_unit: 0 }
  - key: search
    rate_limit:
      name: search
      unit: year
      requests_per_unit: 1
      response_body:
        json: { error: rate_limited, limit: "{limit}", id: "{entry.request_id}", retry_after_s: "{retry_after_s}" }
        content_type: application/vnd.shop+json
  - key: quiet
    rate_limit: { unit: year, requests_per_unit: 0, response_body: off }
  - { key: tenant, tenant: true, default_plan: free }
`);

const NOSNIFF = { key: 'X-Content-Type-Options', value: 'nosniff' };
const HOSTILE = '"}\r\n\u0001</script>';

interface Asking {
  readonly weir: WeirProcess;
  readonly client: RlsClient;
}

async function withWeir(env: Readonly<Record<string, string>>, use: (asking: Asking) => Promise<void>): Promise<void> {
  const weir = await startWeir({ config: CONFIG, env: { WARM_UP: 'false', ...env } });
  const client = new RlsClient(weir.grpcPort);
  try {
    await use({ weir, client });
  } finally {
    client.close();
    await weir.stop();
  }
}

const entries = (pairs: Readonly<Record<string, string>>): AskedDescriptor => ({ entries: pairs });

describe.each(TRANSPORTS)('bodies over %s', (transport) => {
  test('a denied answer has the body of its limit, its plan or its domain, and an allowed one has none', async () => {
    await withWeir({ TRANSPORT: transport }, async ({ client }) => {
      const search = [entries({ search: 'a' }), entries({ request_id: HOSTILE })];
      const allowed = await client.ask('d', search);
      expect([allowed.overall_code, allowed.raw_body, allowed.response_headers_to_add]).toEqual([1, undefined, undefined]);
      const denied = await client.ask('d', search);
      expect(denied.response_headers_to_add).toEqual([{ key: 'Content-Type', value: 'application/vnd.shop+json' }, NOSNIFF]);
      expect(JSON.parse(String(denied.raw_body))).toEqual({
        error: 'rate_limited',
        limit: 1,
        id: HOSTILE,
        retry_after_s: expect.any(Number) as unknown,
      });
      const ofDomain = await client.ask('d', [entries({ logins: 'a' })]);
      expect(JSON.parse(String(ofDomain.raw_body))).toMatchObject({ status: 429, 'violated-policies': ['logins'] });
      const ofPlan = await client.ask('d', [entries({ tenant: 't' })]);
      expect(String(ofPlan.raw_body)).toBe('The plan free allows 0.');
      expect(ofPlan.response_headers_to_add).toEqual([{ key: 'Content-Type', value: 'text/plain; charset=utf-8' }, NOSNIFF]);
      const quiet = await client.ask('d', [entries({ quiet: 'q' })]);
      expect([quiet.overall_code, quiet.raw_body, quiet.response_headers_to_add]).toEqual([2, undefined, undefined]);
    });
  });
});

test('/json has the body in base64, as protojson writes bytes', async () => {
  await withWeir({}, async ({ weir }) => {
    const body = JSON.stringify({ domain: 'd', descriptors: [{ entries: [{ key: 'logins', value: 'a' }] }] });
    const reply = await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, { method: 'POST', body });
    expect(reply.status).toBe(429);
    const { rawBody, responseHeadersToAdd } = JSON.parse(reply.body) as { rawBody: string; responseHeadersToAdd: unknown };
    expect(responseHeadersToAdd).toEqual([{ key: 'Content-Type', value: 'application/problem+json' }, NOSNIFF]);
    expect(JSON.parse(Buffer.from(rawBody, 'base64').toString())).toMatchObject({
      detail: 'The limit "logins" allows no requests. A retry will not help.',
    });
  });
});

test('workers send the body of a setting, with headers in the configured forms', async () => {
  const config = writeConfig('domain: e\ndescriptors: [{ key: k, rate_limit: { unit: year, requests_per_unit: 1, burst: 2 } }]');
  const env = {
    RESPONSE_BODY: 'text:{limit} a {unit}',
    RESPONSE_HEADERS: 'reference',
    LIMIT_LIMIT_FORM: 'capacity',
    LIMIT_RESET_FORM: 'epoch',
  };
  const startedS = Date.now() / 1000;
  const redis = await startRedis();
  const shared = { REDIS_URL: `redis://127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s', WORKERS: '2', WARM_UP: 'false' };
  const weir = await startWeir({ config, env: { ...env, ...shared, RETRY_AFTER_ENABLED: 'true', RETRY_AFTER_MS_ENABLED: 'true' } });
  const client = new RlsClient(weir.grpcPort);
  try {
    const answers = [];
    for (let i = 0; i < 6; i += 1) answers.push(await client.ask('e', [entries({ k: 'v' })]));
    const { raw_body: body, response_headers_to_add: headers = [] } = answers.at(-1)!;
    expect(String(body)).toBe('1 a year');
    const byName = new Map(headers.map(({ key, value }) => [key, value]));
    expect(byName.get('RateLimit-Limit')).toBe('2');
    expect(Number(byName.get('RateLimit-Reset'))).toBeGreaterThan(startedS + 86_400);
    expect(Number(byName.get('Retry-After-Ms'))).toBeGreaterThan(Number(byName.get('Retry-After')) * 1000 - 1000);
  } finally {
    client.close();
    await weir.stop();
    await redis.stop();
  }
});
