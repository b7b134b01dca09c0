/** `npm run bench -- tracing [--short]`: what a decision costs with tracing off and at three sampling rates, side by side in each round. */

import { httpRequest } from '../test/support/clients/http-client';
import { startRedis } from '../test/support/redis/redis-server';
import type { WeirProcess } from '../test/support/processes/weir-process';
import { runLoad, type LoadJob } from './load/run-load';
import { CONNECTIONS, SATURATING_STREAMS, WORKLOADS } from './rows/rows';
import { startShipped } from './servers/contenders';
import { findCores, pin } from './support/cores';
import { spreadOf, type Spread } from './support/statistics';
import { forkTypeScript, nextMessage } from './support/worker-process';

const isShort = process.argv.includes('--short');
const ROUNDS = isShort ? 3 : 5;
const ROUND_MS = isShort ? 500 : 800;
/** At a rate of 1 % the code that makes spans is compiled late. */
const WARM_UP_MS = isShort ? 1_000 : 8_000;

const RATES = ['off', '0', '0.01', '1'] as const;
type Rate = (typeof RATES)[number];

const LOADS = [SATURATING_STREAMS, 1];

interface Server {
  readonly rate: Rate;
  readonly weir: WeirProcess;
}

function jobFor({ weir }: Server, streams: number, durationMs: number, seed: number): LoadJob {
  const { asked, keyCount } = WORKLOADS.many;
  return {
    host: '127.0.0.1',
    port: weir.grpcPort,
    connections: CONNECTIONS,
    load: { kind: 'closed', streams },
    durationMs,
    asked,
    keys: { count: keyCount, order: { seed } },
    watchedBelow: 0,
    meteredPids: [weir.pid],
  };
}

/** Processor time of a decision, in microseconds. */
async function costUs(server: Server, streams: number, seed: number): Promise<number> {
  const { admitted, denied, failed, processorUs } = await runLoad(jobFor(server, streams, ROUND_MS, seed));
  if (failed > 0) throw new Error(`${failed} calls failed`);
  return processorUs[0]! / (admitted + denied);
}

async function spansOf({ weir }: Server): Promise<string> {
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
  return Array.from(body.matchAll(/^weir_trace_spans_total\{result="(\w+)"\} (\d+)$/gm), ([, result, count]) => `${count} ${result}`).join(
    ', ',
  );
}

function show({ median, min, max }: Spread): string {
  return `${median.toFixed(3)} (${min.toFixed(3)} to ${max.toFixed(3)})`;
}

async function main(): Promise<void> {
  const cores = findCores();
  const sink = forkTypeScript('servers/otlp-sink.ts', []);
  const { port } = (await nextMessage(sink, 'the receiver')) as { port: number };
  const redis = await startRedis();
  for (const pid of [process.pid, sink.pid!, redis.pid]) pin(pid, cores?.load);
  const onRedis = { REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s' };
  for (const [store, env] of Object.entries({ embedded: { BACKEND_TYPE: 'memory' }, Redis: onRedis })) {
    const servers: Server[] = [];
    for (const rate of RATES) {
      const tracing = { TRACING_ENABLED: 'true', TRACING_SAMPLING_RATE: rate, OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` };
      const weir = await startShipped({ FAILURE_MODE: 'local', ...env, ...(rate === 'off' ? {} : tracing) });
      pin(weir.pid, cores?.server);
      servers.push({ rate, weir });
      await runLoad(jobFor({ rate, weir }, SATURATING_STREAMS, WARM_UP_MS, 0));
    }
    for (const streams of LOADS) {
      const costs = new Map<Rate, number[]>(RATES.map((rate) => [rate, []]));
      for (let round = 0; round < ROUNDS; round += 1) {
        // Each round begins with another server, so that none is always first.
        const inOrder = servers.map((_, i) => servers[(i + round) % servers.length]!);
        for (const server of inOrder) costs.get(server.rate)!.push(await costUs(server, streams, round + 1));
      }
      const off = costs.get('off')!;
      for (const rate of RATES) {
        const own = costs.get(rate)!;
        const ratio = rate === 'off' ? '' : `, ratio to off ${show(spreadOf(own.map((cost, i) => cost / off[i]!)))}`;
        console.log(`${store}, ${CONNECTIONS}x${streams}, tracing ${rate}: ${show(spreadOf(own))} µs of CPU${ratio}`);
      }
    }
    for (const server of servers) {
      if (server.rate !== 'off') console.log(`${store}, tracing ${server.rate}: spans ${await spansOf(server)}`);
      await server.weir.stop();
    }
  }
  await redis.stop();
  sink.disconnect();
}

void main();
