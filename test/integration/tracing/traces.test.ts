/** A sampled call has spans of its decision and commands below the caller's span, without values of callers. */

import { httpRequest } from '../../support/clients/http-client';
import { RlsClient } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { startOtlpReceiver, untilSpans, type OtlpReceiver, type ReceivedSpan } from '../../support/servers/otlp-receiver';
import { until } from '../../support/clock/until';

const CALL = 'envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';
const INTERNAL = 1;
const SERVER = 2;
const CLIENT = 3;
const UNAVAILABLE = 14;

const CONFIG = `
domain: shop
descriptors:
  - { key: user, rate_limit: { unit: year, requests_per_unit: 1 } }
  - { key: plan, value: free, descriptors: [{ key: user, rate_limit: { unit: year, requests_per_unit: 5 } }] }
`;

const PARENT_ID = '00f067aa0ba902b7';

let redis: RedisServer;
let receiver: OtlpReceiver;
let traces = 0;

beforeAll(async () => {
  [redis, receiver] = await Promise.all([startRedis(), startOtlpReceiver()]);
});

afterAll(async () => {
  await Promise.all([redis.stop(), receiver.close()]);
});

/** One for each question, by which its spans are found. */
function newTraceId(): string {
  traces += 1;
  return `4bf92f3577b34da6a3ce92${traces.toString(16).padStart(10, '0')}`;
}

function traceparent(traceId: string, flags = '01'): Record<string, string> {
  return { traceparent: `00-${traceId}-${PARENT_ID}-${flags}` };
}

interface StartedWeir {
  readonly weir: WeirProcess;
  readonly client: RlsClient;
  stop(): Promise<void>;
}

