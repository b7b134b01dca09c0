/** The usage of a key over a day is read from a real Prometheus that scrapes a real Weir. */

import { PrometheusUsage } from '../../src/administration/admin/usage/prometheus-usage';
import { httpRequest } from '../support/clients/http-client';
import { until } from '../support/clock/until';
import { writeConfig } from '../support/config/temp-config';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { startPrometheus, type Prometheus } from '../support/servers/prometheus';

const STARTED_WITHIN_MS = 90_000;

/** A question is asked at a full minute: this one is yet to come. */
const MINUTE_MS = 60_000;

const DOMAIN = 'usage';

/** A value with characters that PromQL and the texts of top keys escape. */
const VALUE = 'a"b\\c,d=é';

let weir: WeirProcess;
let prometheus: Prometheus;

beforeAll(async () => {
  weir = await startWeir({
    config: writeConfig(`domain: ${DOMAIN}\ndescriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 10 } }]\n`),
    env: { BACKEND_TYPE: 'memory', METRIC_TOP_KEYS: '10' },
  });
  prometheus = await startPrometheus({ jobs: { weir: [weir.debugPort] }, rules: '' });
}, STARTED_WITHIN_MS);

afterAll(async () => {
  await prometheus.stop();
  await weir.stop();
});

async function ask(hits: number): Promise<void> {
  const body = { domain: DOMAIN, hitsAddend: hits, descriptors: [{ entries: [{ key: 'user', value: VALUE }] }] };
  await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, { body });
}

test('hits asked and denied of a key with special characters', async () => {
  await ask(7);
  await ask(5);
  const key = 'user=a"b\\\\c\\,d\\=é';
  const usage = () => new PrometheusUsage({ url: prometheus.url, nowMs: () => Date.now() + MINUTE_MS });
  await until(async () => {
    const points = await usage().day({ domain: DOMAIN, entries: key });
    return points.at(-1)?.asked === 12 && points.at(-1)?.denied === 5;
  });
  expect(await usage().day({ domain: DOMAIN, entries: 'user=another' })).toEqual([]);
});
