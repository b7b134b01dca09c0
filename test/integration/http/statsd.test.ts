/** A statsd server gets the reference's names from all workers, and one that hangs delays nothing. */

import { Registry } from 'prom-client';
import { openStatsd, type OpenStatsdOptions } from '../../../src/program/app/telemetry/open-statsd';
import { RULE_METRICS } from '../../../src/server/observability/metrics/rule-metrics';
import type { MetricReading } from '../../../src/server/observability/metrics/metrics-snapshot';
import { STEP_TIMEOUT_MS } from '../../../src/server/observability/statsd/statsd-connection';
import { freePort } from '../../support/servers/ports';
import { httpRequest } from '../../support/clients/http-client';
import { startRedis } from '../../support/redis/redis-server';
import { OK, RlsClient } from '../../support/clients/rls-client';
import { startStatsdServer } from '../../support/servers/statsd-server';
import { writeConfig } from '../../support/config/temp-config';
import { until } from '../../support/clock/until';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { slowness } from '../../support/clock/slowness';

const CONFIG = writeConfig(
  'domain: d\ndescriptors: [{ key: k, descriptors: [{ key: sub, value: "10.1.2.3", rate_limit: { unit: year, requests_per_unit: 3 } }] }]\n',
);
const RULE = 'ratelimit.service.rate_limit.d.k.sub_10_1_2_3';
const FLUSHING = { BACKEND_TYPE: 'memory', STATS_FLUSH_INTERVAL: '200ms', STATSD_HOST: '127.0.0.1' };

async function ask(weir: WeirProcess, { times }: { readonly times: number }): Promise<number> {
  const client = new RlsClient(weir.grpcPort);
  const answers: number[] = [];
  for (let i = 0; i < times; i += 1) answers.push((await client.ask('d', [{ entries: { k: 'v', sub: '10.1.2.3' } }])).overall_code);
  client.close();
  return answers.filter((code) => code === OK).length;
}

test.each(['tcp', 'udp'] as const)("statsd over %s gets the reference's names, and the last values at the end", async (protocol) => {
  const server = await startStatsdServer({ protocol });
  const env = {
    ...FLUSHING,
    USE_STATSD: 'true',
    STATSD_PROTOCOL: protocol,
    STATSD_PORT: String(server.port),
    EXTRA_TAGS: 'region:eu.1,az:a',
  };
  const weir = await startWeir({ config: CONFIG, env });
  expect(await ask(weir, { times: 5 })).toBe(3);
  const ending = '.__az=a.__region=eu_1';
  const told = {
    [`ratelimit.service.config_load_success${ending}`]: 1,
    [`${RULE}.over_limit${ending}`]: 2,
    [`${RULE}.total_hits${ending}`]: 5,
    [`${RULE}.within_limit${ending}`]: 3,
    [`ratelimit_server.ShouldRateLimit.total_requests${ending}`]: 5,
  };
  const times = () => server.lines.filter((line) => /^ratelimit_server\.ShouldRateLimit\.response_time\S+:[\d.]+\|ms$/.test(line));
  // A flush is several datagrams, and one may fall between two calls.
  for (const [name, total] of Object.entries(told)) await server.untilTotal(name, total);
  await until(() => times().length >= 5);
  expect(Object.fromEntries(Object.keys(told).map((name) => [name, server.total(name)]))).toEqual(told);
  expect(times()).toHaveLength(5);
  expect(server.lines.filter((line) => !/^[!-9;-~]+:-?[\d.e-]+\|(?:c|g|ms)$/.test(line))).toEqual([]);
  await ask(weir, { times: 4 });
  expect(await weir.stop()).toBe(0);
  await server.untilTotal(`${RULE}.total_hits${ending}`, 9);
  // Told once each, also those that came again after they were looked at above.
  expect(server.total(`${RULE}.total_hits${ending}`)).toBe(9);
  expect(server.total(`ratelimit.service.config_load_success${ending}`)).toBe(1);
  await server.close();
});

