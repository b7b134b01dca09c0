/** The admin API simulates a rate under the limits in force, with control data and calendar windows, and charges nothing. */

import { callAdmin } from '../../support/admin/admin-client';
import { startAdminServer, TOKENS, type AdminHarness } from '../../support/admin/admin-server';

const SHOP = `domain: shop
descriptors:
  - key: merchant
    rate_limit: { unit: minute, requests_per_unit: 60, algorithm: token_bucket }
  - key: fixed
    rate_limit: { unit: minute, requests_per_unit: 10, algorithm: fixed_window }
  - key: day
    rate_limit: { unit: day, requests_per_unit: 5, calendar: true, algorithm: fixed_window }
  - key: shadow
    shadow_mode: true
    rate_limit: { unit: minute, requests_per_unit: 1 }
`;

let server: AdminHarness;

beforeAll(async () => {
  server = await startAdminServer({ yaml: SHOP });
});

afterAll(async () => {
  expect(server.errors).toEqual([]);
  await server.close();
});

interface Simulated {
  readonly requests: number;
  readonly admitted: number;
  readonly denied: number;
  readonly capacity?: number;
  readonly columns: readonly { readonly admitted: number; readonly denied: number; readonly left?: number }[];
}

async function simulate(key: string, arrivals: object) {
  const body = { domain: 'shop', descriptors: [{ entries: [{ key, value: 'one' }] }], ...arrivals };
  const { status, json } = await callAdmin(server.url, { method: 'POST', path: '/v1/simulate', token: TOKENS.viewer, body });
  return { status, simulated: json as Simulated };
}

test('a token bucket admits its burst and then its rate, and its columns add up', async () => {
  // 60 at once, and one a second: the two a second that come find half of their hits.
  const { simulated } = await simulate('merchant', { per_second: 2, for_seconds: 120, burst: 60 });
  const { requests, admitted, denied, capacity, columns } = simulated;
  expect({ requests, admitted, denied, capacity }).toEqual({ requests: 300, admitted: 179, denied: 121, capacity: 60 });
  expect(columns).toHaveLength(60);
  expect(columns.reduce((sum, column) => sum + column.admitted, 0)).toBe(179);
  expect(columns[0]).toMatchObject({ admitted: 61, left: 1 });
});

test('nothing is charged: two simulations and an explanation see full buckets', async () => {
  const arrivals = { per_second: 0.5, for_seconds: 60, burst: 10 };
  const [first, second] = [await simulate('fixed', arrivals), await simulate('fixed', arrivals)];
  expect(first.simulated.admitted).toBe(second.simulated.admitted);
  const body = { domain: 'shop', descriptors: [{ entries: [{ key: 'fixed', value: 'one' }] }] };
  const { json } = await callAdmin(server.url, { method: 'POST', path: '/v1/explain', token: TOKENS.viewer, body });
  expect(json).toMatchObject({ over_limit: false, buckets: [{ remaining: 10 }] });
});

test('an override, a block and calendar windows decide as they would', async () => {
  const put = async (path: string, put: object) => {
    expect(await callAdmin(server.url, { method: 'PUT', path, token: TOKENS.admin, body: put })).toMatchObject({ status: 200 });
  };
  // Two days have an edge between them, and perhaps two.
  const days = (await simulate('day', { per_second: 0.01, for_seconds: 86_400 })).simulated;
  expect([10, 864]).toEqual([days.admitted, days.requests]);
  await put('/v1/overrides/shop/more', { entries: [{ key: 'fixed' }], limit: { requests_per_unit: 30, unit: 'hour' } });
  expect((await simulate('fixed', { per_second: 0, for_seconds: 60, burst: 40 })).simulated).toMatchObject({ admitted: 30, capacity: 30 });
  await put('/v1/blocks/shop/none', { entries: [{ key: 'merchant' }] });
  expect((await simulate('merchant', { per_second: 1, for_seconds: 10 })).simulated).toMatchObject({ admitted: 0, denied: 10 });
});

test('what is not limited, or only counted, is admitted', async () => {
  const unknown = (await simulate('unknown', { per_second: 3, for_seconds: 10 })).simulated;
  expect(unknown).toMatchObject({ requests: 30, admitted: 30 });
  expect(unknown.capacity).toBeUndefined();
  expect((await simulate('shadow', { per_second: 3, for_seconds: 10 })).simulated).toMatchObject({ admitted: 30, denied: 0 });
});

test('more requests than a simulation has are refused, and so are invalid rates', async () => {
  expect(await simulate('fixed', { per_second: 1_000, for_seconds: 60 })).toMatchObject({
    status: 400,
    simulated: { detail: '60000 requests are over 20000, the most of a simulation; give a lower rate or a shorter time' },
  });
  for (const arrivals of [
    { per_second: -1, for_seconds: 60 },
    { per_second: 1, for_seconds: 0 },
    { per_second: 'many', for_seconds: 1 },
  ])
    expect((await simulate('fixed', arrivals)).status).toBe(400);
});
