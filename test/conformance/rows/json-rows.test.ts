/** `/json` answers in the form of envoyproxy/ratelimit, with a configuration from `RUNTIME_*`. */

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { httpRequest } from '../../support/clients/http-client';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';

const FILES = {
  'a.yaml': `domain: d
descriptors:
  - { key: week, rate_limit: { unit: week, requests_per_unit: 2, name: weekly } }
  - { key: free, rate_limit: { unlimited: true } }
  - { key: shared, value: "a*", share_threshold: yes, rate_limit: { unit: YEAR, requests_per_unit: 2 } }
`,
  // Of the same domain; a folder below is read, too.
  'below/b.yml': 'domain: d\ndescriptors:\n  - { key: merged, rate_limit: { unit: year, requests_per_unit: 9 } }\n',
  'below/notes.txt': 'no: [yaml',
};

let redis: RedisServer;
let weir: WeirProcess;

beforeAll(async () => {
  const root = mkdtempSync(join(tmpdir(), 'weir-runtime-'));
  for (const [name, text] of Object.entries(FILES)) {
    const file = join(root, 'ratelimit', 'config', name);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text);
  }
  redis = await startRedis();
  const env = {
    RUNTIME_ROOT: root,
    RUNTIME_SUBDIRECTORY: 'ratelimit',
    MERGE_DOMAIN_CONFIG: 'true',
    REDIS_SOCKET_TYPE: 'tcp',
    REDIS_URL: `127.0.0.1:${redis.port}`,
    REDIS_OP_TIMEOUT: '1s',
  };
  weir = await startWeir({ env });
});

afterAll(async () => {
  await weir.stop();
  await redis.stop();
});

function ask(body: unknown): ReturnType<typeof httpRequest> {
  return httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, { body });
}

function descriptor(key: string, value: string, more: object = {}): object {
  return { entries: [{ key, value }], ...more };
}

const RESET = { durationUntilReset: expect.stringMatching(/^[1-9]\d*s$/) as string };
const WEEKLY = { requestsPerUnit: 2, unit: 'WEEK', name: 'weekly' };

test.each<{ shows: string; body: unknown; status: number; json: unknown }>([
  {
    shows: 'a limit that holds',
    body: { domain: 'd', descriptors: [descriptor('week', 'a')] },
    status: 200,
    json: { overallCode: 'OK', statuses: [{ code: 'OK', currentLimit: WEEKLY, limitRemaining: 1, ...RESET }] },
  },
  {
    shows: 'one that does not',
    body: { domain: 'd', descriptors: [descriptor('week', 'b')], hitsAddend: 3 },
    status: 429,
    json: { overallCode: 'OVER_LIMIT', statuses: [{ code: 'OVER_LIMIT', currentLimit: WEEKLY, ...RESET }] },
  },
  {
    shows: 'nothing left: no field',
    body: { domain: 'd', descriptors: [descriptor('week', 'c')], hits_addend: 2 },
    status: 200,
    json: { overallCode: 'OK', statuses: [{ code: 'OK', currentLimit: WEEKLY, ...RESET }] },
  },
  {
    shows: 'unlimited',
    body: { domain: 'd', descriptors: [descriptor('free', 'a')] },
    status: 200,
    json: { overallCode: 'OK', statuses: [{ code: 'OK', limitRemaining: 4_294_967_295 }] },
  },
  {
    shows: 'unmatched',
    body: { domain: 'd', descriptors: [descriptor('none', 'a')] },
    status: 200,
    json: { overallCode: 'OK', statuses: [{ code: 'OK' }] },
  },
  {
    shows: 'an override, its unit by name',
    body: { domain: 'd', descriptors: [descriptor('any', 'a', { limit: { requestsPerUnit: 7, unit: 'HOUR' } })] },
    status: 200,
    json: {
      overallCode: 'OK',
      statuses: [{ code: 'OK', currentLimit: { requestsPerUnit: 7, unit: 'HOUR' }, limitRemaining: 6, ...RESET }],
    },
  },
  {
    shows: 'hits of a descriptor as a text',
    body: { domain: 'd', descriptors: [descriptor('merged', 'a', { hitsAddend: '4' })] },
    status: 200,
    json: {
      overallCode: 'OK',
      statuses: [{ code: 'OK', currentLimit: { requestsPerUnit: 9, unit: 'YEAR' }, limitRemaining: 5, ...RESET }],
    },
  },
  {
    shows: 'a shared counter',
    body: { domain: 'd', descriptors: [descriptor('shared', 'ab'), descriptor('shared', 'ac')] },
    status: 200,
    json: { overallCode: 'OK', statuses: [1, 2].map(() => ({ code: 'OK', currentLimit: { requestsPerUnit: 2, unit: 'YEAR' }, ...RESET })) },
  },
])('$shows', async ({ body, status, json }) => {
  const response = await ask(body);
  expect([response.status, JSON.parse(response.body)]).toEqual([status, json]);
});

test.each<[string, unknown, string]>([
  ['no domain', { descriptors: [descriptor('k', 'v')] }, 'rate limit domain must not be empty\n'],
  ['no descriptors', { domain: 'd' }, 'rate limit descriptor list must not be empty; send at least one\n'],
])('/json answers 400 for %s', async (_shows, body, text) => {
  expect(await ask(body)).toMatchObject({ status: 400, body: text });
});