test('dogstatsd gets tags, and names as the mogrifiers make them', async () => {
  const server = await startStatsdServer({ protocol: 'udp' });
  const env = {
    ...FLUSHING,
    USE_DOG_STATSD: 'true',
    STATSD_PORT: String(server.port),
    EXTRA_TAGS: 'region:eu',
    USE_DOG_STATSD_MOGRIFIERS: 'rules',
    DOG_STATSD_MOGRIFIER_RULES_PATTERN: String.raw`^ratelimit\.service\.rate_limit\.(?P<domain>[^.]+)\.(.*)\.([^.]+)$`,
    DOG_STATSD_MOGRIFIER_RULES_NAME: 'rl.$3',
    DOG_STATSD_MOGRIFIER_RULES_TAGS: 'domain:$1,descriptor:$2',
  };
  const weir = await startWeir({ config: CONFIG, env });
  await ask(weir, { times: 5 });
  await server.untilTotal('rl.total_hits', 5);
  await server.untilTotal('rl.over_limit', 2);
  const lineOf = (name: string) => server.lines.find((line) => line.startsWith(name));
  await until(() => lineOf('weir.build_info') !== undefined);
  expect(lineOf('rl.over_limit')).toMatch(/^rl\.over_limit:[12]\|c\|#region:eu,domain:d,descriptor:k\.sub_10_1_2_3$/);
  expect(lineOf('weir.build_info')).toMatch(/:1\|g\|#region:eu$/);
  expect(weir.output()).not.toContain('no effect');
  await weir.stop();
  await server.close();
});

test('an absent statsd is logged once, delays nothing, and gets metrics once it is there', async () => {
  const port = await freePort();
  const weir = await startWeir({ config: CONFIG, env: { ...FLUSHING, STATSD_PORT: String(port) } });
  expect(await ask(weir, { times: 2 })).toBe(2);
  const failed = async () =>
    Number(
      /^weir_statsd_flushes_total\{result="error"\} (\d+)$/m.exec(
        (await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`)).body,
      )?.[1] ?? 0,
    );
  const before = await failed();
  // One may have been under way when the last call was counted.
  await until(async () => (await failed()) >= before + 2);
  const server = await startStatsdServer({ protocol: 'tcp', port });
  await server.untilTotal('weir.statsd_flushes.success', 1);
  await ask(weir, { times: 3 });
  await server.untilTotal(`${RULE}.total_hits`, 3);
  // Counts from meanwhile are not sent later.
  expect(server.total(`${RULE}.total_hits`)).toBe(3);
  // Its end is noticed, and a new beginning too.
  await server.close();
  const again = await startStatsdServer({ protocol: 'tcp', port });
  await ask(weir, { times: 3 });
  await again.untilTotal('ratelimit_server.ShouldRateLimit.total_requests', 1);
  expect(weir.output().match(/cannot send metrics to statsd/g)).toHaveLength(1);
  expect(await weir.stop()).toBe(0);
  await again.close();
});

test('a statsd that does not read holds a bounded number of lines and no flush for long, and the next flush reconnects', async () => {
  const hanging = await startStatsdServer({ protocol: 'tcp', hangs: true });
  const results: string[] = [];
  let value = 0;
  // Some 20 MB: more than sockets take by themselves.
  const reading = (): MetricReading[] => {
    value += 1;
    const values = Array.from({ length: 80_000 }, (_, i) => ({ labels: { domain: `d${i}`, key1: 'k'.repeat(200) }, value }));
    return [{ name: RULE_METRICS.totalHits.name, help: '', type: 'counter', values }];
  };
  const registry = new Registry();
  const options: OpenStatsdOptions = {
    statsd: { protocol: 'tcp', host: '127.0.0.1', port: hanging.port, knowsTags: false, mogrifiers: [] },
    settings: { statsFlushIntervalMs: 1e9, extraTags: undefined },
    registry,
    read: () => Promise.resolve(reading()),
    log: {
      info: () => undefined,
      warn: (_fields: unknown, sentence: string) => results.push(sentence),
    } as unknown as OpenStatsdOptions['log'],
  };
  const reporter = openStatsd(options);
  const startedMs = performance.now();
  await reporter.flush();
  expect(performance.now() - startedMs).toBeLessThan(STEP_TIMEOUT_MS + 25_000 * slowness());
  expect(results).toEqual([
    `cannot send metrics to statsd at 127.0.0.1:${hanging.port} (tcp) (no answer within ${STEP_TIMEOUT_MS} ms): the counts of this interval are lost`,
  ]);
  await hanging.close();
  const server = await startStatsdServer({ protocol: 'tcp', port: hanging.port });
  await reporter.flush();
  await server.untilTotal(`ratelimit.service.rate_limit.d79999.${'k'.repeat(200)}.total_hits`, 1);
  expect(server.lines.filter((line) => line.includes('.total_hits:'))).toHaveLength(80_000);
  await reporter.stop();
  await server.close();
});

/** Two workers on one Redis, which report to statsd. */
async function startWorkers(flushInterval: string) {
  const redis = await startRedis();
  const server = await startStatsdServer({ protocol: 'udp' });
  const env = {
    STATS_FLUSH_INTERVAL: flushInterval,
    STATSD_PROTOCOL: 'udp',
    STATSD_PORT: String(server.port),
    REDIS_URL: `redis://127.0.0.1:${redis.port}`,
    REDIS_OP_TIMEOUT: '1s',
    WORKERS: '2',
  };
  const weir = await startWeir({ config: CONFIG, env });
  const close = async (): Promise<void> => {
    await server.close();
    await redis.stop();
  };
  return { server, weir, close };
}

test('WORKERS=2: statsd gets the sum of all workers', async () => {
  const { server, weir, close } = await startWorkers('200ms');
  const admitted = await Promise.all(Array.from({ length: 6 }, () => ask(weir, { times: 2 })));
  expect(admitted.reduce((sum, each) => sum + each)).toBe(3);
  await server.untilTotal(`${RULE}.total_hits`, 12);
  await server.untilTotal(`${RULE}.within_limit`, 3);
  await server.untilTotal('ratelimit.service.config_load_success', 1);
  await until(() => server.lines.includes('weir.workers:2|g'));
  expect(server.total('ratelimit.service.config_load_success')).toBe(1);
  await weir.stop();
  await close();
});

test('WORKERS=2: statsd gets the last counts of each worker at the end', async () => {
  const { server, weir, close } = await startWorkers('1h');
  await Promise.all(Array.from({ length: 6 }, () => ask(weir, { times: 2 })));
  expect(await weir.stop()).toBe(0);
  await server.untilTotal(`${RULE}.total_hits`, 12);
  await close();
});

test.each([
  [{}, undefined],
  [{ STATSD_PORT: '1' }, 'localhost:1 (tcp)'],
  [{ STATSD_PORT: '1', USE_STATSD: 'false' }, undefined],
  [{ STATSD_PORT: '1', DISABLE_STATS: 'true' }, undefined],
  [{ USE_DOG_STATSD: 'true' }, 'localhost:8125 (udp)'],
])('%j sends metrics to %s', async (env, where) => {
  const weir = await startWeir({ config: CONFIG, env: { BACKEND_TYPE: 'memory', ...env } });
  const [, told] = /reporting metrics to (?:dog)?statsd at (\S+ \S+) every/.exec(weir.output()) ?? [];
  await weir.stop();
  expect(told).toBe(where);
});

test('a pattern that Go rejects stops the start', async () => {
  const env = {
    BACKEND_TYPE: 'memory',
    USE_DOG_STATSD: 'true',
    USE_DOG_STATSD_MOGRIFIERS: 'A',
    DOG_STATSD_MOGRIFIER_A_PATTERN: '(?=x)',
    DOG_STATSD_MOGRIFIER_A_NAME: 'n',
  };
  await expect(startWeir({ config: CONFIG, env })).rejects.toThrow(
    'DOG_STATSD_MOGRIFIER_A_PATTERN: invalid regular expression in Go syntax',
  );
});
