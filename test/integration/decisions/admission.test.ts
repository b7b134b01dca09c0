/** A domain denies requests without a required entry, and those that no rule matches; they charge nothing, and metrics, bodies, logs and commands say why. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { httpRequest } from '../../support/clients/http-client';
import { OK, OVER_LIMIT, RlsClient, type AskedDescriptor } from '../../support/clients/rls-client';
import { until } from '../../support/clock/until';
import { writeConfig, writeText } from '../../support/config/temp-config';
import { runWeir } from '../../support/processes/command';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';

const LIMIT = 1_000;
const CONFIG = writeConfig(`
domain: d
require: [merchant]
unmatched: deny
response_body: problem
descriptors:
  - key: merchant
    rate_limit: { unit: year, requests_per_unit: ${LIMIT} }
  - key: tokens
    rate_limit: { unit: year, requests_per_unit: ${LIMIT}, overdraft: true }
  - key: path
    rate_limit: { unit: year, requests_per_unit: ${LIMIT} }
`);
const UNMATCHED_ONLY = writeConfig(
  `{ domain: d, unmatched: deny, descriptors: [{ key: k, rate_limit: { unit: year, requests_per_unit: ${LIMIT} } }, { key: health }] }`,
);
const TIMEOUT_MS = 60_000;

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
}, TIMEOUT_MS);

afterAll(() => redis.stop());

const entry = (key: string, value: string, hits?: number): AskedDescriptor => ({
  entries: { [key]: value },
  ...(hits !== undefined && { hits_addend: { value: String(hits) } }),
});

describe.each<[string, () => Readonly<Record<string, string>>]>([
  ['the embedded store', () => ({ BACKEND_TYPE: 'memory' })],
  ['Redis', () => ({ REDIS_URL: `127.0.0.1:${redis.port}` })],
])('on %s', (_name, env) => {
  let weir: WeirProcess;
  let client: RlsClient;
  const log = writeText('');

  beforeAll(async () => {
    weir = await startWeir({ config: CONFIG, env: { ...env(), DECISION_LOG: log } });
    client = new RlsClient(weir.grpcPort);
  }, TIMEOUT_MS);

  afterAll(async () => {
    client.close();
    await weir.stop();
  });

  const codeOf = async (...descriptors: readonly AskedDescriptor[]) => (await client.ask('d', descriptors)).overall_code;
  const left = async (key: string, value: string) =>
    (await client.ask('d', [entry('merchant', 'reader', 0), entry(key, value, 0)])).statuses[1]?.limit_remaining;

  test.each<[string, number, readonly AskedDescriptor[]]>([
    ['the required entry', OK, [entry('merchant', 'm')]],
    ['the required entry in another descriptor', OK, [entry('path', '/a'), entry('merchant', 'm')]],
    ['no required entry', OVER_LIMIT, [entry('path', '/denied')]],
    ['an empty value', OVER_LIMIT, [entry('path', '/denied'), entry('merchant', '')]],
    ['another case of the key', OVER_LIMIT, [entry('Merchant', 'm')]],
    ['the required entry only below a rule that does not match', OK, [{ entries: { path: '/a', merchant: 'm' } }, entry('merchant', 'm')]],
    ['a value for a rule that is not there', OVER_LIMIT, [{ entries: { unknown: 'u', merchant: 'm' } }]],
    ['a check without the entry', OVER_LIMIT, [entry('path', '/denied', 0)]],
  ])('a request with %s', async (_what, code, descriptors) => {
    expect(await codeOf(...descriptors)).toBe(code);
  });

  test('a denied request charges nothing but its usage reports', async () => {
    for (let i = 0; i < 5; i += 1) await codeOf(entry('path', '/denied'), entry('tokens', 't', 7));
    expect(await left('path', '/denied')).toBe(LIMIT);
    expect(await left('tokens', 't')).toBe(LIMIT - 35);
  });

  test('the answer, the body, the metrics and the decision log say why', async () => {
    const answer = await client.ask('d', [entry('path', '/denied'), entry('unknown', 'u')]);
    expect(answer.statuses.map(({ code }) => code)).toEqual([OVER_LIMIT, OK]);
    expect(answer.statuses[0]?.current_limit).toMatchObject({ requests_per_unit: 0, name: 'require' });
    expect(Buffer.from(answer.raw_body as unknown as string, 'latin1').toString()).toContain(
      'The request lacks \\"merchant\\", which is required.',
    );
    const { statuses } = await client.ask('d', [{ entries: { unknown: 'u', merchant: 'm' } }]);
    expect(statuses[0]?.current_limit).toMatchObject({ requests_per_unit: 0, name: 'unmatched' });
    const metrics = (await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`)).body;
    expect(metrics).toMatch(/weir_refused_requests_total\{domain="d",reason="missing_entry"\} \d+/);
    expect(metrics).toMatch(/weir_refused_requests_total\{domain="d",reason="unmatched"\} [12]\n/);
    await until(() => readFileSync(log, 'utf8').includes('"decided_by":"refusal"'));
  });
});

test('what is given back passes without the required entry', async () => {
  const weir = await startWeir({ config: CONFIG, env: { BACKEND_TYPE: 'memory' } });
  const body = (hits: number) =>
    JSON.stringify({ domain: 'd', descriptors: [{ entries: [{ key: 'path', value: '/a' }], hitsAddend: hits, isNegativeHits: true }] });
  const reply = await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, { body: body(1) });
  expect(JSON.parse(reply.body)).toMatchObject({ overallCode: 'OK' });
  await weir.stop();
});

test('SHADOW_MODE denies nothing and counts what would be', async () => {
  const weir = await startWeir({ config: CONFIG, env: { BACKEND_TYPE: 'memory', SHADOW_MODE: 'true' } });
  const client = new RlsClient(weir.grpcPort);
  expect((await client.ask('d', [entry('path', '/a')])).overall_code).toBe(OK);
  const metrics = (await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`)).body;
  expect(metrics).toContain('weir_refused_requests_total{domain="d",reason="missing_entry"} 1');
  client.close();
  await weir.stop();
});

test('without require, a request passes if one of its descriptors matches a rule, also one without a limit', async () => {
  const weir = await startWeir({ config: UNMATCHED_ONLY, env: { BACKEND_TYPE: 'memory' } });
  const client = new RlsClient(weir.grpcPort);
  const codeOf = async (...descriptors: readonly AskedDescriptor[]) => (await client.ask('d', descriptors)).overall_code;
  expect(await codeOf(entry('other', 'a'), entry('k', 'a'))).toBe(OK);
  expect(await codeOf(entry('health', 'a'))).toBe(OK);
  expect(await codeOf(entry('other', 'a'), entry('another', 'a'))).toBe(OVER_LIMIT);
  // Settings of another domain do not hold here.
  expect((await client.ask('unknown', [entry('other', 'a')])).overall_code).toBe(OK);
  client.close();
  await weir.stop();
});

test('weir explain, check and diff show what a domain refuses', async () => {
  const explained = await runWeir(['explain', '--config', CONFIG, '--domain', 'd', '--descriptor', 'path=/a']);
  expect(explained.stdout).toContain('refused: none of its descriptors has the entry "merchant" with a value, which the domain requires\n');
  expect(explained.stdout).toContain(`${LIMIT}`);
  const unmatched = await runWeir(['explain', '--config', CONFIG, '--domain', 'd', '--descriptor', 'unknown=a,merchant=m']);
  expect(unmatched.stdout).toContain('refused: no rule matches any of its descriptors, and the domain has unmatched: deny\n');
  const tenants = (more: string) =>
    writeConfig(
      `{ domain: d, ${more} plans: { p: { rate_limit: { unit: day, requests_per_unit: 1 } } }, descriptors: [{ key: merchant, tenant: true, default_plan: p }] }`,
    );
  const checked = await runWeir(['check', tenants('')]);
  expect(checked.stdout + checked.stderr).toContain(
    'domain: requests without the entry "merchant" pass without the limits of a plan; add require: [merchant], or unmatched: allow if they may',
  );
  for (const more of ['require: [merchant],', 'unmatched: allow,', 'unmatched: deny,']) {
    const silent = await runWeir(['check', tenants(more)]);
    expect(silent.stdout + silent.stderr).not.toContain('without the entry');
  }
  const misspelled = await runWeir(['check', tenants('require: [merchant, merchent],')]);
  expect(misspelled.stdout + misspelled.stderr).toContain('require: no descriptor has the required key "merchent"');
  const diff = await runWeir([
    'diff',
    UNMATCHED_ONLY,
    writeConfig(readFileSync(path.resolve(UNMATCHED_ONLY), 'utf8').replace('unmatched: deny', 'require: [k]')),
  ]);
  expect(diff.stdout).toMatch(/require.*nothing.*k/);
  expect(diff.stdout).toMatch(/unmatched.*deny.*allow/);
});