async function start(env: Readonly<Record<string, string>> = {}): Promise<StartedWeir> {
  const weir = await startWeir({
    config: writeConfig(CONFIG),
    env: {
      TRACING_ENABLED: 'true',
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${receiver.httpPort}`,
      OTEL_BSP_SCHEDULE_DELAY: '20',
      REDIS_SOCKET_TYPE: 'tcp',
      REDIS_URL: `127.0.0.1:${redis.port}`,
      REDIS_OP_TIMEOUT: '1s',
      ...env,
    },
  });
  const client = new RlsClient(weir.grpcPort);
  return {
    weir,
    client,
    stop: async () => {
      client.close();
      await weir.stop();
    },
  };
}

/** The spans of the trace: the call, then its decision, then the commands. */
async function spansOf(traceId: string, count: number): Promise<readonly ReceivedSpan[]> {
  const spans = await untilSpans(receiver, count, (span) => span.traceId === traceId);
  return [...spans].sort((a, b) => (a.startNs < b.startNs ? -1 : 1));
}

async function metric(weir: WeirProcess, result: string): Promise<number> {
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
  return Number(new RegExp(`^weir_trace_spans_total\\{result="${result}"\\} (\\d+)$`, 'm').exec(body)?.[1] ?? 0);
}

test.each(['lean', 'grpc-js'])(
  'a call over %s is a span under the span of the caller, with its decision and command below it',
  async (transport) => {
    const env = {
      TRANSPORT: transport,
      TRACING_SERVICE_NAME: 'limits',
      TRACING_SERVICE_NAMESPACE: 'edge',
      TRACING_SERVICE_INSTANCE_ID: 'one',
    };
    const started = await start({
      ...env,
      OTEL_RESOURCE_ATTRIBUTES: 'team=a%20b,service.name=other',
      CACHE_KEY_PREFIX: transport,
    });
    const { client } = started;
    const traceId = newTraceId();
    const sentMs = Date.now();
    const descriptors = [
      { entries: { user: 'ann@example.com' } },
      { entries: { plan: 'free', user: 'ann@example.com' } },
      { entries: { no: 'rule' } },
    ];
    await client.ask('shop', descriptors, { headers: { ...traceparent(traceId), tracestate: 'vendor=x' } });
    const [call, decision, command, ...others] = await spansOf(traceId, 3);
    expect(others).toEqual([]);
    expect(call).toMatchObject({ name: CALL, kind: SERVER, parentSpanId: PARENT_ID, traceState: 'vendor=x', isError: false });
    expect(call!.attributes).toEqual({
      'rpc.system.name': 'grpc',
      'rpc.method': 'envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
      'rpc.response.status_code': 'OK',
    });
    expect(call!.resource).toMatchObject({
      'service.name': 'limits',
      'service.namespace': 'edge',
      'service.instance.id': 'one',
      team: 'a b',
    });
    expect(decision).toMatchObject({ name: 'decide', kind: INTERNAL, parentSpanId: call!.spanId, isError: false });
    expect(decision!.attributes).toEqual({
      'weir.domain': 'shop',
      'weir.domain_found': true,
      'weir.hits': [1, 1, 1],
      'weir.verdict': 'OK',
      'weir.fallback': false,
      'weir.cached': false,
      'weir.rules': ['user', 'plan_free.user', ''],
      'weir.verdicts': ['OK', 'OK', 'OK'],
      'weir.denied_by': [],
    });
    expect(command).toMatchObject({ name: 'redis EVALSHA', kind: CLIENT, parentSpanId: decision!.spanId, isError: false });
    expect(command!.attributes).toMatchObject({
      'db.system.name': 'redis',
      'db.operation.name': 'EVALSHA',
      'weir.command.requests': 1,
      'server.address': '127.0.0.1',
      'server.port': redis.port,
    });
    expect(call!.schemaUrl).toBe('https://opentelemetry.io/schemas/1.45.0');
    // Each lies within the one above, and the times are those of the system clock.
    expect([call!.startNs <= decision!.startNs, decision!.startNs <= command!.startNs]).toEqual([true, true]);
    expect([command!.endNs <= decision!.endNs, decision!.endNs <= call!.endNs]).toEqual([true, true]);
    expect(Math.abs(Number(call!.startNs / 1_000_000n) - sentMs)).toBeLessThan(20_000);

    const deniedId = newTraceId();
    await client.ask('shop', descriptors, { headers: traceparent(deniedId) });
    const [, denied] = await spansOf(deniedId, 3);
    expect(denied!.attributes).toMatchObject({ 'weir.verdict': 'OVER_LIMIT', 'weir.denied_by': ['user'] });
    expect(JSON.stringify(receiver.spans, (_, value: unknown) => (typeof value === 'bigint' ? '' : value))).not.toContain('ann@');
    await started.stop();
  },
);

describe('sampling', () => {
  let started: StartedWeir;

  beforeAll(async () => {
    const check = { CHECK_DOMAIN: 'shop', CHECK_DESCRIPTORS: 'user=header:x-user' };
    started = await start({ TRACING_SAMPLING_RATE: '0', CACHE_KEY_PREFIX: 'sampling', ...check });
  });

  afterAll(() => started.stop());

  const b3 = (traceId: string, sampled: string): Record<string, string> => ({ b3: `${traceId}-${PARENT_ID}${sampled}` });
  const WAYS: Readonly<Record<string, (traceId: string, isSampled: boolean) => Record<string, string>>> = {
    traceparent: (traceId, isSampled) => traceparent(traceId, isSampled ? '01' : '00'),
    b3: (traceId, isSampled) => b3(traceId, isSampled ? '-1' : '-0'),
    'x-b3-*': (traceId, isSampled) => ({ 'x-b3-traceid': traceId, 'x-b3-spanid': PARENT_ID, 'x-b3-sampled': isSampled ? '1' : '0' }),
  };

  test.each(Object.entries(WAYS))('the caller decides by %s, whatever the rate', async (_, headers) => {
    const [no, yes] = [newTraceId(), newTraceId()];
    const descriptors = [{ entries: { user: 'bob' } }];
    await started.client.ask('shop', descriptors, { headers: headers(no, false) });
    await started.client.ask('shop', descriptors);
    await started.client.ask('shop', descriptors, { headers: headers(yes, true) });
    const [call] = await spansOf(yes, 2);
    expect(call!.parentSpanId).toBe(PARENT_ID);
    // It was sent last, so spans of the others would have been there before.
    expect(receiver.spans.filter(({ traceId }) => traceId === no)).toEqual([]);
  });

  test('calls that arrive together share a command, and only the sampled one is traced', async () => {
    const traceId = newTraceId();
    const asked = Array.from({ length: 20 }, (_, i) =>
      started.client.ask('shop', [{ entries: { user: `together-${i}` } }], { headers: i === 7 ? traceparent(traceId) : {} }),
    );
    await Promise.all(asked);
    const [, decision, command] = await spansOf(traceId, 3);
    expect(decision!.attributes).toMatchObject({ 'weir.verdict': 'OK', 'weir.rules': ['user'] });
    expect(Number(command!.attributes['weir.command.requests'])).toBeGreaterThanOrEqual(1);
    expect(receiver.spans.filter((span) => span.traceId === traceId)).toHaveLength(3);
  });

  test.each([
    ['POST', '/json', { body: { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'json' }] }] } }],
    ['GET', '/check', {}],
  ])('%s %s has the context of its headers too', async (method, route, request) => {
    const traceId = newTraceId();
    const url = `http://127.0.0.1:${started.weir.httpPort}${route}`;
    const { status } = await httpRequest(url, { ...request, headers: { 'x-user': 'check', ...traceparent(traceId) } });
    expect(status).toBe(200);
    const [call, decision, command] = await spansOf(traceId, 3);
    expect(call).toMatchObject({ name: `${method} ${route}`, kind: SERVER, parentSpanId: PARENT_ID });
    expect(call!.attributes).toEqual({ 'http.request.method': method, 'http.route': route, 'http.response.status_code': 200 });
    expect([decision!.parentSpanId, command!.parentSpanId]).toEqual([call!.spanId, decision!.spanId]);
  });
});

