/** A receiver of traces that is down, slow or unwilling delays no decision, and is one line of the log. */

import { slowness } from '../../support/clock/slowness';
import { httpRequest } from '../../support/clients/http-client';
import { OK, RlsClient } from '../../support/clients/rls-client';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startOtlpReceiver, untilSpans, type OtlpReceiver } from '../../support/servers/otlp-receiver';

const CONFIG = '{ domain: d, descriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 100000 } }] }';
const CALLS = 100;
const SPANS_OF_CALL = 2;

/** A port that refuses connections. */
const NOBODY = 'http://127.0.0.1:1';

let receiver: OtlpReceiver;

beforeAll(async () => {
  receiver = await startOtlpReceiver();
});

afterAll(() => receiver.close());

function start(env: Readonly<Record<string, string>>): Promise<WeirProcess> {
  const base = { BACKEND_TYPE: 'memory', TRACING_ENABLED: 'true', OTEL_BSP_SCHEDULE_DELAY: '10', LOG_FORMAT: 'json' };
  const tracing = { ...base, OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${receiver.httpPort}` };
  return startWeir({ config: writeConfig(CONFIG), env: { ...tracing, ...env } });
}

async function askMany(weir: WeirProcess): Promise<void> {
  const client = new RlsClient(weir.grpcPort);
  const answers = await Promise.all(Array.from({ length: CALLS }, () => client.ask('d', [{ entries: { k: 'v' } }])));
  client.close();
  expect(new Set(answers.map(({ overall_code: code }) => code))).toEqual(new Set([OK]));
}

async function spansOf(weir: WeirProcess): Promise<Record<'sent' | 'failed' | 'dropped', number>> {
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
  const of = (result: string) => Number(new RegExp(`^weir_trace_spans_total\\{result="${result}"\\} (\\d+)$`, 'm').exec(body)?.[1]);
  return { sent: of('sent'), failed: of('failed'), dropped: of('dropped') };
}

/** The codes of the log's lines on traces, except that of the start. */
function linesOf(weir: WeirProcess): string[] {
  const codes = Array.from(weir.output().matchAll(/"code":"(traces_\w+)"/g), ([, code]) => code!);
  return codes.filter((code) => code !== 'traces_started');
}

test('spans that a receiver refuses are counted and logged once, and its return is logged', async () => {
  const weir = await start({ OTEL_BSP_MAX_QUEUE_SIZE: String(CALLS * SPANS_OF_CALL) });
  receiver.behave('refuse');
  for (let round = 1; round <= 3; round += 1) {
    await askMany(weir);
    await until(async () => (await spansOf(weir)).failed === round * CALLS * SPANS_OF_CALL);
  }
  await until(() => linesOf(weir).length > 0);
  expect(linesOf(weir)).toEqual(['traces_lost']);
  receiver.behave('accept');
  await askMany(weir);
  await until(async () => (await spansOf(weir)).sent === CALLS * SPANS_OF_CALL);
  // The log of the process comes by another way than its metrics.
  await until(() => linesOf(weir).length > 1);
  expect(linesOf(weir)).toEqual(['traces_lost', 'traces_sent']);
  expect(await weir.stop()).toBe(0);
});

test('beyond the queue calls are not traced, and the end does not wait for a receiver that never answers', async () => {
  const weir = await start({ OTEL_BSP_MAX_QUEUE_SIZE: '20', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10' });
  receiver.behave('hang');
  await askMany(weir);
  await until(async () => (await spansOf(weir)).dropped > 0);
  const { sent, failed, dropped } = await spansOf(weir);
  expect({ sent, failed, dropped }).toEqual({ sent: 0, failed: 0, dropped: CALLS * SPANS_OF_CALL - 20 });
  const beginMs = performance.now();
  expect(await weir.stop()).toBe(0);
  // Far less than the timeout of the exporter, which is 10 s.
  expect(performance.now() - beginMs).toBeLessThan(8_000 * slowness());
  receiver.behave('accept');
});

test('without any receiver decisions go on, over HTTP and gRPC', async () => {
  for (const protocol of ['http', 'grpc']) {
    const weir = await start({
      TRACING_EXPORTER_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_ENDPOINT: NOBODY,
      OTEL_EXPORTER_OTLP_TIMEOUT: '200',
    });
    await askMany(weir);
    await until(async () => (await spansOf(weir)).failed > 0);
    await askMany(weir);
    expect(linesOf(weir)).toEqual(['traces_lost']);
    expect(await weir.stop()).toBe(0);
  }
});

test('the last spans are sent in the drain', async () => {
  const weir = await start({
    OTEL_BSP_SCHEDULE_DELAY: '600000',
    TRACING_SERVICE_NAME: 'drained',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b',
  });
  await askMany(weir);
  expect(await weir.stop()).toBe(0);
  await untilSpans(receiver, CALLS * SPANS_OF_CALL, ({ resource }) => resource['service.name'] === 'drained');
  expect(receiver.headers()['x-key']).toBe('a b');
});
