/** Endpoints and statsd names equal those of envoyproxy/ratelimit. */

import { httpRequest } from '../../support/clients/http-client';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';

const CONFIG = writeConfig(`
domain: d
descriptors:
  - { key: exact, value: one, rate_limit: { unit: year, requests_per_unit: 5 } }
  - { key: plain, rate_limit: { unit: year, requests_per_unit: 5 } }
  - { key: wild, value: "a*", rate_limit: { unit: year, requests_per_unit: 5 } }
  - { key: shared, value: "a*", share_threshold: true, rate_limit: { unit: year, requests_per_unit: 5 } }
  - { key: shared_shown, value: "a*", share_threshold: true, value_to_metric: true, rate_limit: { unit: year, requests_per_unit: 5 } }
  - { key: shown, value_to_metric: true, rate_limit: { unit: year, requests_per_unit: 5 } }
  - { key: detailed, detailed_metric: true, value_to_metric: true, rate_limit: { unit: year, requests_per_unit: 5 } }
  - { key: shadow, shadow_mode: true, rate_limit: { unit: year, requests_per_unit: 0 } }
  - { key: none, rate_limit: { unit: year, requests_per_unit: 0 } }
  - { key: free, rate_limit: { unlimited: true } }
  - { key: ten, rate_limit: { unit: year, requests_per_unit: 10 } }
  - { key: deep, descriptors: [{ key: deeper, value: "*", descriptors: [{ key: deepest, rate_limit: { unit: year, requests_per_unit: 5 } }] }] }
`);

let weir: WeirProcess;

beforeAll(async () => {
  weir = await startWeir({ config: CONFIG, env: { BACKEND_TYPE: 'memory', DEFAULT_ALGORITHM: 'fixed_window' } });
});

afterAll(async () => {
  await weir.stop();
});

type Entries = readonly (readonly [string, string])[];

/** A request of one descriptor. */
function bodyOf(entries: Entries, { domain = 'd', hitsAddend = 1 } = {}): unknown {
  return { domain, descriptors: [{ entries: entries.map(([key, value]) => ({ key, value })) }], hitsAddend };
}

