/** The status of a rollout has the hits of both parts, the interval of their denied share, and where its values come from. */

import { wilson } from '../../../src/administration/admin/rollouts/wilson';
import { MemoryRolloutCounter } from '../../../src/state/rollout/memory-rollout-counter';
import { callAdmin, type AdminRequest } from '../../support/admin/admin-client';
import { startAdminServer, TOKENS, type AdminHarness } from '../../support/admin/admin-server';

const CONFIG = `domain: payments
plans:
  free: { rate_limit: { unit: minute, requests_per_unit: 9, candidate: { requests_per_unit: 5 } } }
descriptors:
  - key: merchant
    rate_limit:
      unit: minute
      requests_per_unit: 100
      candidate: { requests_per_unit: 60, rollout: { by: merchant, percent: 10, stop_if: { denied_above: 2%, for: 5m } } }
  - { key: tenant, tenant: true, default_plan: free }
`;

const counter = new MemoryRolloutCounter(() => 1_800_000_000_000_000);
let server: AdminHarness;

beforeAll(async () => {
  server = await startAdminServer({ yaml: CONFIG, change: (backend) => ({ ...backend, rollouts: counter }) });
});

afterAll(async () => {
  expect(server.errors).toEqual([]);
  await server.close();
});

const call = (request: Omit<AdminRequest, 'token'>) => callAdmin(server.url, { ...request, token: TOKENS.admin });

async function statusOf(rule?: string) {
  const query = rule === undefined ? {} : { query: `rule=${encodeURIComponent(rule)}` };
  const { json } = await call({ method: 'GET', path: '/v1/rollout-status', ...query });
  return (json as { readonly items: readonly Readonly<Record<string, unknown>>[] }).items;
}

test.each([
  [0, 0, 0, 1],
  [0, 100, 0, 0.037],
  [2, 100, 0.0055, 0.07],
  [50, 100, 0.4038, 0.5962],
])('of %d denied hits of %d the share is between %d and %d', (over, hits, low, high) => {
  const interval = wilson(over, hits);
  expect(interval.low).toBeCloseTo(low, 3);
  expect(interval.high).toBeCloseTo(high, 3);
});

test('a rollout of the configuration is listed with its hits; a plain candidate is not, until a record names its key', async () => {
  await counter.add({
    domain: 'payments',
    rule: 'merchant',
    version: 0,
    widthS: 10,
    counts: { candidate: { hits: 100, over: 2 }, current: { hits: 900, over: 0 } },
  });
  expect(await statusOf()).toEqual([
    expect.objectContaining({
      domain: 'payments',
      rule: 'merchant',
      by: 'merchant',
      percent: 10,
      stop_if: { denied_above: '2%', for: '5m' },
      stopped: false,
      source: 'configuration',
      version: 0,
      candidate: expect.objectContaining({ hits: 100, over_limit: 2, share: 0.02 }) as unknown,
      current: expect.objectContaining({ hits: 900, over_limit: 0, share: 0 }) as unknown,
      limits: [
        {
          current: expect.objectContaining({ requests_per_unit: 100 }) as unknown,
          candidate: expect.objectContaining({ requests_per_unit: 60 }) as unknown,
        },
      ],
    }),
  ]);
  const put = { method: 'PUT', path: '/v1/rollouts/payments/plan%2Ffree' } as const;
  const without = await call({ ...put, query: 'dry_run=true', body: { percent: 5 } });
  expect(without.json).toMatchObject({ warnings: [{ code: 'no_key' }] });
  await call({ ...put, body: { percent: 5, by: 'tenant', reason: 'trial' } });
  expect(await statusOf('plan/free')).toMatchObject([{ source: 'rollout', percent: 5, by: 'tenant', reason: 'trial', author: 'admin-1' }]);
});

test('after a step the hits of the stage before are not shown, and a rule without a candidate is a warning', async () => {
  const path = '/v1/rollouts/payments/merchant';
  expect((await call({ method: 'PUT', path, body: { percent: 25 } })).status).toBe(200);
  expect(await statusOf('merchant')).toMatchObject([
    { percent: 25, by: 'merchant', source: 'rollout', stop_if: { denied_above: '2%', for: '5m' }, candidate: { hits: 0, low: 0, high: 1 } },
  ]);
  const unknown = await call({ method: 'PUT', path: '/v1/rollouts/payments/other', query: 'dry_run=true', body: { percent: 25 } });
  expect(unknown.json).toMatchObject({ warnings: [{ code: 'no_candidate' }] });
  const exceptions = await call({ method: 'GET', path: '/v1/exceptions', query: 'kind=rollout' });
  expect(exceptions.json).toMatchObject({
    items: expect.arrayContaining([expect.objectContaining({ name: 'merchant', percent: 25, effect: 'in_force' })]) as unknown,
  });
});

test('the rollout of an override is listed, and its promotion puts it in force for all', async () => {
  const path = '/v1/overrides/payments/trial';
  const body = {
    entries: [{ key: 'merchant', value: 'm1' }],
    limit: { requests_per_unit: 30, unit: 'minute' },
    candidate: true,
    rollout: { by: 'merchant', percent: 50 },
  };
  await call({ method: 'PUT', path, body });
  expect(await statusOf('override/trial')).toMatchObject([
    { source: 'override', percent: 50, limits: [{ candidate: { requests_per_unit: 30 } }] },
  ]);
  await call({ method: 'POST', path: `${path}/promote`, body: {} });
  const { json } = await call({ method: 'GET', path });
  expect(json).not.toHaveProperty('candidate');
  expect(json).not.toHaveProperty('rollout');
  expect(await statusOf('override/trial')).toEqual([]);
});