test('OTLP over gRPC, several workers, and values if a setting asks for them', async () => {
  const env = {
    TRACING_EXPORTER_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${receiver.grpcPort}`,
    TRACING_VALUES: 'true',
    WORKERS: '2',
    CACHE_KEY_PREFIX: 'workers',
  };
  const started = await start(env);
  const { weir, client } = started;
  // node:cluster hands connections to the workers in turn.
  const second = new RlsClient(weir.grpcPort);
  const ids = [newTraceId(), newTraceId()];
  const long = 'x'.repeat(1_000);
  for (const [i, each] of [client, second].entries())
    await each.ask('shop', [{ entries: { user: long } }], { headers: traceparent(ids[i]!) });
  const spans = (await Promise.all(ids.map((id) => spansOf(id, 2)))).flat();
  expect(new Set(spans.map(({ resource }) => resource['weir.worker'])).size).toBe(2);
  const shown = spans.flatMap(({ attributes: { 'weir.entries': entries } }) => (entries === undefined ? [] : [entries]));
  expect(shown).toEqual([[`user=${'x'.repeat(250)}…`], [`user=${'x'.repeat(250)}…`]]);
  await until(async () => (await metric(weir, 'sent')) >= spans.length);
  expect(weir.output().match(/traces go to/g)).toHaveLength(1);
  second.close();
  await started.stop();
});

test('a decision without Redis has the reason, and one that failed is an error', async () => {
  const own = await startRedis();
  const redisEnv = { REDIS_URL: `127.0.0.1:${own.port}`, REDIS_OP_TIMEOUT: '50ms', FAILURE_MODE: 'local' };
  const started = await start(redisEnv);
  const { client } = started;
  await client.ask('shop', [{ entries: { user: 'before' } }]);
  own.kill('SIGSTOP');
  const slowId = newTraceId();
  await client.ask('shop', [{ entries: { user: 'slow' } }], { headers: traceparent(slowId) });
  const [, , command] = await spansOf(slowId, 3);
  expect(command).toMatchObject({ isError: true, attributes: { 'error.type': 'timeout', 'server.port': own.port } });
  own.kill('SIGCONT');
  await own.stop();
  await until(async () => (await httpRequest(`http://127.0.0.1:${started.weir.httpPort}/healthcheck`)).body.includes('degraded: redis\n'));
  // The breaker may still know the timeout only.
  await until(async () => {
    const traceId = newTraceId();
    await client.ask('shop', [{ entries: { user: 'after' } }], { headers: traceparent(traceId) });
    const [, decision, ...commands] = await spansOf(traceId, 2);
    expect(decision!.attributes).toMatchObject({ 'weir.verdict': 'OK', 'weir.fallback': true });
    if (decision!.attributes['weir.fallback.reason'] !== 'connection') return false;
    // A command that was never sent has no span.
    expect(commands).toEqual([]);
    return true;
  });
  await started.stop();

  const refusing = await start({ REDIS_URL: '127.0.0.1:1', REDIS_CONNECT_TIMEOUT: '10ms', FAILURE_MODE: 'unavailable' });
  const failedId = newTraceId();
  const asked = refusing.client.ask('shop', [{ entries: { user: 'x' } }], { headers: traceparent(failedId) });
  await expect(asked).rejects.toMatchObject({ code: UNAVAILABLE });
  const [call, failed, ...unsent] = await spansOf(failedId, 2);
  expect(unsent).toEqual([]);
  expect(call).toMatchObject({ isError: true, attributes: { 'rpc.response.status_code': 'UNAVAILABLE', 'error.type': 'UNAVAILABLE' } });
  expect(failed).toMatchObject({ isError: true, attributes: { 'error.type': 'connection' } });
  await refusing.stop();
});
