/** How long the first calls of a fresh process take, with a warm-up before it listens and without, by each transport; `--envoy`: and through Envoy. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { SHOULD_RATE_LIMIT_PATH } from '../src/server/transport/http2/connection/request-head';
import { loadProto } from '../src/server/transport/messages/proto';
import { WarmUpCaller, type Call } from '../src/server/warm-up/warm-up-caller';
import { startGateway } from '../test/envoy/chain/gateway';
import { freePort } from '../test/support/servers/ports';
import { writeConfig } from '../test/support/config/temp-config';
import { startWeir } from '../test/support/processes/weir-process';

/** No request is ever allowed: one that passes was not decided. */
const NOTHING = writeConfig(
  'domain: payments\ndescriptors: [{ key: path, descriptors: [{ key: client, rate_limit: { unit: hour, requests_per_unit: 0 } }] }]\n',
);

const TRIES = process.argv.includes('--short') ? 3 : 10;

const CELLS = ['grpc-js', 'lean'].flatMap((transport) =>
  ['false', 'true'].map((warmUp) => ({
    transport,
    warmUp,
    firstMs: [] as number[],
    firstCpuMs: [] as number[],
    tenthMs: [] as number[],
    startMs: [] as number[],
    envoyMs: [] as number[],
    passed: 0,
  })),
);

const { requestSerialize } = loadProto().rateLimit.ShouldRateLimit;

function callOf(user: string): Call {
  const entries = [{ key: 'endpoint', value: '/search' }];
  const path = [
    { key: 'path', value: '/search' },
    { key: 'client', value: user },
  ];
  return { path: SHOULD_RATE_LIMIT_PATH, message: requestSerialize({ domain: 'payments', descriptors: [{ entries }, { entries: path }] }) };
}

async function timeMs(action: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await action();
  return performance.now() - startedMs;
}

/** A connection and a call on it, as the first request through a proxy needs; then nine more, one by one. */
async function measure(cell: (typeof CELLS)[number]): Promise<void> {
  const startedMs = performance.now();
  const weir = await startWeir({
    config: 'deploy/example/payments.yaml',
    env: { BACKEND_TYPE: 'memory', TRANSPORT: cell.transport, WARM_UP: cell.warmUp },
  });
  cell.startMs.push(performance.now() - startedMs);
  let caller: WarmUpCaller | undefined;
  const cpuBeforeMs = mainThreadMs(weir.pid);
  cell.firstMs.push(
    await timeMs(() => {
      caller = new WarmUpCaller(weir.grpcPort);
      return caller.call([callOf('first')]);
    }),
  );
  cell.firstCpuMs.push(mainThreadMs(weir.pid) - cpuBeforeMs);
  for (let call = 2; call < 10; call += 1) await caller!.call([callOf(`user-${call}`)]);
  cell.tenthMs.push(await timeMs(() => caller!.call([callOf('tenth')])));
  caller!.close();
  await weir.stop();
}

/** Processor time of the thread that answers: the same on a busy machine. */
function mainThreadMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

/** The first request after a restart of Weir, with the 20 ms that the published Envoy waits: one that passes was not decided in time. */
async function measureThroughEnvoy(cell: (typeof CELLS)[number]): Promise<void> {
  const port = await freePort();
  const gateway = await startGateway({
    weirGrpcPort: port,
    replacements: {
      'timeout: 0.02s': 'timeout: 0.02s',
      'interval: 2s': 'interval: 0.1s',
      'no_traffic_interval: 5s': 'no_traffic_interval: 0.1s',
    },
  });
  for (let left = TRIES; left > 0; left -= 1) {
    const weir = await startWeir({
      config: NOTHING,
      env: { BACKEND_TYPE: 'memory', GRPC_PORT: String(port), TRANSPORT: cell.transport, WARM_UP: cell.warmUp },
    });
    for (let tries = 0; tries < 500 && !/^weir::.*::healthy$/m.test(await gateway.admin('/clusters')); tries += 1) await sleep(20);
    let status = 0;
    cell.envoyMs.push(
      await timeMs(async () => {
        ({ status } = await gateway.get('/search', { merchant: 'm', client: 'c' }));
      }),
    );
    if (status === 200) cell.passed += 1;
    await weir.stop();
    for (let tries = 0; tries < 500 && /^weir::.*::healthy$/m.test(await gateway.admin('/clusters')); tries += 1) await sleep(20);
  }
  await gateway.stop();
}

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  return `${sorted[Math.floor(sorted.length / 2)]!.toFixed(1)} (${sorted[0]!.toFixed(1)} to ${sorted.at(-1)!.toFixed(1)})`;
}

async function main(): Promise<void> {
  execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' });
  // The caller's own code has run before it counts.
  await measure({ ...CELLS[0]!, firstMs: [], firstCpuMs: [], tenthMs: [], startMs: [] });
  for (let left = TRIES; left > 0; left -= 1) for (const cell of CELLS) await measure(cell);
  console.log(`${TRIES} processes each, ms: median (least to most)`);
  for (const { transport, warmUp, firstMs, firstCpuMs, tenthMs, startMs } of CELLS) {
    console.log(
      `${transport}, WARM_UP=${warmUp}: connection and first call ${spread(firstMs)}, of it processor time ${spread(firstCpuMs)}, tenth call ${spread(tenthMs)}, start ${spread(startMs)}`,
    );
  }
  if (!process.argv.includes('--envoy')) return;
  execFileSync(process.execPath, ['scripts/install/envoy.mjs'], { stdio: 'inherit' });
  for (const cell of CELLS) {
    await measureThroughEnvoy(cell);
    console.log(
      `${cell.transport}, WARM_UP=${cell.warmUp}, through Envoy: first request ${spread(cell.envoyMs)}, ${cell.passed} of ${TRIES} not decided within 20 ms`,
    );
  }
}

void main();
