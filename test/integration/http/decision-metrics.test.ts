/** Decisions over gRPC, HTTP and of reservations count in one place, under the names of envoyproxy/ratelimit. */

import { httpRequest } from '../../support/clients/http-client';
import { RlsClient } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';

const CONFIG = writeConfig('domain: d\ndescriptors: [{ key: k, rate_limit: { unit: year, requests_per_unit: 3 } }]\n');

let weir: WeirProcess;

beforeAll(async () => {
  weir = await startWeir({
    config: CONFIG,
    env: { BACKEND_TYPE: 'memory', CHECK_DOMAIN: 'd', CHECK_DESCRIPTORS: 'k=path', FAILURE_MODE: 'unavailable' },
  });
});

afterAll(async () => {
  await weir.stop();
});

async function metrics(): Promise<(name: string) => number> {
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
  const values = new Map(body.split('\n').map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]));
  return (name) => values.get(name) ?? NaN;
}

test('decisions over gRPC, /json, /check and of reservations are counted and timed, from the first one on', async () => {
  const before = await metrics();
  const ways = ['grpc', 'json', 'check', 'reservation'];
  expect(ways.map((via) => before(`weir_decision_seconds_count{via="${via}"}`))).toEqual([0, 0, 0, 0]);

  const http = `http://127.0.0.1:${weir.httpPort}`;
  const entries = [{ key: 'k', value: 'v' }];
  const body = { domain: 'd', descriptors: [{ entries }] };
  const client = new RlsClient(weir.grpcPort);
  await client.ask('d', [{ entries: { k: 'v' } }]);
  client.close();
  for (let i = 0; i < 2; i += 1) await httpRequest(`${http}/json`, { body });
  // Not a request, and so an error without a decision.
  expect((await httpRequest(`${http}/json`, { body: { unknown: 1 } })).status).toBe(400);
  for (let i = 0; i < 4; i += 1) await httpRequest(`${http}/check`, { headers: { 'x-forwarded-uri': '/p' } });
  const reserved = await httpRequest(`${http}/v1/reservations`, { body: { ...body, hits: '1' } });
  expect([200, 429]).toContain(reserved.status);
  expect((await httpRequest(`${http}/v1/reservations`, { body: { ...body, hits: '-1' } })).status).toBe(400);

  const after = await metrics();
  expect(ways.map((via) => after(`weir_decision_seconds_count{via="${via}"}`))).toEqual([1, 3, 4, 2]);
  for (const via of ways) expect(after(`weir_decision_seconds_sum{via="${via}"}`)).toBeGreaterThan(0);
  // As in the reference, whose interceptor sees gRPC alone, and whose service counts the errors of all.
  expect(after('ratelimit_service_total_requests{grpc_method="ShouldRateLimit"}')).toBe(1);
  expect(after('ratelimit_service_response_time_seconds_count{grpc_method="ShouldRateLimit"}')).toBe(1);
  expect(after('ratelimit_service_should_rate_limit_error{err_type="service_error"}')).toBe(2);
});
