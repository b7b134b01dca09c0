/** The list of events shows each state, and says when events are off. */

import { MemoryOutbox } from '../../../src/state/events/memory-outbox';
import { callAdmin } from '../../support/admin/admin-client';
import { startAdminServer, TOKENS, type AdminHarness } from '../../support/admin/admin-server';

const START_MS = 1_800_000_000_000;
const CONFIG = 'domain: d\ndescriptors:\n  - { key: k, rate_limit: { unit: day, requests_per_unit: 5, events: { at: [80%] } } }\n';
const textOf = (subject: string) =>
  JSON.stringify({ type: 'weir.limit.threshold', subject, time: new Date(START_MS).toISOString(), data: { at_percent: 80 } });

let nowMs = START_MS;
const outbox = new MemoryOutbox({ nowMs: () => nowMs });
let server: AdminHarness;

beforeAll(async () => {
  server = await startAdminServer({ yaml: CONFIG, change: (backend) => ({ ...backend, events: outbox }) });
});

afterAll(async () => {
  expect(server.errors).toEqual([]);
  await server.close();
});

test('each state has its events', async () => {
  await outbox.add(['a', 'b', 'c'].map((key) => ({ key, id: key, text: textOf(key) })));
  await outbox.add([{ key: 'x', id: 'x', text: 'damaged' }]);
  const { claimed } = await outbox.claim({ max: 2, leaseMs: 60_000 });
  nowMs += 1_000;
  const [a, b] = claimed.map(({ number }) => number);
  await outbox.settle([
    { number: a!, ending: 'delivered', waitMs: 0 },
    { number: b!, ending: 'undelivered', waitMs: 0 },
  ]);
  const { status, json } = await callAdmin(server.url, { path: '/v1/events', token: TOKENS.support });
  const shared = { type: 'weir.limit.threshold', time: '2027-01-15T08:00:00.000Z', data: { at_percent: 80 } };
  expect([status, json]).toEqual([
    200,
    {
      enabled: true,
      waiting: 2,
      oldest_at: '2027-01-15T08:00:00.000Z',
      delivered: 1,
      undelivered: 1,
      items: [
        { ...shared, id: 'b', subject: 'b', state: 'undelivered', at: '2027-01-15T08:00:01.000Z', tries: 1 },
        { ...shared, id: 'c', subject: 'c', state: 'waiting', at: '2027-01-15T08:00:00.000Z', tries: 0 },
        { ...shared, id: 'a', subject: 'a', state: 'delivered', at: '2027-01-15T08:00:01.000Z', tries: 1 },
      ],
    },
  ]);
  expect((await callAdmin(server.url, { path: '/v1/events', token: TOKENS.viewer })).status).toBe(403);
});

test('without EVENTS_URL there are none', async () => {
  const other = await startAdminServer({ yaml: CONFIG });
  const { json } = await callAdmin(other.url, { path: '/v1/events', token: TOKENS.support });
  expect(json).toEqual({ enabled: false, waiting: 0, delivered: 0, undelivered: 0, items: [] });
  await other.close();
});
