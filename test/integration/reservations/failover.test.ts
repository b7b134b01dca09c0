/** Steps of reservations and slots that are repeated over a failover have their effect once. */

import { setTimeout as pause } from 'node:timers/promises';
import { httpRequest, type HttpResponse } from '../../support/clients/http-client';
import { writeConfig } from '../../support/config/temp-config';
import { figure } from '../../support/docs/figure';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { makeTestClient } from '../../support/redis/redis-store';
import { startSentinelGroup } from '../../support/redis/redis-sentinel';

const LIMIT = 1_000;
const SLOTS = 10;
const TRIES_MAX = 3_000;
const RETRY_MS = 10;

const CONFIG = writeConfig(`
domain: f
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: ${LIMIT}, algorithm: fixed_window }
  - key: lane
    descriptors:
      - key: request_id
        in_flight: { max: ${SLOTS}, hold: 3600s, id: request_id }
`);

const USER = { entries: [{ key: 'user', value: 'a' }] };

function slot(id: string): object {
  const entries = [
    { key: 'lane', value: 'a' },
    { key: 'request_id', value: id },
  ];
  return { entries };
}

/** Sends until there is a decision, to one Weir after the other. */
async function send(weirs: readonly WeirProcess[], path: string, fields: object): Promise<HttpResponse> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const url = `http://127.0.0.1:${weirs[tries % weirs.length]!.httpPort}${path}`;
    const answer = await httpRequest(url, { body: { domain: 'f', ...fields } });
    if (answer.status < 500) return answer;
    await pause(RETRY_MS);
  }
  throw new Error(`no decision on ${path} in ${TRIES_MAX} tries`);
}

test('steps that are repeated until a failover is over have their effect once', async () => {
  const group = await startSentinelGroup();
  const env = {
    REDIS_TYPE: 'sentinel',
    REDIS_URL: group.url,
    REDIS_OP_TIMEOUT: '1s',
    FAILURE_MODE: 'unavailable',
    REDIS_BREAKER_OPEN: '50ms',
  };
  const weirs = await Promise.all([startWeir({ config: CONFIG, env }), startWeir({ config: CONFIG, env })]);
  const step = (path: string, fields: object = {}) => send(weirs, `/v1/reservations${path}`, { descriptors: [USER], ...fields });
  for (const id of ['committed', 'released', 'held']) expect((await step('', { id, hits: 100, ttl: '3600s' })).status).toBe(200);
  for (const id of ['one', 'two']) expect((await send(weirs, '/json', { descriptors: [slot(id)] })).status).toBe(200);
  const primary = group.servers[0]!;
  const client = await makeTestClient(primary.port).connect();
  // Everything acknowledged is replicated: what is not is lost with the primary.
  expect(Number(await client.sendCommand(['WAIT', '2', '60000']))).toBe(2);
  client.destroy();
  primary.kill('SIGKILL');
  const killedMs = performance.now();
  const answers = await Promise.all([step('/committed:commit', { hits: 30 }), step('/released:release')]);
  const answeredMs = performance.now() - killedMs;
  expect(answers.map(({ body }) => JSON.parse(body) as object)).toMatchObject([
    { state: 'COMMITTED', committedHits: '30' },
    { state: 'RELEASED' },
  ]);
  await send(weirs, '/json', { descriptors: [{ ...slot('one'), hitsAddend: '1', isNegativeHits: true }] });
  expect(JSON.parse((await step('/committed:commit', { hits: 30 })).body)).toMatchObject({ repeatedCall: true });
  const left = await send(weirs, '/json', {
    descriptors: [
      { ...USER, hitsAddend: '0' },
      { ...slot(''), hitsAddend: '0' },
    ],
  });
  const { statuses } = JSON.parse(left.body) as { readonly statuses: readonly { readonly limitRemaining: number }[] };
  expect(statuses.map(({ limitRemaining }) => limitRemaining)).toEqual([LIMIT - 130, SLOTS - 1]);
  figure(`answered ${answeredMs.toFixed(0)} ms after the kill`);
  await Promise.all(weirs.map((weir) => weir.stop()));
  await group.stop();
}, 300_000);
