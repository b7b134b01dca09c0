/** The metrics have Prometheus's format exactly, with EXTRA_TAGS and at PROMETHEUS_ADDR. */

import { httpRequest } from '../../support/clients/http-client';
import { freePort } from '../../support/servers/ports';
import { RlsClient } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';

const CONFIG = writeConfig(
  'domain: d\ndescriptors: [{ key: k, detailed_metric: true, rate_limit: { unit: year, requests_per_unit: 3 } }]\n',
);

const SAMPLE =
  /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (NaN|[+-]Inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/;

let weir: WeirProcess;
let text: string;

beforeAll(async () => {
  const port = await freePort();
  const env = {
    BACKEND_TYPE: 'memory',
    USE_PROMETHEUS: 'true',
    PROMETHEUS_ADDR: `127.0.0.1:${port}`,
    PROMETHEUS_PATH: '/prom',
    EXTRA_TAGS: 'region:eu,my-az:a',
  };
  weir = await startWeir({ config: CONFIG, env });
  const client = new RlsClient(weir.grpcPort);
  for (const value of ['"quoted"', 'back\\slash', 'line\nend', 'größe', 'x', 'x']) await client.ask('d', [{ entries: { k: value } }]);
  await client.ask('unknown', [{ entries: { k: 'v' } }]);
  client.close();
  text = (await httpRequest(`http://127.0.0.1:${port}/prom`)).body;
  expect((await httpRequest(`http://127.0.0.1:${port}/metrics`)).status).toBe(404);
});

afterAll(async () => {
  await weir.stop();
});

test('PROMETHEUS_ADDR serves the metrics of the debug port', async () => {
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
  const own = (all: string) => all.split('\n').filter((line) => line.startsWith('ratelimit_'));
  expect(own(body)).toEqual(own(text));
  expect(own(text)).toContain('ratelimit_service_rate_limit_total_hits{domain="d",key1="k_x",region="eu",my_az="a"} 2');
});

test('every line is a comment or a sample, metrics stay together, and no series repeats', () => {
  const lines = text.split('\n').filter((line) => line !== '');
  const seen = new Set<string>();
  let [metric, type] = ['', ''];
  const metrics = new Set<string>();
  for (const line of lines) {
    const [, name, kind] = /^# TYPE (\S+) (counter|gauge|histogram|summary)$/.exec(line) ?? [];
    if (name !== undefined) {
      [metric, type] = [name, kind!];
      expect(metrics).not.toContain(metric);
      metrics.add(metric);
    }
    if (line.startsWith('#')) {
      expect(line).toMatch(/^# (?:HELP \S+ \S.*|TYPE \S+ \S+)$/);
      continue;
    }
    const [, sample, labels = ''] = SAMPLE.exec(line) ?? [];
    if (sample === undefined) throw new Error(`no sample: ${line}`);
    expect(type === 'histogram' || type === 'summary' ? sample.replace(/_(?:bucket|sum|count)$/, '') : sample).toBe(metric);
    expect(labels).toContain('region="eu"');
    const series = `${sample}{${labels}}`;
    expect(seen).not.toContain(series);
    seen.add(series);
  }
  expect(metrics.size).toBeGreaterThan(30);
});