async function readStats(): Promise<Readonly<Record<string, number>>> {
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/stats`);
  return (JSON.parse(body) as { stats: Record<string, number> }).stats;
}

const PREFIX = 'ratelimit.service.rate_limit';

/** Statistics that one request adds to, by how much. */
const STATISTICS: readonly { readonly shows: string; readonly body: unknown; readonly adds: Readonly<Record<string, number>> }[] = [
  {
    shows: 'an exact match: key_value',
    body: bodyOf([['exact', 'one']]),
    adds: { 'd.exact_one.total_hits': 1, 'd.exact_one.within_limit': 1 },
  },
  { shows: 'a match by the key alone: key', body: bodyOf([['plain', 'x']]), adds: { 'd.plain.total_hits': 1, 'd.plain.within_limit': 1 } },
  { shows: 'a wildcard: its pattern', body: bodyOf([['wild', 'abc']]), adds: { 'd.wild_a*.total_hits': 1, 'd.wild_a*.within_limit': 1 } },
  {
    shows: 'share_threshold: the pattern',
    body: bodyOf([['shared', 'abc']]),
    adds: { 'd.shared_a*.total_hits': 1, 'd.shared_a*.within_limit': 1 },
  },
  {
    shows: 'share_threshold wins over value_to_metric',
    body: bodyOf([['shared_shown', 'abc']]),
    adds: { 'd.shared_shown_a*.total_hits': 1, 'd.shared_shown_a*.within_limit': 1 },
  },
  {
    shows: 'value_to_metric: the value, without : and |',
    body: bodyOf([['shown', 'v:1|2']]),
    adds: { 'd.shown_v_1_2.total_hits': 1, 'd.shown_v_1_2.within_limit': 1 },
  },
  {
    shows: 'detailed_metric: the values, an address without dots',
    body: bodyOf([['detailed', '10.0.0.1']]),
    adds: { 'd.detailed_10_0_0_1.total_hits': 1, 'd.detailed_10_0_0_1.within_limit': 1 },
  },
  {
    shows: 'dots of other values stay',
    body: bodyOf([['shown', 'v1.2']]),
    adds: { 'd.shown_v1.2.total_hits': 1, 'd.shown_v1.2.within_limit': 1 },
  },
  {
    shows: 'every level of a nested rule',
    body: bodyOf([
      ['deep', '1'],
      ['deeper', '2'],
      ['deepest', '3'],
    ]),
    adds: { 'd.deep.deeper_*.deepest.total_hits': 1, 'd.deep.deeper_*.deepest.within_limit': 1 },
  },
  { shows: 'over the limit', body: bodyOf([['none', 'x']], { hitsAddend: 3 }), adds: { 'd.none.total_hits': 3, 'd.none.over_limit': 3 } },
  {
    shows: 'shadow mode',
    body: bodyOf([['shadow', 'x']]),
    adds: { 'd.shadow.total_hits': 1, 'd.shadow.over_limit': 1, 'd.shadow.shadow_mode': 1 },
  },
  {
    shows: 'near the limit: the part of the hits above four fifths',
    body: bodyOf([['ten', 'x']], { hitsAddend: 9 }),
    adds: { 'd.ten.total_hits': 9, 'd.ten.within_limit': 9, 'd.ten.near_limit': 1 },
  },
  {
    shows: 'all hits above four fifths',
    body: bodyOf([['ten', 'x']]),
    adds: { 'd.ten.total_hits': 1, 'd.ten.within_limit': 1, 'd.ten.near_limit': 1 },
  },
  { shows: 'unlimited: none', body: bodyOf([['free', 'x']]), adds: {} },
  { shows: 'unmatched: none', body: bodyOf([['other', 'x']]), adds: {} },
  { shows: 'an unknown domain', body: bodyOf([['plain', 'x']], { domain: 'e' }), adds: { 'e.domain_not_found': 1 } },
];

test.each(STATISTICS)('statistics, $shows', async ({ body, adds }) => {
  const before = await readStats();
  await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, { body });
  const after = await readStats();
  const added = Object.entries(after).flatMap(([name, value]): [string, number][] => {
    const difference = value - (before[name] ?? 0);
    return name.startsWith(`${PREFIX}.`) && difference !== 0 ? [[name.slice(PREFIX.length + 1), difference]] : [];
  });
  expect(Object.fromEntries(added)).toEqual(adds);
});

const TEXT = /^text\/plain/;
const JSON_TYPE = /^application\/json/;

interface Endpoint {
  readonly shows: string;
  readonly port: 'http' | 'debug';
  readonly path: string;
  readonly body?: unknown;
  readonly status: number;
  readonly type?: RegExp;
  readonly text?: RegExp;
}

const ENDPOINTS: readonly Endpoint[] = [
  { shows: 'OK', port: 'http', path: '/json', body: bodyOf([['plain', 'y']]), status: 200, type: JSON_TYPE, text: /"overallCode":\s*"OK"/ },
  {
    shows: 'OVER_LIMIT',
    port: 'http',
    path: '/json',
    body: bodyOf([['none', 'y']]),
    status: 429,
    type: JSON_TYPE,
    text: /"overallCode":\s*"OVER_LIMIT"/,
  },
  { shows: 'no JSON', port: 'http', path: '/json', body: '{', status: 400, type: TEXT },
  { shows: 'an unknown field', port: 'http', path: '/json', body: { domain: 'd', nothing: 1 }, status: 400, type: TEXT, text: /nothing/ },
  {
    shows: 'an empty domain',
    port: 'http',
    path: '/json',
    body: bodyOf([['plain', 'y']], { domain: '' }),
    status: 400,
    type: TEXT,
    text: /domain/,
  },
  { shows: 'no descriptors', port: 'http', path: '/json', body: { domain: 'd' }, status: 400, type: TEXT, text: /descriptor/ },
  { shows: 'no entries', port: 'http', path: '/json', body: { domain: 'd', descriptors: [{}] }, status: 200, type: JSON_TYPE },
  { shows: 'health', port: 'http', path: '/healthcheck', status: 200, type: TEXT, text: /^OK/ },
  { shows: 'anything else', port: 'http', path: '/other', status: 404 },
  { shows: 'the endpoints', port: 'debug', path: '/', status: 200, type: TEXT, text: /\/rlconfig.*\n\/stats/ },
  {
    shows: 'the rules',
    port: 'debug',
    path: '/rlconfig',
    status: 200,
    type: TEXT,
    text: /^d\.exact_one: unit=YEAR requests_per_unit=5, shadow_mode: false, quota_mode: false/m,
  },
  { shows: 'the statistics', port: 'debug', path: '/stats', status: 200, type: JSON_TYPE },
  {
    shows: 'the metrics',
    port: 'debug',
    path: '/metrics',
    status: 200,
    type: TEXT,
    text: /^ratelimit_service_rate_limit_total_hits\{domain="d",key1="exact_one"/m,
  },
];

test.each(ENDPOINTS)('$port $path: $shows', async ({ port, path, body, status, type, text }) => {
  const answer = await httpRequest(
    `http://127.0.0.1:${port === 'http' ? weir.httpPort : weir.debugPort}${path}`,
    body === undefined ? {} : { body },
  );
  expect(answer.status).toBe(status);
  if (type !== undefined) expect(answer.headers['content-type']).toMatch(type);
  if (text !== undefined) expect(answer.body).toMatch(text);
});

afterAll(() => {
  process.stderr.write(`the surface has ${STATISTICS.length} rows of statistics and ${ENDPOINTS.length} of endpoints\n`);
});
